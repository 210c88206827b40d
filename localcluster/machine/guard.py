"""Runs one command, and stops it when the process that started the guard ends.

Run as a program: `python -I -S guard.py <lifeline> <grace seconds> <command> ...`. The lifeline is
the descriptor of a socket; only the starting process has the other end. When that process ends,
even by SIGKILL, the guard stops the command: SIGTERM, then SIGKILL after the grace period, or only
SIGKILL if that is 0. The guard adopts the command's orphaned descendants, and kills them after the
command. If the guard is killed, the kernel kills the command, but not its descendants.

The guard first writes the command's pid into the lifeline. Its exit code is that of the command
(128 + n after signal n). It has one thread, because the kernel sends a parent-death signal when the
thread that forked ends. The program imports nothing of this project, but other modules can import
its functions.
"""

import contextlib
import ctypes
import os
import select
import signal
import socket
import sys
from pathlib import Path

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
CANNOT_EXECUTE = 127
# The guard ends only when the lifeline is closed or the command ends.
IGNORED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
NOT_TO_RESET = {signal.SIGKILL, signal.SIGSTOP}


def main(arguments: list[str]) -> int:
    """Guard the command until it ends or the lifeline is closed."""
    lifeline = socket.socket(fileno=int(arguments[0]))
    lifeline.set_inheritable(False)
    become_subreaper()
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    child = _spawn(arguments[2:])
    with contextlib.suppress(OSError):
        lifeline.sendall(f"{child}\n".encode())
    ended = os.pidfd_open(child)  # readable when the command has ended
    select.select([lifeline.fileno(), ended], [], [])
    _stop(ended, float(arguments[1]))
    code = exit_code(os.waitpid(child, 0)[1])
    kill_descendants()
    return code


def command_line(lifeline: int, grace_seconds: float = 0.0) -> list[str]:
    """The words to put before a command so that it runs under a guard with this lifeline."""
    return [sys.executable, "-I", "-S", __file__, str(lifeline), str(grace_seconds)]


def become_subreaper() -> None:
    """Have orphaned descendants become children of this process."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when the parent's thread that forked it ends.

    `parent` is the parent's process id as this process sees it. If the parent has already ended,
    this process ends at once, because the kernel would send no signal.
    """
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(CANNOT_EXECUTE)


def exit_code(wait_status: int) -> int:
    """The exit code of a process with this wait status: 128 + n for signal n."""
    code = os.waitstatus_to_exitcode(wait_status)
    return code if code >= 0 else 128 - code


def _prctl(option: int, value: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0):
        raise OSError(ctypes.get_errno(), f"prctl({option}) failed")


def _spawn(command: list[str]) -> int:
    guard = os.getpid()
    child = os.fork()
    if child:
        return child
    try:
        die_with_parent(guard)
        # Signals that Python, nohup or the starting process ignores would stay ignored after exec.
        for number in signal.valid_signals() - NOT_TO_RESET:
            signal.signal(number, signal.SIG_DFL)
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"cannot run {command[0]}: {error}\n".encode())
    os._exit(CANNOT_EXECUTE)


def _stop(command: int, grace_seconds: float) -> None:
    """Stop the command (a pidfd) if it still runs; without a grace period by SIGKILL only."""
    for number, seconds in ((signal.SIGTERM, grace_seconds), (signal.SIGKILL, None)):
        if select.select([command], [], [], 0)[0]:
            return
        if seconds != 0:
            signal.pidfd_send_signal(command, number)
            select.select([command], [], [], seconds)


def kill_descendants() -> None:
    """Kill children until none is left. A subreaper adopts orphans, so no descendant stays."""
    while True:
        for pid in _children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _children() -> list[int]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            stat = (process / "stat").read_text()
            if int(stat.rpartition(")")[2].split()[1]) == os.getpid():
                found.append(int(process.name))
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
