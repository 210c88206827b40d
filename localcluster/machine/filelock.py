"""Locks between processes, held through an open file: when the holder ends, for whatever reason,
the lock is released.
"""

import os
from pathlib import Path


class FileLock:
    """An advisory lock on a file. The file stays; it has the last holder's pid, for messages."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None

    def acquire(self, wait: bool = True) -> bool:
        """Take the lock; waits for as long as the holder keeps it.

        Without `wait`, returns False if another process, or another lock of this process, holds it.
        """
        import fcntl  # here, so that other systems reach the message that this needs Linux

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
        """Whether anybody holds the lock. To find out, this takes it for a moment, which others may
        notice.
        """
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
        """The pid that the last holder wrote; it may have ended if the lock is free."""
        try:
            return int(self.path.read_text())
        except (OSError, ValueError):
            return None

    def __enter__(self) -> "FileLock":
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
