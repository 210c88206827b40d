"""`code JOB`: lists or extracts the code of a job. Also has the options that send code."""

import argparse
import base64
import io
import shutil
import tarfile
from itertools import accumulate
from pathlib import Path

from api.objects import Raw, name_of
from pdj.code.archive import KIB, MAX_CODE_BYTES, MAX_DEPTH
from pdj.code.bundle import ARCHIVE, REQUIREMENTS, WORKSPACE, Bundle, digest_of
from pdj.code.folder import MAX_FILES
from pdj.code.parcel import Parcel
from pdj.code.store import code_of
from pdj.code.unpack import unpack
from pdj.commands.options import job_name
from pdj.errors import OK, Problem
from pdj.gather.jobs import get_job
from pdj.session import Session
from pdj.text.terminal import plain

MAX_NAME_BYTES = 4 * KIB
"""Of a name that is too long for a header: Linux allows no longer paths."""
MAX_HEADER_BYTES = 2 * (tarfile.BLOCKSIZE + MAX_NAME_BYTES) + tarfile.BLOCKSIZE
"""For a name, a link's target and their file: a name of a name of a name would have no end."""
MAX_NAMES = 8 << 20
"""Limit of the characters in all names and targets of links: each can take four bytes."""
MAX_FOLDERS = 5 * MAX_FILES
NAMES = (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
KINDS = (tarfile.REGTYPE, tarfile.SYMTYPE, *NAMES)
"""What `archive` writes: files, links, and names that are too long for a header."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Options of `code`."""
    parser.add_argument("job", type=job_name, help="the job's name")
    parser.add_argument("--extract", metavar="DIR", help="write the files to this new folder")


def add_code(parser: argparse.ArgumentParser) -> None:
    """Add the options that send a folder, except `--requirements`."""
    group = parser.add_argument_group("code without an image")
    group.add_argument(
        "--code", metavar="DIR", help=f"send this folder: the trainers start in it, {WORKSPACE}"
    )
    big = "also send these files over 1 MiB, or named as secrets are (repeatable)"
    group.add_argument("--include", action="append", default=[], metavar="PATTERN", help=big)
    index = "the index where pip finds the requirements (default: the image's)"
    group.add_argument("--index-url", default="", metavar="URL", help=index)


def read_bundle(session: Session, requirements: str | None) -> Bundle | None:
    """The packed folder; None without `--code`.

    Raises Problem, or Usage if an option needs `--code` but it is missing.
    """
    options = session.options
    file = Path(requirements) if requirements else None
    folder = None if options.code is None else Path(options.code)
    return Parcel(folder, file, options.index_url, options.include).pack(session.note)


def run(session: Session) -> int:
    """List the files, or with `--extract` write them to a new folder."""
    raw = code_of(session.client, get_job(session.client, session.namespace, session.options.job))
    if not session.options.extract:
        session.screen.write(*describe(raw))
        return OK
    files = _files(raw)
    _members(raw, files)
    target = Path(session.options.extract)
    try:
        target.mkdir(parents=True)
    except FileExistsError as error:
        raise Problem(f"{target} exists already: --extract creates a new folder") from error
    try:
        unpack(io.BytesIO(files[ARCHIVE]), str(target))
    except Exception as error:
        shutil.rmtree(target)
        raise Problem(f"the code in {name_of(raw)} is damaged: {error}") from error
    session.screen.write(f"written: {plain(target)}")
    return OK


def describe(config_map: Raw) -> list[str]:
    """Lines: the ConfigMap's name and digest, each file's size and path, and the requirements."""
    files = _files(config_map)
    members = _members(config_map, files)
    lines = [f"{name_of(config_map)}  sha256:{digest_of(config_map)}"]
    lines += [f"{each.size:>9}  {each.name}" for each in members]
    if REQUIREMENTS in files:
        wanted = files[REQUIREMENTS].decode(errors="replace").splitlines()
        lines += [f"      pip  {line}" for line in wanted if line.strip()]
    return [plain(line) for line in lines]


class _Entry(tarfile.TarInfo):
    """Refuses kinds of entries that we do not write: parsing some takes far more than they hold."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> "_Entry":
        """Raises TarError for such a kind, and for a long name: tarfile reads it at once."""
        entry = super().frombuf(buf, encoding, errors)
        if entry.type in NAMES and entry.size > MAX_NAME_BYTES:
            raise tarfile.TarError(f"a header of more than {MAX_NAME_BYTES // KIB} KiB")
        if entry.type not in KINDS or entry.size < 0:
            raise tarfile.TarError(f"{entry.name!r} is neither a file nor a link")
        return entry


def _members(config_map: Raw, files: dict[str, bytes]) -> list[tarfile.TarInfo]:
    """The archive's members. Raises Problem if the archive is damaged or was made to do harm: a few
    bytes can unpack to a million files or folders, to gigabytes, or to a name of megabytes.
    """
    members: list[tarfile.TarInfo] = []
    folders: set[int] = set()  # hashes, as a name of many folders is as many long paths
    size = named = 0
    try:
        packed = io.BytesIO(files[ARCHIVE])
        with tarfile.open(fileobj=packed, mode="r:gz", tarinfo=_Entry) as archive:
            for member in archive:
                members.append(member)
                size += member.size
                named += len(member.name) + len(member.linkname)
                if len(members) > MAX_FILES:
                    raise tarfile.TarError(f"it has more than {MAX_FILES} files")
                if size > MAX_CODE_BYTES:
                    raise tarfile.TarError(f"it unpacks to more than {MAX_CODE_BYTES >> 20} MiB")
                is_long = member.offset_data - member.offset > MAX_HEADER_BYTES
                if is_long or named > MAX_NAMES:
                    raise tarfile.TarError("its names are too long")
                above = accumulate(member.name.split("/")[:-1], "{}/{}".format)
                folders.update(map(hash, above))
                if len(folders) > MAX_FOLDERS or member.name.count("/") > MAX_DEPTH:
                    raise tarfile.TarError("it has too many folders")
    except Exception as error:
        raise Problem(f"the code in {name_of(config_map)} is damaged: {error}") from error
    return members


def _files(config_map: Raw) -> dict[str, bytes]:
    found = config_map.get("binaryData") or {}
    if ARCHIVE not in found:
        raise Problem(f"the ConfigMap {name_of(config_map)} holds no {ARCHIVE}")
    try:
        return {name: base64.b64decode(text) for name, text in found.items()}
    except (TypeError, ValueError) as error:
        raise Problem(f"the code in {name_of(config_map)} is damaged: {error}") from error
