"""Reads a file of a folder that somebody else may have made."""

import errno
import os
import stat
from pathlib import Path


def read(path: Path, most: int, name: str = "") -> bytes:
    """The content of a file, or of the file `name` below the folder `path`.

    Raises OSError for a pipe or a device, and for more than `most` bytes whatever the file's size
    says: some files of `/proc` say 0 and have no end.
    """
    with open(path, "rb", opener=lambda *_: open_below(path, name)) as file:
        is_plain = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
        content = (file.read(most + 1) if is_plain else b"") or b""
    if not is_plain or len(content) > most:
        raise OSError(errno.EFBIG, f"it is not a file of at most {most} bytes", str(path))
    return content


def open_below(path: Path, name: str) -> int:
    """Open `name` below a folder, by no link: somebody can put one there meanwhile."""
    flags = os.O_RDONLY | os.O_NONBLOCK  # else a pipe would wait for a writer
    at = os.open(path, flags)
    for part in filter(None, name.split("/")):
        above = at
        try:
            at = os.open(part, flags | os.O_NOFOLLOW, dir_fd=above)
        finally:
            os.close(above)
    return at
