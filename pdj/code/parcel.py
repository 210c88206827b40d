"""What a user wants to send with a job: a folder, more files, and packages for pip."""

import os
import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pdj.code.archive import KIB, MAX_KIB, pack, too_large
from pdj.code.bundle import WORKSPACE, Bundle
from pdj.code.folder import find_files
from pdj.code.ignore import parse_pattern
from pdj.code.secret import has_password
from pdj.errors import Problem, Usage

NAMED = re.compile(
    r"^[ \t]*(?:-[rc]|--(?:requirement|constraint)(?=[ =]))[ \t=]*(\S+)", re.MULTILINE
)
"""The files that a requirements file names."""
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
        if has_password(self.index_url) or any(map(has_password, _texts(content, file))):
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
        try:
            content = file.read_bytes()
        except OSError as error:
            text = f"cannot read {file}: {error.strerror}"
            raise Usage(text, "", "packages are a list, requirements=[...]") from error
        if not self.folder or not file.resolve().is_relative_to(self.folder.resolve()):
            return content, ""
        inside = file.resolve().relative_to(self.folder.resolve()).as_posix()
        return content, f"{WORKSPACE}/{inside}" if inside in names else ""


def _texts(content: bytes, file: Path) -> Iterator[str]:
    """The text of a requirements file, and of each file that it names."""
    waiting, seen = [(content, file)], set[Path]()
    for content, file in waiting:  # which grows
        yield content.decode(errors="replace")
        for name in NAMED.findall(content.decode(errors="replace")):
            other = file.parent / name
            if os.path.isfile(other) and other.resolve() not in seen:  # noqa: PTH113 # any name
                seen.add(other.resolve())
                waiting.append((other.read_bytes(), other))
