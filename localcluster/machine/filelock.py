"""Locks between processes, held through an open file. The kernel releases the lock when the process
that holds it ends, for whatever reason.
"""

import os
from pathlib import Path


class FileLock:
    """An advisory lock on a file. The file stays, and contains the pid of its last holder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None

    def acquire(self, wait: bool = True) -> bool:
        """Take the lock and return True; by default wait until it is free.

        Without `wait`, return False if another process, or another FileLock object, holds it.
        """
        import fcntl  # not at the top: other systems must reach the message that this needs Linux

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
        """Whether anybody holds the lock. The check itself takes the lock for a moment, so an
        `acquire(wait=False)` at the same time can fail.
        """
        import fcntl

        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            return False
        try:  # shared, so that several processes can check at the same time
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False

    def release(self) -> None:
        """Release the lock, if this object holds it."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def holder_pid(self) -> int | None:
        """The pid of the last holder, whose process can have ended; None if there was no holder."""
        try:
            return int(self.path.read_text())
        except (OSError, ValueError):
            return None

    def __enter__(self) -> "FileLock":
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
