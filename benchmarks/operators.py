"""Operators under measurement: a name, a command line, and the kind of job that it runs."""

import json
import os
import re
import shlex
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import procfs
from benchmarks.adapter import LEAN, PROJECT, Adapter, load_adapter
from localcluster.process import Command, Process

STOP_SECONDS = 30.0
LOCAL_HOST = "127.0.0.1"
OWN = "paddlejob-operator"
ACCOUNT = ("paddle-system", "paddle-controller-manager")
_NAMED = re.compile(r"([A-Za-z0-9._-]+)=(.*)", re.DOTALL)
_LISTED = '"event": "listed"'


@dataclass(frozen=True)
class Operator:
    """What can be started.

    `account` is the (namespace, name) of its ServiceAccount; without one it is an administrator,
    whom the API server does not queue. `elects` says that two of them agree on a leader.
    """

    name: str
    command: Sequence[str]
    adapter: Adapter
    account: tuple[str, str] | None = None
    elects: bool = False


def own_operator() -> Operator:
    """The operator of this project, as it is deployed: with a Lease."""
    command = [
        *(sys.executable, "-m", "controller", "--leader-elect"),
        *("--leader-election-namespace", ACCOUNT[0]),
        *("--metrics-bind-address", "0", "--health-probe-bind-address", "0"),
        *("--log-format", "json"),
    ]
    return Operator(OWN, command, Adapter(manner=LEAN), ACCOUNT, elects=True)


def other_operator(text: str) -> Operator:
    """[NAME=]COMMAND, for the same CRD. COMMAND gets KUBECONFIG in its environment.

    Raises ValueError where there is no command.
    """
    named = _NAMED.fullmatch(text)
    name, line = named.groups() if named else ("other", text)
    try:
        command = shlex.split(line)
    except ValueError as error:
        raise ValueError(f"no command: {text}: {error}") from error
    if not command or not command[0]:
        raise ValueError(f"no command: {text}")
    return Operator(name, command, Adapter())


def peer_operator(path: Path) -> Operator:
    """The operator that an adapter's file describes."""
    adapter = load_adapter(path)
    return Operator(adapter.name, adapter.command, adapter)


def _without_proxy() -> dict[str, str]:
    """What keeps a client from asking the user's proxy for the API server of this machine.

    Clients differ in which of the two names counts, so both have the hosts of both.
    """
    names = ("NO_PROXY", "no_proxy")
    listed = [*(os.environ.get(name, "") for name in names), LOCAL_HOST]
    hosts = (host.strip() for host in ",".join(listed).split(","))
    return dict.fromkeys(names, ",".join(dict.fromkeys(filter(None, hosts))))


class RunningOperator:
    """A started operator; a context manager that stops it."""

    def __init__(self, operator: Operator, kubeconfig: Path, log: Path) -> None:
        command = Command(
            operator.name,
            list(operator.command),
            log=log,
            folder=PROJECT,
            environment={
                "KUBECONFIG": str(kubeconfig),
                "PYTHONUNBUFFERED": "1",
                **_without_proxy(),
            },
        )
        self.process = Process(command)

    def __enter__(self) -> "RunningOperator":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def cpu_seconds(self) -> float:
        """CPU that it has taken so far."""
        self.process.raise_if_dead()
        return procfs.cpu_seconds(self.process.pid)

    def cpu_seconds_of_threads(self) -> dict[str, float]:
        """CPU that its threads have taken so far, by their names."""
        return procfs.cpu_seconds_of_threads(self.process.pid)

    def memory(self) -> procfs.Memory:
        """Its memory now."""
        self.process.raise_if_dead()
        return procfs.memory(self.process.pid)

    def list_seconds(self) -> float | None:
        """How long its longest list took; only this project's operator logs it."""
        lines = self.process.command.log.read_text().splitlines()
        entries = [json.loads(line) for line in lines if _LISTED in line]
        return max((float(entry["seconds"]) for entry in entries), default=None)

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        os.kill(self.process.pid, number)

    def stop(self) -> None:
        """Ask it to end, and wait."""
        self.process.stop(STOP_SECONDS)
