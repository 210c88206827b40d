"""Packs files as a tar.gz without their times and owners: the same files give the same bytes."""

import gzip
import io
import os
import stat
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pdj.code.file import open_below
from pdj.code.ignore import Pattern, is_matched
from pdj.code.unpack import turns_back
from pdj.errors import Problem

KIB = 1 << 10
MAX_KIB = 900
MAX_FILE_BYTES = 1 << 20
MAX_CODE_BYTES = 256 << 20
"""Limit of all files together, before packing: more would hardly fit when packed."""
TOO_MANY = f"more than the {MAX_CODE_BYTES >> 20} MiB that are allowed"
MAX_DEPTH = 100
"""Limit of the folders in a path: more than programs have, and less than Python can recurse."""
MTIME = 315_532_800
"""The time of every file in the archive, 1980, because some tools refuse earlier times."""
LARGEST = 5


@dataclass(frozen=True, slots=True)
class Archive:
    """A packed folder: `packed` is the tar.gz, `sizes` are bytes by path."""

    packed: bytes
    sizes: dict[str, int]


def pack(
    folder: Path, names: list[str], includes: list[Pattern], more: Mapping[str, bytes] | None = None
) -> Archive:
    """Pack files of the folder, and those in `more` (content by path). Raises Problem if a file
    cannot be sent, or all together are too large.
    """
    plain = io.BytesIO()
    sizes: dict[str, int] = {}
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name in names:
            try:
                content = _add(archive, folder, name, includes)
            except (OSError, RuntimeError) as error:  # gone, or a link to itself
                why = getattr(error, "strerror", None) or error
                raise Problem(f"cannot read {name!r}: {why}") from error
            sizes[name] = len(content)
            if plain.tell() > MAX_CODE_BYTES:
                raise too_large(TOO_MANY, sizes)
        for name, content in (more or {}).items():
            if name in sizes:
                raise Problem(f"the file name {name!r} is reserved: rename the file")
            sizes[name] = len(content)
            _put(archive, _info(name), content)
    packed = gzip.compress(plain.getvalue(), compresslevel=9, mtime=0)
    if len(packed) // KIB > MAX_KIB:
        raise too_large(f"{len(packed) // KIB} KiB when packed, but only {MAX_KIB} KiB fit", sizes)
    return Archive(packed, sizes)


def too_large(how: str, sizes: dict[str, int]) -> Problem:
    """The error that names the largest files, and what to do instead."""
    largest = sorted(sizes, key=lambda name: -sizes[name])[:LARGEST]
    shown = ", ".join(f"{name} ({-(-sizes[name] // KIB)} KiB)" for name in largest)
    return Problem(
        f"the files are {how}; the largest: {shown}. "
        "List some in .pdjignore, or use a volume, git clone or an image"
    )


def _add(archive: tarfile.TarFile, folder: Path, name: str, includes: list[Pattern]) -> bytes:
    path = folder / name
    found = path.lstat()
    info = _info(name, 0o755 if found.st_mode & 0o100 else 0o644)
    content = b""
    if stat.S_ISLNK(found.st_mode):
        info.type, info.linkname, info.mode = tarfile.SYMTYPE, _target(folder, path), 0o777
    elif not stat.S_ISREG(found.st_mode):
        is_folder = stat.S_ISDIR(found.st_mode)
        kind = "a git repository of its own" if is_folder else "a device, a socket or a pipe"
        raise Problem(f"{name!r} is {kind}; list it in .pdjignore")
    elif found.st_size > MAX_FILE_BYTES and not is_matched(includes, name):
        raise Problem(
            f"{name!r} has {found.st_size / MAX_FILE_BYTES:.1f} MiB",
            f"send it with --include {name}, or list it in .pdjignore",
            f"send it with include=[{name!r}], or list it in .pdjignore",
        )
    else:
        content = _read(folder, name, found)
    _put(archive, info, content)
    return content


def _info(name: str, mode: int = 0o644) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.mtime, info.mode = MTIME, mode
    return info


def _put(archive: tarfile.TarFile, info: tarfile.TarInfo, content: bytes) -> None:
    info.size = len(content)
    archive.addfile(info, io.BytesIO(content))


def _target(folder: Path, path: Path) -> str:
    target = str(path.readlink())
    if target.startswith("/") or not path.resolve().is_relative_to(folder.resolve()):
        name = path.relative_to(folder)
        raise Problem(f"{str(name)!r} is a link out of the folder, to {target!r}")
    if turns_back(target):  # `unpack` refuses such a link
        return os.path.relpath(path.resolve(), path.parent.resolve())
    return target


def _read(folder: Path, name: str, before: os.stat_result) -> bytes:
    """The file's content. Raises Problem if somebody changes the file while it is read."""
    if before.st_size > MAX_CODE_BYTES:
        raise too_large(TOO_MANY, {name: before.st_size})
    with os.fdopen(open_below(folder, name), "rb") as file:
        content = file.read(before.st_size + 1)
        after = os.fstat(file.fileno())
    marks = [(each.st_ino, each.st_size, each.st_mtime_ns) for each in (before, after)]
    if marks[0] != marks[1] or len(content) != before.st_size:
        raise Problem(f"{name!r} has changed while it was packed: try again")
    return content
