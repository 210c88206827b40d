"""Runs a cluster of processes on this machine.

A separate process, `localcluster.commands.host`, runs the cluster. It ends and removes its files
when its standard input is closed, which happens when this process ends for whatever reason.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from api.objects import Raw
from kube.clock import Clock
from pdj.code.folder import Say
from pdj.errors import Problem

HOME = Path(__file__).parents[2]
"""The folder of this project: the checkout, or the wheel's `paddlejob`."""
IMPORTS = Path(__file__).absolute().parents[__name__.count(".")]
"""The folder from which Python imports this package."""
NO_CHECKOUT = (
    "this kubectl-pdj has no cluster for this machine in it: install the Python package paddlejob, "
    "or use a checkout of the project"
)
ENDED = "the local cluster has ended by itself"
END_SECONDS = 60.0
REMOVALS, REMOVAL_SECONDS = 50, 0.2
Host = subprocess.Popen[bytes]


@contextmanager
def run_host(say: Say, order: Raw) -> Iterator[tuple[Host, Raw]]:
    """Run a cluster for the block; yields the host process and its message with the kubeconfig.

    Raises Problem if the local cluster is not part of this installation.
    """
    if not (HOME / "localcluster").is_dir() or not (HOME / "manifests").is_dir():
        raise Problem(NO_CHECKOUT)
    host = subprocess.Popen(
        [sys.executable, "-P", "-m", "localcluster.commands.host"],
        env={**os.environ, "PYTHONPATH": str(IMPORTS)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C must not reach the host: we close its input
    )
    folders: list[str] = []
    try:
        yield host, _await_ready(say, host, order, folders)
    except KeyboardInterrupt:
        say("interrupted: ending all that has been started")
        raise
    finally:
        end_host(host, folders)


def _await_ready(say: Say, host: Host, order: Raw, folders: list[str]) -> Raw:
    assert host.stdin is not None and host.stdout is not None
    with contextlib.suppress(BrokenPipeError):  # the host has ended, and its output says why
        host.stdin.write(json.dumps(order).encode() + b"\n")
        host.stdin.flush()
    for line in host.stdout:
        told: Raw = json.loads(line)
        folders += [told["folder"]] if "folder" in told else []
        if "say" in told:
            say(told["say"])
        if "error" in told:
            raise Problem(told["error"])
        if "kubeconfig" in told:
            return told
    raise Problem(ENDED)


def refuse_ended(host: Host) -> None:
    """If the host has ended, and the cluster with it, raise Problem with the host's last error."""
    assert host.stdout is not None
    if host.poll() is not None:
        last: Raw = json.loads(([*host.stdout] or [b"{}"])[-1])
        raise Problem(last.get("error") or ENDED)


def end_host(host: Host, folders: list[str]) -> None:
    """End the cluster, kill it after END_SECONDS or another Ctrl-C, and remove its folders."""
    assert host.stdin is not None and host.stdout is not None
    with contextlib.suppress(BrokenPipeError):
        host.stdin.close()
    try:
        with contextlib.suppress(subprocess.TimeoutExpired):  # a host that hangs is killed
            host.wait(END_SECONDS)
    finally:
        if host.poll() is None:
            host.kill()
            host.wait()
        host.stdout.close()
        for folder in folders:
            _remove(Path(folder))


def _remove(folder: Path) -> None:
    """Remove a folder, repeatedly because processes of a killed host can still write to it."""
    for _ in range(REMOVALS):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        Clock().wait(threading.Event(), REMOVAL_SECONDS)
