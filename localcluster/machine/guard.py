"""Runs one command, and ends its processes when the process that started the guard has ended.

Run as a program: `python -I -S guard.py <lifeline> <grace seconds> <command> ...`. The lifeline is
a socket whose other end only the starting process holds. When that process ends, even by SIGKILL,
the guard stops the command: SIGTERM, the grace, SIGKILL. The guard adopts orphaned descendants and
kills those too. If the guard itself is killed, the kernel kills the command. First the guard writes
the command's pid into the lifeline; its own exit code is the command's (128 + n after signal n). It
has one thread: the kernel ties a parent-death signal to the thread that forked. The program imports
nothing of this project; other modules may import its functions.
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
# Only the lifeline and the command's own end stop the guard.
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
    """The prefix that runs a command under a guard with this lifeline."""
    return [sys.executable, "-I", "-S", __file__, str(lifeline), str(grace_seconds)]


def become_subreaper() -> None:
    """Have orphaned descendants become children of this process."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when the parent's thread that forked it ends.

    `parent` is the parent's process id as this process sees it; if it is already gone, this
    process ends at once, since no signal would come any more.
    """
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(CANNOT_EXECUTE)


def exit_code(wait_status: int) -> int:
    """The code that a wait status stands for: 128 + n for signal n."""
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
        # Signals that Python, nohup or our starter ignores would stay ignored after exec.
        for number in signal.valid_signals() - NOT_TO_RESET:
            signal.signal(number, signal.SIG_DFL)
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"cannot run {command[0]}: {error}\n".encode())
    os._exit(CANNOT_EXECUTE)


def _stop(command: int, grace_seconds: float) -> None:
    """Stop the command if it still runs: SIGTERM, the grace, SIGKILL."""
    for number, seconds in ((signal.SIGTERM, grace_seconds), (signal.SIGKILL, None)):
        if select.select([command], [], [], 0)[0]:
            return
        if seconds != 0:
            signal.pidfd_send_signal(command, number)
            select.select([command], [], [], seconds)


def kill_descendants() -> None:
    """Kill children until none is left; their orphans become our children and are killed too."""
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
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(stat.read_text().rpartition(")")[2].split()[1]) == os.getpid():
                found.append(int(stat.parent.name))
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
