"""Clusters by name that run in the background until they are told to stop.

`start` spawns a daemon that holds the cluster, and returns when it is ready; `stop` ends it. A
cluster runs iff its folder's lock is held. Both take one lock for all names, so that two of them
never meet.

The daemon is this module as a program, `python -m localcluster.background FOLDER`, with the pickled
configuration on its standard input. It tells its progress over standard output, then in one line
that the cluster is ready, or why it is not. After that it writes to a log. It starts again what
dies, and ends at SIGTERM, also while it starts.
"""

import dataclasses
import os
import pickle
import signal
import subprocess
import sys
import threading
from pathlib import Path

from localcluster import clock
from localcluster.cluster import PROJECT, Cluster
from localcluster.config import ClusterConfig
from localcluster.errors import LocalClusterError, StartError
from localcluster.filelock import FileLock
from localcluster.report import Report
from localcluster.statefolder import LOCK, remove_tree

READY = "cluster is ready"
STOP_DEADLINE_SECONDS = 30.0
CHECK_SECONDS = 1.0
RESTART_SECONDS = 10.0


def folder_of(name: str) -> Path:
    """The state folder of the cluster with this name."""
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "paddlejob-operator" / name


def kubeconfig_of(name: str) -> Path:
    """Its kubeconfig; raises when it does not run."""
    if running_pid(name) is None:
        raise LocalClusterError(
            f"no cluster {name} is running; start it: python -m localcluster up"
        )
    return folder_of(name) / "kubeconfig"


def running_pid(name: str) -> int | None:
    """The pid of the daemon of a running cluster."""
    folder = folder_of(name)
    if not (folder / LOCK).exists():
        return None
    lock = FileLock(folder / LOCK)
    if lock.acquire(wait=False):
        lock.release()
        return None
    return lock.holder_pid()


def start(name: str, config: ClusterConfig, report: Report) -> None:
    """Start a daemon and relay what it tells until its cluster is ready; raises StartError."""
    with _command_lock():
        if running_pid(name) is not None:
            raise LocalClusterError(f"cluster {name} is already running")
        folder = folder_of(name).absolute()
        process = subprocess.Popen(
            [sys.executable, "-m", "localcluster.background", str(folder)],
            env={**os.environ, "PYTHONPATH": str(PROJECT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            _relay(process, dataclasses.replace(config, report=print, state_dir=folder), report)
        except BaseException:
            process.terminate()  # whoever has interrupted us wants no cluster
            raise


def stop(name: str) -> bool:
    """End the cluster and remove its folder; False when there was none."""
    with _command_lock():
        pid = running_pid(name)
        if pid is not None:
            _end(name, pid)
        if folder_of(name).exists():
            remove_tree(folder_of(name))
        return pid is not None


def _command_lock() -> FileLock:
    return FileLock(folder_of(".lock"))


def _relay(process: subprocess.Popen[bytes], config: ClusterConfig, report: Report) -> None:
    assert process.stdin is not None and process.stdout is not None
    with process.stdin:
        pickle.dump(config, process.stdin)
    has_told = False
    with process.stdout:
        for line in process.stdout:
            if (text := line.decode().rstrip()) == READY:
                process.returncode = 0  # it goes on without us: no child to wait for
                return
            has_told = True
            report(text)
    process.wait()
    raise StartError("the cluster did not start" if has_told else "the daemon died without a word")


def _end(name: str, pid: int) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        os.kill(pid, number)
        if clock.wait_until(lambda: running_pid(name) is None, STOP_DEADLINE_SECONDS):
            return
    raise LocalClusterError(f"process {pid} does not end")


def hold(config: ClusterConfig) -> int:
    """Run the cluster until a signal ends it: what the daemon does."""
    ended, started = threading.Event(), threading.Event()

    def end(number: int, _frame: object) -> None:
        ended.set()
        if not started.is_set():  # nobody looks at the event yet
            raise StartError(f"stopped by {signal.Signals(number).name}")

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, end)
    try:
        with Cluster(config) as cluster:
            started.set()
            _detach(cluster.log("daemon"))
            _supervise(cluster, ended)
    except (LocalClusterError, OSError) as error:
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
