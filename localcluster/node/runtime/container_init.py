"""The first process of a container: enters mount, UTS and IPC namespaces, and runs its program.

It runs the program as its child, forwards signals to the program, reaps orphaned processes, and
ends with the program's exit code (128 + n for signal n). All other processes of the container are
then killed. The process has one thread; the spawner forks it.
"""

import contextlib
import fcntl
import json
import os
import shutil
import signal
import termios
from pathlib import Path
from types import FrameType
from typing import NoReturn

from localcluster.machine.guard import become_subreaper, exit_code, kill_descendants
from localcluster.node.runtime import linux
from localcluster.node.runtime.protocol import ContainerSpec
from localcluster.node.runtime.rootfs import MountError, enter_root

FORWARDED = (
    signal.SIGTERM,
    signal.SIGINT,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
)
KILL_TREE = signal.SIGRTMIN
"""Replaces SIGKILL if there is no PID namespace: this process kills its descendants and ends."""
# The kernel's out-of-memory killer kills a container before the cluster's own processes.
OOM_SCORE_ADJUSTMENT = "500"


def run_init(spec_file: str, descriptors: list[int], isolated: bool) -> NoReturn:
    """Set up the container and run its program. `descriptors` are its stdout and stderr, and the
    one to which an error of the start is written.
    """
    out, err, report = descriptors
    try:
        spec = ContainerSpec.read(spec_file)
        _prepare(spec, isolated)
        status = _supervise(_start_main(spec, out, err, report), [out, err, report])
    except MountError as error:
        report_failure(report, "ContainerCannotRun", str(error))
        status = 128
    except OSError as error:
        report_failure(report, "StartError", str(error))
        status = 128
    if not isolated:
        kill_descendants()  # without a PID namespace the kernel does not kill them
    os._exit(status)


def _prepare(spec: ContainerSpec, isolated: bool) -> None:
    Path("/proc/self/oom_score_adj").write_text(OOM_SCORE_ADJUSTMENT)
    if isolated:
        linux.unshare(linux.CLONE_NEWNS | linux.CLONE_NEWUTS | linux.CLONE_NEWIPC)
        linux.set_hostname(spec.hostname[:64])
        enter_root(spec)
    else:
        become_subreaper()
        if spec.mounts:
            raise MountError("this machine does not allow mount namespaces, which the pod needs")
    os.chdir(spec.workdir)


def report_failure(descriptor: int, reason: str, message: str) -> None:
    """Write to `descriptor`, for the node, why something could not be started."""
    with contextlib.suppress(OSError):
        os.write(descriptor, json.dumps({"reason": reason, "message": message}).encode())


def _start_main(spec: ContainerSpec, out: int, err: int, report: int) -> int:
    signal.pthread_sigmask(signal.SIG_BLOCK, (*FORWARDED, KILL_TREE))
    child = os.fork()
    if child == 0:
        null = os.open(os.devnull, os.O_RDONLY)
        exec_program(spec.argv, spec.env, [null, out, err], report)
    return child


def exec_program(argv: list[str], env: dict[str, str], streams: list[int], report: int) -> NoReturn:
    """Replace this process by the program with `streams` as its stdin, stdout and stderr; close all
    other descriptors.

    If that is impossible, write the error to `report` and end with exit code 128.
    """
    try:
        os.setsid()
        for target, source in enumerate(streams):
            os.dup2(source, target)
        if os.isatty(0):
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        os.set_inheritable(report, False)
        os.closerange(3, report)
        os.closerange(report + 1, os.sysconf("SC_OPEN_MAX"))
        for number in (signal.SIGPIPE, signal.SIGCHLD, *FORWARDED):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        os.umask(0o022)
        program: str | None = argv[0]
        if "/" not in argv[0]:
            program = shutil.which(argv[0], path=env.get("PATH", os.defpath))
        if program is None:
            raise FileNotFoundError
        os.execve(program, argv, env)
    except OSError as error:
        report_failure(report, "StartError", start_error(argv[0], error))
    finally:
        os._exit(128)


def start_error(program: str, error: OSError) -> str:
    """The message for a program that cannot be started, as a container runtime words it."""
    what = (error.strerror or str(error)).lower()
    if isinstance(error, FileNotFoundError) and "/" not in program:
        what = "executable file not found in $PATH"
    return f'failed to start container process: exec: "{program}": {what}'


def _supervise(main: int, descriptors: list[int]) -> int:
    """Forward signals and reap processes until the main one ends; returns its exit code."""
    for descriptor in descriptors:
        os.close(descriptor)
    for number in FORWARDED:
        signal.signal(number, lambda number, _: _signal(main, number))
    signal.signal(KILL_TREE, _kill_tree)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (*FORWARDED, KILL_TREE))
    while True:
        ended, status = os.wait()
        if ended == main:
            return exit_code(status)


def _signal(process: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, number)


def _kill_tree(_number: int, _frame: FrameType | None) -> NoReturn:
    kill_descendants()
    os._exit(128 + signal.SIGKILL)
