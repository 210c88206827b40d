"""The operators to measure: each has a name, a command line, and a kind of job."""

import json
import os
import re
import runpy
import shlex
import sys
from argparse import ArgumentTypeError
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks import procfs
from benchmarks.adapter import OPERATOR_WRITES, PROJECT, Adapter
from localcluster.machine.process import Command, Process

STOP_SECONDS = 30.0
OWN = "paddlejob-operator"
ACCOUNT = ("paddle-system", "paddle-controller-manager")
_NAMED = re.compile(r"([A-Za-z0-9._-]+)=(.*)", re.DOTALL)
_LISTED = '"event": "listed"'


@dataclass(frozen=True)
class Operator:
    """An operator that can be started.

    `account` is the (namespace, name) of its ServiceAccount. Without an account the operator runs
    as administrator, whose requests the API server does not queue. `elects`: whether two running
    operators elect a leader.
    """

    name: str
    command: Sequence[str]
    adapter: Adapter
    account: tuple[str, str] | None = None
    elects: bool = False


def own_operator() -> Operator:
    """The operator of this project with leader election, as it is deployed."""
    command = [
        *(sys.executable, "-m", "controller", "--leader-elect"),
        *("--leader-election-namespace", ACCOUNT[0]),
        *("--metrics-bind-address", "0", "--health-probe-bind-address", "0"),
        *("--log-format", "json"),
    ]
    return Operator(OWN, command, Adapter(writes=OPERATOR_WRITES), ACCOUNT, elects=True)


def own_operator_of(checkout: Path) -> Operator:
    """The operator of another checkout of this project, named "before".

    The flags and the benchmarks are those of this checkout, and so is the Python unless that one
    has a `.venv`.
    """
    own = own_operator()
    folder = checkout.resolve(strict=True)
    python = folder / ".venv" / "bin" / "python"
    own_python, *rest = own.command
    command = ["env", "-C", str(folder), str(python) if python.exists() else own_python, *rest]
    manifests = [folder / each.relative_to(PROJECT) for each in own.adapter.manifests]
    adapter = replace(own.adapter, manifests=manifests)
    return replace(own, name="before", command=command, adapter=adapter)


def other_operator(text: str) -> Operator:
    """Parse [NAME=]COMMAND, an operator for the same CRD. COMMAND gets KUBECONFIG."""
    named = _NAMED.fullmatch(text)
    name, line = named.groups() if named else ("other", text)
    try:
        command = shlex.split(line)
    except ValueError as error:
        raise ArgumentTypeError(f"no command: {text}: {error}") from error
    if not command or not command[0]:
        raise ArgumentTypeError(f"no command: {text}")
    return Operator(name, command, Adapter())


def peer_operator(path: Path) -> Operator:
    """The operator that the ADAPTER of a file describes."""
    adapter = runpy.run_path(str(path))["ADAPTER"]
    if not isinstance(adapter, Adapter):
        raise TypeError(f"ADAPTER in {path} is no Adapter")
    return Operator(adapter.name, adapter.command, adapter)


def _without_proxy() -> dict[str, str]:
    """Variables by which clients reach the API server on this machine without the user's proxy.

    A client reads just one of the two variables, so each gets the hosts of both.
    """
    names = ("NO_PROXY", "no_proxy")
    listed = [*(os.environ.get(name, "") for name in names), "127.0.0.1"]
    hosts = (host.strip() for host in ",".join(listed).split(","))
    return dict.fromkeys(names, ",".join(dict.fromkeys(filter(None, hosts))))


class RunningOperator(Process):
    """A started operator. At the end of the context it gets STOP_SECONDS to stop."""

    def __init__(self, operator: Operator, kubeconfig: Path, log: Path) -> None:
        environment = {
            "KUBECONFIG": str(kubeconfig),
            "PYTHONUNBUFFERED": "1",
            "TMPDIR": str(log.parent),  # a killed operator leaves files there
            **_without_proxy(),
        }
        super().__init__(Command(operator.name, [*operator.command], log, PROJECT, environment))

    def __exit__(self, *_: object) -> None:
        self.stop(STOP_SECONDS)

    def cpu_seconds(self) -> float:
        """The CPU seconds that the operator has used so far. Raises if it has ended."""
        self.raise_if_dead()
        return procfs.cpu_seconds(self.pid)

    def memory_mb(self, field: str) -> float:
        """The operator's memory; `field` is procfs.RESIDENT or procfs.PEAK."""
        self.raise_if_dead()
        return procfs.memory_mb(self.pid, field)

    def list_seconds(self) -> float | None:
        """How long its longest list took; None for other operators, which do not log it."""
        lines = self.command.log.read_text().splitlines()
        entries = [json.loads(line) for line in lines if _LISTED in line]
        return max((float(entry["seconds"]) for entry in entries), default=None)
