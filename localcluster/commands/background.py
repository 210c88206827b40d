"""Named clusters that run in the background until they are stopped.

`start` starts a daemon that runs the cluster, and returns when the cluster is ready; `stop` ends
the daemon. A cluster runs if and only if the lock of its folder is held, and is ready as soon as
the folder contains the configuration. `start` and `stop` share one lock for all names, so only one
of them runs at a time; a second one reports that it waits.

The daemon is this module as a program, `python -m localcluster.commands.background FOLDER`, with
the pickled configuration on its standard input. It reports its progress on standard output, then
that the cluster is ready, or why it did not start. After that it writes to a log. It restarts
components that die, and ends at SIGTERM, also during the start.
"""

import dataclasses
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kube.errors import ApiError
from localcluster.client.kubeconfig import write_private
from localcluster.cluster.cluster import Cluster
from localcluster.cluster.config import ClusterConfig
from localcluster.machine import clock
from localcluster.machine.errors import LocalClusterError, StartError
from localcluster.machine.filelock import FileLock
from localcluster.machine.project import FINDABLE, command
from localcluster.machine.report import Report, tell
from localcluster.machine.statefolder import LOCK, STATE_HOME, folder_of, remove_tree
from localcluster.machine.userfolder import writable

CONFIG = "config"
READY = "cluster is ready"
STOP_DEADLINE_SECONDS = 30.0
CHECK_SECONDS = 1.0
RESTART_SECONDS = 10.0


def kubeconfig_of(name: str) -> Path:
    """The kubeconfig of a running cluster. Raises LocalClusterError if it is not ready."""
    if running_pid(name) is None:
        raise LocalClusterError(
            f"no cluster {name} is running; start it: python -m localcluster up --name {name}"
        )
    if not _is_ready(name):
        raise LocalClusterError(f"cluster {name} is starting, or ending: try again in a moment")
    return folder_of(name) / "kubeconfig"


def config_of(name: str) -> ClusterConfig:
    """The configuration of a running cluster.

    Raises OSError if the cluster is not ready, and LocalClusterError if this is not the
    installation that runs it: the modules of a wheel have other names than those of a checkout.
    """
    try:
        config: ClusterConfig = pickle.loads((folder_of(name) / CONFIG).read_bytes())
    except ImportError as error:
        raise LocalClusterError(
            f"cluster {name} was started by another installation of this project: use that one"
        ) from error
    return config


def running_pid(name: str) -> int | None:
    """The pid of the cluster's daemon; None if the cluster does not run."""
    lock = FileLock(folder_of(name) / LOCK)
    return lock.holder_pid() if lock.is_held() else None


def start(name: str, config: ClusterConfig, report: Report) -> bool:
    """Start a daemon and report its progress until its cluster is ready. Raises StartError.

    Returns False if the cluster already runs. Waits for other calls of `start` and `stop`.
    """
    with _command_lock(report):
        if _is_running(name, config.start_timeout_seconds):
            return False
        report(f"starting cluster {name} ...")
        folder = folder_of(name).absolute()
        process = subprocess.Popen(
            command("localcluster.commands.background", str(folder)),
            env={**os.environ, **FINDABLE},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            _relay(process, dataclasses.replace(config, report=tell, state_dir=folder), report)
        except BaseException:
            process.terminate()  # the user has interrupted this, and wants no cluster
            process.wait()  # so that the next holder of the lock finds no cluster
            raise
    return True


def stop(name: str, report: Report) -> bool:
    """End the cluster and remove its folder; False if it was not running. Raises
    LocalClusterError.
    """
    with _command_lock(report):
        pid = running_pid(name)
        if pid is not None:
            _end(name, pid)
        if folder_of(name).exists():
            remove_tree(folder_of(name))
        return pid is not None


@contextmanager
def _command_lock(report: Report) -> Iterator[None]:
    lock = FileLock(writable(folder_of(".lock").parent, STATE_HOME) / ".lock")
    if not lock.acquire(wait=False):
        report(f"another up or down is running (process {lock.holder_pid()}): waiting for its end")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _is_ready(name: str) -> bool:
    return (folder_of(name) / CONFIG).exists()


def _is_running(name: str, timeout_seconds: float) -> bool:
    """Wait while the cluster is starting or ending; return whether it then runs. Raises StartError.

    A daemon ends if its `up` is killed before the cluster is ready.
    """
    clock.wait_until(lambda: _is_ready(name) or running_pid(name) is None, timeout_seconds)
    pid = running_pid(name)
    if pid is not None and not _is_ready(name):
        raise StartError(f"cluster {name} is neither ready nor ended (process {pid})")
    return pid is not None


def _relay(process: subprocess.Popen[bytes], config: ClusterConfig, report: Report) -> None:
    assert process.stdin is not None and process.stdout is not None
    with process.stdin:
        pickle.dump(config, process.stdin)
    has_told = False
    with process.stdout:
        for line in process.stdout:
            if (text := line.decode().rstrip()) == READY:
                process.returncode = 0  # the daemon runs on, so Popen must not wait for it
                return
            has_told = True
            report(text)
    process.wait()
    raise StartError(
        "the cluster did not start" if has_told else "the daemon died without a message"
    )


def _end(name: str, pid: int) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        os.kill(pid, number)
        if clock.wait_until(lambda: running_pid(name) is None, STOP_DEADLINE_SECONDS):
            return
    raise LocalClusterError(f"process {pid} does not end")


def hold(config: ClusterConfig) -> int:
    """Run the cluster until a signal; the daemon's main function. Returns the exit code."""
    ended, started = threading.Event(), threading.Event()

    def end(number: int, _frame: object) -> None:
        ended.set()
        if not started.is_set():  # nothing waits for the event yet
            raise StartError(f"stopped by {signal.Signals(number).name}")

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, end)
    try:
        with Cluster(config) as cluster:
            write_private(cluster.plane.state.path / CONFIG, pickle.dumps(config))
            started.set()
            _detach(cluster.log("daemon"))
            _supervise(cluster, ended)
    except (LocalClusterError, ApiError, OSError) as error:
        print(error, flush=True)
        return 1
    return 0


def _detach(log: Path) -> None:
    print(READY, flush=True)
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for standard in (sys.stdout, sys.stderr):
        os.dup2(descriptor, standard.fileno())
    os.close(descriptor)


def _supervise(cluster: Cluster, ended: threading.Event) -> None:
    restarted: dict[str, float] = {}
    while not ended.wait(CHECK_SECONDS):
        for name in cluster.dead():
            if clock.monotonic() - restarted.get(name, -RESTART_SECONDS) >= RESTART_SECONDS:
                restarted[name] = clock.monotonic()
                print(f"{clock.utc_now():%FT%TZ} {name} died: starting it again", flush=True)
                cluster.start_component(name, wait=False)


if __name__ == "__main__":
    sys.exit(hold(pickle.load(sys.stdin.buffer)))
