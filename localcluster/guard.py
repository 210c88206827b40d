"""Runs one command so that nothing of it outlives the process that asked for it.

Run as a program: `python -I -S guard.py <lifeline> <grace seconds> <command> ...`. The lifeline
is a socket whose other end only the asking process holds. Its end, whatever brought it about
(SIGKILL included), makes the guard stop the command: SIGTERM, the grace, SIGKILL. The guard
adopts orphaned descendants and kills those too. If the guard itself is killed, the kernel kills
the command. First the guard writes the command's pid into the lifeline; its own exit code is the
command's (128 + n after signal n). It has one thread: the kernel ties a parent-death signal to
the thread that forked.
"""

import contextlib
import ctypes
import os
import select
import signal
import socket
import sys
import time
from pathlib import Path

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
CANNOT_EXECUTE = 127
CAUGHT = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
NOT_TO_RESET = {signal.SIGKILL, signal.SIGSTOP}


def main(arguments: list[str]) -> int:
    """Guard the command until it ends or the lifeline does."""
    lifeline = socket.socket(fileno=int(arguments[0]))
    lifeline.set_inheritable(False)
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    wakeup = _wake_on_signals()
    child = _spawn(arguments[2:])
    with contextlib.suppress(OSError):
        lifeline.sendall(f"{child}\n".encode())
    code = _wait(child, lifeline, wakeup)
    if code is None:
        code = _stop(child, float(arguments[1]), wakeup)
    _kill_descendants()
    return code


def _prctl(option: int, value: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0):
        raise OSError(ctypes.get_errno(), f"prctl({option}) failed")


def _wake_on_signals() -> int:
    reader, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    # The lifeline alone decides about the end.
    for number in CAUGHT:
        signal.signal(number, lambda number, frame: None)
    return reader


def _spawn(command: list[str]) -> int:
    guard = os.getpid()
    child = os.fork()
    if child:
        return child
    try:
        signal.set_wakeup_fd(-1)
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != guard:  # it died before the kernel was told
            os._exit(CANNOT_EXECUTE)
        # An exec passes on what is ignored: by Python, by nohup, by whatever started us.
        for number in signal.valid_signals() - NOT_TO_RESET:
            signal.signal(number, signal.SIG_DFL)
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"cannot run {command[0]}: {error}\n".encode())
    os._exit(CANNOT_EXECUTE)


def _wait(child: int, lifeline: socket.socket, wakeup: int) -> int | None:
    """The child's code; None when the lifeline ended first."""
    while True:
        readable, _, _ = select.select([lifeline.fileno(), wakeup], [], [])
        if lifeline.fileno() in readable and not _is_open(lifeline):
            return None
        code = _reap(child, wakeup)
        if code is not None:
            return code


def _is_open(lifeline: socket.socket) -> bool:
    try:
        return bool(lifeline.recv(64))
    except ConnectionError:
        return False


def _stop(child: int, grace_seconds: float, wakeup: int) -> int:
    deadline = time.monotonic() + grace_seconds
    os.kill(child, signal.SIGTERM if grace_seconds else signal.SIGKILL)
    while True:
        code = _reap(child, wakeup)
        if code is not None:
            return code
        left = deadline - time.monotonic()
        if left <= 0:
            os.kill(child, signal.SIGKILL)
        select.select([wakeup], [], [], left if left > 0 else None)


def _reap(child: int, wakeup: int) -> int | None:
    """Collect everything that has ended; the child's exit code if it is among them."""
    with contextlib.suppress(BlockingIOError):
        os.read(wakeup, 4096)
    code = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return code
        if pid == 0:
            return code
        if pid == child:
            exit_code = os.waitstatus_to_exitcode(status)
            code = exit_code if exit_code >= 0 else 128 - exit_code


def _kill_descendants() -> None:
    """Kill children until none is left; the orphans of each become ours in turn."""
    while True:
        for pid in _children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _children() -> list[int]:
    me = os.getpid()
    return [int(each.name) for each in Path("/proc").glob("[0-9]*") if _parent(each) == me]


def _parent(process: Path) -> int | None:
    try:
        stat = (process / "stat").read_text()
    except OSError:
        return None
    return int(stat.rpartition(")")[2].split()[1])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
