"""What a user wants to send with a job: a folder, more files, and packages for pip."""

import os
import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pdj.code.archive import KIB, MAX_CODE_BYTES, MAX_KIB, pack, too_large
from pdj.code.bundle import WORKSPACE, Bundle
from pdj.code.file import read
from pdj.code.folder import find_files
from pdj.code.ignore import parse_pattern
from pdj.code.secret import has_password
from pdj.errors import Problem, Usage

NAMED = re.compile(
    r"(?<!\S)(?:-[rc]|--(?:requirement|constraint)(?=[ =]))[ \t=]*(?:([\"'])(.+?)\1|([^\s\"']+))"
)
"""The files that a requirements file names."""
JOINED = re.compile(r"\0|\\\r?\n")
"""What stands between letters: zeros of UTF-16, and the ends of lines that go on."""
INSTEAD = (
    ", which anyone who may read the job could read: take it from a Secret, by a variable PIP_… of "
    "the trainer, written there as ${PIP_…}, and in an index as $(PIP_…)"
)


@dataclass(frozen=True, slots=True)
class Parcel:
    """`requirements` is a file or its lines; `include` are patterns of files to send
    although they have more than 1 MiB, or a name that secrets have.
    """

    folder: Path | None
    requirements: Path | Sequence[str] | None = None
    index_url: str = ""
    include: Sequence[str] = ()
    files: Mapping[str, bytes] | None = None
    """More files to send, besides those of the folder: their content by name."""

    def pack(self, note: Callable[[str], None] = lambda _text: None) -> Bundle | None:
        """Read and pack everything; None if there is nothing to send.

        Raises Problem if something cannot be sent or is too large, and Usage if an argument needs
        code but there is none.
        """
        has_code = self.folder is not None or self.files is not None
        has_packages = has_code and self.requirements is not None
        for given, is_fine, why in (
            (self.include, self.folder, "include: only with code"),
            (self.requirements is not None, has_code, "requirements: only with code"),
            (self.index_url, has_packages, "an index: only with code and requirements"),
        ):
            if given and not is_fine:
                raise Usage(why)
        if not has_code:
            return None
        include = [parse_pattern(each, "include") for each in self.include]
        names = find_files(self.folder, note, include) if self.folder else []
        archive = pack(self.folder or Path(), names, include, self.files or {})
        if self.requirements is None:
            return Bundle(archive)
        content, place = self._read(archive.sizes)
        file = self.requirements if isinstance(self.requirements, Path) else Path()
        texts = (f"index://{self.index_url}", *_texts(content, file))  # it can lack a scheme
        if any(map(has_password, texts)):
            raise Problem(f"a URL of the index or of the requirements has a password{INSTEAD}")
        if (len(archive.packed) + len(content)) // KIB > MAX_KIB:
            sizes = {**archive.sizes, "requirements": len(content)}
            how = f"too large with the requirements, because only {MAX_KIB} KiB fit"
            raise too_large(how, sizes)
        return Bundle(archive, content, place, self.index_url)

    def _read(self, names: Container[str]) -> tuple[bytes, str]:
        """The requirements, and their path in a pod if they are one of the files sent, else "".
        pip reads the file at its path, because its lines can name other files of the folder.
        """
        file = self.requirements
        if not isinstance(file, Path):
            return "".join(f"{each}\n" for each in file or ()).encode(), ""
        root = self.folder.resolve() if self.folder else Path()  # which is in no path
        real = Path(os.path.realpath(file))
        above = map(os.path.realpath, Path(os.path.normpath(file.absolute())).parents)
        inside = str(real.relative_to(root)) if root in real.parents else ""
        is_link_out = real.is_file() and not real.is_relative_to(os.path.realpath(file.parent))
        if not inside and (str(root) in above or is_link_out):
            raise Problem(f"{file} is a link out of the folder; name the file itself")
        try:
            if inside:
                content = read(root, MAX_CODE_BYTES, inside)
            else:
                with file.open("rb") as given:  # perhaps a pipe
                    content = given.read((MAX_KIB + 1) * KIB)
        except OSError as error:
            text = f"cannot read {file}: {error.strerror}"
            raise Usage(text, "", "packages are a list, requirements=[...]") from error
        return content, f"{WORKSPACE}/{inside}" if inside in names else ""


def _texts(content: bytes, file: Path) -> Iterator[str]:
    """The text of a requirements file, and of each file that it names, as pip joins their lines."""
    waiting, seen = [file], {file}
    for at, file in enumerate(waiting):  # which grows
        with suppress(OSError, ValueError):  # what cannot be read here is not sent either
            content = read(file, MAX_CODE_BYTES) if at else content
            text = JOINED.sub("", content.decode(errors="replace"))
            yield text
            names = (match[2] or match[3] for match in NAMED.finditer(text))
            places = (os.path.split(file.parent / name) for name in names)
            named = {Path(os.path.realpath(folder), name) for folder, name in places}
            waiting += sorted(named - seen)
            seen |= named
