"""Reads a file of a folder that somebody else may have made."""

import errno
import os
import stat
from pathlib import Path


def read(path: Path, most: int) -> bytes:
    """The file's content. Raises OSError for a pipe or a device, and for more than `most` bytes
    whatever the file's size says: some files of `/proc` say 0 and have no end.
    """
    with open(path, "rb", opener=_open_soon) as file:
        is_plain = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
        content = (file.read(most + 1) if is_plain else b"") or b""
    if not is_plain or len(content) > most:
        raise OSError(errno.EFBIG, f"it is not a file of at most {most} bytes", str(path))
    return content


def _open_soon(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)  # else a pipe would wait for a writer
