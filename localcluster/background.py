"""Clusters by name that run in the background until they are told to stop.

`start` spawns a daemon (localcluster.daemon) that holds the cluster, and returns when it is ready;
`stop` ends it. A cluster runs iff its folder's lock is held. Both take one lock for all names, so
that two of them never meet.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from localcluster import clock
from localcluster.cluster import PROJECT, ClusterConfig
from localcluster.errors import LocalClusterError, StartError
from localcluster.filelock import FileLock
from localcluster.statefolder import LOCK, remove_tree

READY = "cluster is ready"
STOP_DEADLINE_SECONDS = 30.0
EXIT_DEADLINE_SECONDS = 5.0
FOLDERS = ("nfs_root", "host_path_root")
Report = Callable[[str], None]


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
    if lock.try_acquire():
        lock.release()
        return None
    return lock.holder_pid()


def start(name: str, config: ClusterConfig, report: Report) -> None:
    """Start a daemon and relay what it tells until its cluster is ready; raises StartError."""
    with _command_lock():
        if running_pid(name) is not None:
            raise LocalClusterError(f"cluster {name} is already running")
        process = subprocess.Popen(
            [sys.executable, "-m", "localcluster.daemon", str(folder_of(name)), _to_json(config)],
            cwd=PROJECT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            text=True,
        )
        try:
            _relay(process, report)
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


def config_from_json(text: str) -> ClusterConfig:
    """What `start` gave to the daemon."""
    fields = json.loads(text)
    fields["images"] = [Path(path) for path in fields["images"]]
    for folder in FOLDERS:
        fields[folder] = Path(fields[folder]) if fields[folder] else None
    return ClusterConfig(**fields)


def _to_json(config: ClusterConfig) -> str:
    fields = asdict(config)
    for owned_by_daemon in ("report", "state_dir"):
        del fields[owned_by_daemon]
    fields["images"] = [str(path.absolute()) for path in config.images]
    for folder in FOLDERS:
        fields[folder] = str(fields[folder].absolute()) if fields[folder] else None
    return json.dumps(fields)


def _command_lock() -> FileLock:
    return FileLock(folder_of(".lock"))


def _relay(process: subprocess.Popen[str], report: Report) -> None:
    assert process.stdout is not None
    lines = []
    with process.stdout:
        for line in map(str.rstrip, process.stdout):
            if line == READY:
                process.returncode = 0  # it goes on without us: no child to wait for
                return
            lines.append(line)
            report(line)
    process.wait()
    raise StartError("the cluster did not start" if lines else "the daemon died without a word")


def _end(name: str, pid: int) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        os.kill(pid, number)
        if clock.wait_until(lambda: running_pid(name) is None, STOP_DEADLINE_SECONDS):
            clock.wait_until(lambda: not _lives(pid), EXIT_DEADLINE_SECONDS)
            return
    raise LocalClusterError(f"process {pid} does not end")


def _lives(pid: int) -> bool:
    """Whether a process has yet to exit; one that nobody has waited for has."""
    try:
        return bool((Path("/proc") / str(pid) / "cmdline").read_bytes())
    except OSError:
        return False
