"""The command line. Every flag is also an environment variable: --log-level, PADDLEJOB_LOG_LEVEL.

A flag that is given wins over its variable, the variable over the default.
"""

import argparse
import hashlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from api.constants import PORTS_PER_POD
from controller.health import DISABLED, parse_address
from controller.logs import FORMATS, LEVELS
from reconcile.plan import Settings

ENVIRONMENT_PREFIX = "PADDLEJOB_"
MAX_WORKERS = 256
"""Each is a thread with a connection: more of them only wait for one another."""
_NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


@dataclass(frozen=True, slots=True)
class Options:
    """The command line, parsed. No namespaces means all of them."""

    namespaces: tuple[str, ...]
    kubeconfig: str
    workers: int
    metrics_bind_address: str
    health_probe_bind_address: str
    leader_elect: bool
    leader_election_namespace: str
    log_format: str
    log_level: str
    settings: Settings

    @property
    def lease_name(self) -> str:
        """Operators with the same scope contend for the same lease; others do not."""
        scope = ",".join(sorted(self.namespaces)) or "all"
        if len(self.namespaces) > 1:  # their names may be longer together than a name may be
            scope = f"list-{hashlib.sha256(scope.encode()).hexdigest()[:10]}"
        return f"paddlejob-operator-{scope}"


def parse_options(arguments: Sequence[str], environment: Mapping[str, str] = os.environ) -> Options:
    """The options of a command line. Prints usage and exits on a wrong one."""
    parser = build_parser(environment)
    found = parser.parse_args(arguments)
    low, high = found.host_port_range
    return Options(
        namespaces=found.namespace,
        kubeconfig=found.kubeconfig,
        workers=found.workers,
        metrics_bind_address=found.metrics_bind_address,
        health_probe_bind_address=found.health_probe_bind_address,
        leader_elect=found.leader_elect,
        leader_election_namespace=found.leader_election_namespace or _own_namespace(),
        log_format=found.log_format,
        log_level=found.log_level,
        settings=Settings(
            scheduling=found.scheduling,
            elastic_server=found.elastic_server,
            elastic_timeout_seconds=found.elastic_timeout,
            force_delete_after_seconds=found.force_delete_after,
            config_error_grace_seconds=found.config_error_after,
            image_pull_grace_seconds=found.image_error_after,
            host_port_range=(low, high),
            host_port_share=found.host_port_share or (1.0 if len(found.namespace) == 1 else 0.25),
        ),
    )


def _naming(variable: str, value: str, parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """The parser; where it refuses what a variable says, the error names the variable."""

    def parse_and_name(text: str) -> Any:
        try:
            return parse(text)
        except argparse.ArgumentTypeError as error:
            source = f"{variable}: " if text == value else ""
            raise argparse.ArgumentTypeError(f"{source}{error}") from error

    return parse_and_name


def _add(
    parser: argparse.ArgumentParser,
    environment: Mapping[str, str],
    name: str,
    default: str,
    text: str,
    type: Callable[[str], Any] = str,
    **more: Any,
) -> None:
    """Add a flag; a default is parsed as an argument would be."""
    variable = ENVIRONMENT_PREFIX + name.upper().replace("-", "_")
    value = environment.get(variable)
    if value is not None:
        default, type = value, _naming(variable, value, type)
    more |= {"default": default, "type": type}
    parser.add_argument(f"--{name}", help=f"{text} [{variable}]", **more)


def build_parser(environment: Mapping[str, str]) -> argparse.ArgumentParser:
    """The flags, with defaults from the environment; docs/operator.md lists them."""
    parser = argparse.ArgumentParser(
        prog="python -m controller", description="The PaddleJob operator."
    )
    add = partial(_add, parser, environment)
    watched = "watch this namespace only, or these: A,B; empty: all"
    add("namespace", "", watched, type=_namespaces)
    add(
        "kubeconfig",
        environment.get("KUBECONFIG", ""),
        "file that says how to reach the API server",
    )
    add("workers", "8", "how many jobs of a namespace are reconciled at once", type=_workers)
    add("metrics-bind-address", ":8080", "address of /metrics; 0: none", type=_address)
    add("health-probe-bind-address", ":8081", "of /healthz, /readyz; 0: none", type=_address)
    add(
        "leader-elect",
        "false",
        "write only while holding a Lease",
        type=_truth,
        nargs="?",
        const=True,
    )
    lease = "where the Lease is; empty: the operator's own"
    add("leader-election-namespace", "", lease, type=_namespace)
    add("log-format", "auto", "auto, json or text; auto: json in a cluster", type=_one_of(FORMATS))
    add("log-level", "info", ", ".join(LEVELS), type=_one_of(LEVELS))
    schedulers = ("none", "volcano", "kubernetes")
    add("scheduling", "none", "make every job a gang of this scheduler", type=_one_of(schedulers))
    etcd = "etcd of all elastic jobs, HOST:PORT; empty: that of each job's own namespace"
    add("elastic-server", "", etcd)
    add("elastic-timeout", "120", "seconds that elastic launchers wait for peers", type=_count)
    lost = "seconds until a pod that hangs on a lost node is force-deleted"
    add("force-delete-after", "300", lost, type=_seconds)
    wrong = "seconds until a wrong image name or a missing key fails the job"
    add("config-error-after", "60", wrong, type=_seconds)
    absent = "seconds until an image or an object that does not come fails the job"
    add("image-error-after", "600", absent, type=_seconds)
    add("host-port-range", "30000-60999", "ports of jobs with intranet: Host", type=_ports)
    share = "part of them for one namespace at most; empty: 0.25, or 1 with one --namespace"
    add("host-port-share", "", share, type=_share)
    return parser


def _own_namespace() -> str:
    try:
        return _NAMESPACE_FILE.read_text().strip() or "default"
    except OSError:
        return "default"


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return int(text)


def _workers(text: str) -> int:
    count = _count(text)
    if count > MAX_WORKERS:
        raise argparse.ArgumentTypeError(f"{text!r} is more than {MAX_WORKERS}")
    return count


def _namespace(text: str) -> str:
    if text and not re.fullmatch("[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not the name of a namespace")
    return text


def _namespaces(text: str) -> tuple[str, ...]:
    """Each once; an empty name among others is a slip, and must not mean all of them."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(","))) if text else ()
    if "" in names:
        raise argparse.ArgumentTypeError(f"{text!r} has an empty name in it")
    return tuple(_namespace(name) for name in names)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds") from error
    if not 0 <= seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
    return seconds


def _share(text: str) -> float | None:
    if not text:
        return None
    if not re.fullmatch(r"[01]|[01]?\.\d+", text) or not 0 < float(text) <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share such as 0.25")
    return float(text)


def _truth(text: str | bool) -> bool:
    words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    value = words.get(str(text).lower())
    if value is None:
        raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")
    return value


def _address(text: str) -> str:
    if text != DISABLED:
        try:
            parse_address(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error
    return text


def _ports(text: str) -> tuple[int, int]:
    low, dash, high = text.partition("-")
    if not (dash and low.isdecimal() and high.isdecimal() and 1 <= int(low) < int(high) <= 65535):
        raise argparse.ArgumentTypeError(f"{text!r} is not a range of ports such as 30000-60999")
    if int(high) - int(low) + 1 < PORTS_PER_POD:
        raise argparse.ArgumentTypeError(f"{text!r} has less than a pod's {PORTS_PER_POD} ports")
    return int(low), int(high)


def _one_of(words: Sequence[str]) -> Any:
    def parse(text: str) -> str:
        if text not in words:
            raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(words)}")
        return text

    return parse
