"""Locks between processes, held by an open file: whatever ends the holder releases the lock."""

import os
from pathlib import Path


class FileLock:
    """An advisory lock on a file that stays. The holder's pid stands in it, for messages."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None

    def acquire(self, wait: bool = True) -> bool:
        """Take the lock, however long the holder keeps it.

        Without `wait` False when another process, or another lock of this one, holds it.
        """
        import fcntl  # here, so that other systems get as far as to be told that this needs Linux

        self.path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            os.close(descriptor)
            return False
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        self._descriptor = descriptor
        return True

    def is_held(self) -> bool:
        """Whether anybody holds it. This takes it for a moment, which others may notice."""
        import fcntl

        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            return False
        try:  # shared, so that others may ask at the same time
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False

    def release(self) -> None:
        """Give the lock back; harmless when it is not held."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def holder_pid(self) -> int | None:
        """The pid that the last holder wrote; it runs only if the lock cannot be taken."""
        try:
            return int(self.path.read_text())
        except (OSError, ValueError):
            return None

    def __enter__(self) -> "FileLock":
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
