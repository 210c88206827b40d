"""The command line. Each flag also has an environment variable, such as PADDLEJOB_LOG_LEVEL.

A flag on the command line overrides its variable, and the variable overrides the default.
"""

import argparse
import hashlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

from api.constants import PORTS_PER_POD, RELEASE, CleanPodPolicy
from api.schema_types import MAX_INT32
from api.trainer import ACCELERATORS
from controller.health import DISABLED, parse_address
from controller.logs import FORMATS, LEVELS
from reconcile.model.plan import Settings

ENVIRONMENT_PREFIX = "PADDLEJOB_"
REVISION = "PADDLEJOB_OPERATOR_REVISION"
FOREIGN_VARIABLES = frozenset({"PADDLEJOB_E2E", "PADDLEJOB_MANUALS"})
"""Variables of the tests, which start operators with their own environment."""
SERVICE_LINK = re.compile(r"_SERVICE_(HOST|PORT(_.+)?)$|_PORT(_\d+_(TCP|UDP|SCTP)(_.+)?)?$")
"""Matches the variables that the kubelet sets for a Service, such as paddlejob-metrics."""
MAX_WORKERS = 256
"""Each worker is a thread with a connection; more would only wait for each other."""
MAX_READS = 100
"""The most log reads per second; more would only load the kubelets and the API server."""
_Parse = Callable[[str], Any]
"""Reads the text of a flag. Raises ValueError, which says what is wrong with the text."""
_NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


@dataclass(frozen=True, slots=True)
class Options:
    """The parsed command line. No namespaces means all of them."""

    namespaces: tuple[str, ...]
    kubeconfig: str
    workers: int
    metrics_bind_address: str
    metrics_secure: bool
    metrics_cert_dir: str
    metrics_by_namespace: bool
    health_probe_bind_address: str
    leader_elect: bool
    leader_election_namespace: str
    leader_election_id: str
    log_format: str
    log_level: str
    progress_reads: float
    settings: Settings

    @property
    def lease_name(self) -> str:
        """Operators with the same scope contend for the same lease; others do not.

        With --leader-election-id, operators with the same ID contend, whatever their scopes. The
        scope can then change without two leaders.
        """
        scope = ",".join(sorted(self.namespaces)) or "all"
        if len(self.namespaces) > 1:  # joined, the names can be too long for a Lease
            scope = f"list-{hashlib.sha256(scope.encode()).hexdigest()[:10]}"
        return f"paddlejob-operator-{self.leader_election_id or scope}"


def parse_options(arguments: Sequence[str], environment: Mapping[str, str] = os.environ) -> Options:
    """The options of a command line. If it is wrong, prints the usage and exits."""
    parser = build_parser(environment)
    found = vars(parser.parse_args(arguments))
    _check_variables(parser, environment)
    _check_metrics(parser, found)
    namespaces = found.pop("namespace")
    found["leader_election_namespace"] = found["leader_election_namespace"] or _own_namespace()
    found["host_port_share"] = found["host_port_share"] or (1.0 if len(namespaces) == 1 else 0.25)
    settings = Settings(**{each.name: found.pop(each.name) for each in fields(Settings)})
    return Options(namespaces=namespaces, settings=settings, **found)


def _add(
    parser: argparse.ArgumentParser,
    environment: Mapping[str, str],
    name: str,
    default: str,
    text: str,
    parse: _Parse = str,
    **more: Any,
) -> None:
    """Add a flag. If `parse` refuses the value of its variable, the error names the variable."""
    variable = _variable(name)
    value = environment.get(variable)

    def parse_argument(text: str) -> Any:
        try:
            return parse(text)
        except ValueError as error:
            source = f"{variable}: " if text == value else ""
            raise argparse.ArgumentTypeError(f"{source}{error}") from error

    more |= {"default": default if value is None else value, "type": parse_argument}
    more["metavar"] = name.upper().replace("-", "_")
    parser.add_argument(f"--{name}", help=f"{text} [{variable}]", **more)


def known_variables() -> frozenset[str]:
    """The operator's own environment variables: one for each flag, and the revision."""
    flags = {action.option_strings[-1] for action in build_parser({})._actions}
    return frozenset({REVISION, *map(_variable, flags - {"--help", "--version"})})


def _variable(flag: str) -> str:
    return ENVIRONMENT_PREFIX + flag.removeprefix("--").upper().replace("-", "_")


def _check_variables(parser: argparse.ArgumentParser, environment: Mapping[str, str]) -> None:
    """Refuse variables that are named like ours but belong to no flag: they would do nothing."""
    ours = {name for name in environment if name.startswith(ENVIRONMENT_PREFIX)}
    unknown = sorted(ours - known_variables() - FOREIGN_VARIABLES)
    unknown = [name for name in unknown if not SERVICE_LINK.search(name)]
    if unknown:
        parser.error(f"unknown environment variable: {', '.join(unknown)}")


def revision(environment: Mapping[str, str] = os.environ) -> str:
    """The commit that the image was built from, taken from a variable of the image."""
    return environment.get(REVISION) or "unknown"


def build_parser(environment: Mapping[str, str]) -> argparse.ArgumentParser:
    """The flags, with defaults from the environment. A `dest` is a field of Options or Settings."""
    parser = argparse.ArgumentParser(
        prog="python -m controller", description="The PaddleJob operator."
    )
    version = f"paddlejob-operator {RELEASE}, revision {revision(environment)}"
    parser.add_argument("--version", action="version", version=version)
    add = partial(_add, parser, environment)
    add("namespace", "", "watch this namespace only, or these: A,B; empty: all", _namespaces)
    server = "kubeconfig file; empty: in a pod its service account, elsewhere ~/.kube/config"
    add("kubeconfig", environment.get("KUBECONFIG", ""), server)
    add("workers", "8", "the most jobs of one namespace reconciled at once", _workers)
    add("metrics-bind-address", ":8080", "address of /metrics; 0: none", _address)
    secure = "serve /metrics by HTTPS, only to clients whose token allows it"
    add("metrics-secure", "false", secure, _truth, nargs="?", const=True)
    each = "metrics of each namespace, paddlejob_namespace_*, for the 200 with the highest values"
    add("metrics-by-namespace", "false", each, _truth, nargs="?", const=True)
    files = "folder with tls.crt and tls.key for /metrics; empty: a self-signed certificate"
    add("metrics-cert-dir", "", files)
    add("health-probe-bind-address", ":8081", "address of /healthz and /readyz; 0: none", _address)
    led = "write only while holding a Lease"
    add("leader-elect", "false", led, _truth, nargs="?", const=True)
    lease = "namespace of the Lease; empty: the operator's own"
    add("leader-election-namespace", "", lease, _namespace)
    end = "suffix of the Lease's name; empty: made from the namespaces"
    add("leader-election-id", "", end, _lease_id)
    add("log-format", "auto", "auto, json or text; auto: json in a cluster", _one_of(FORMATS))
    add("log-level", "info", ", ".join(LEVELS), _one_of(LEVELS))
    _add_job_flags(add)
    return parser


def _add_job_flags(add: Callable[..., None]) -> None:
    """The flags that say how jobs are treated, most of them in `Settings`."""
    schedulers = ("none", "volcano", "kubernetes")
    gangs = "gang scheduling of all jobs: none, volcano or kubernetes"
    add("scheduling", "none", gangs, _one_of(schedulers))
    queues = "hold jobs with the label kueue.x-k8s.io/queue-name until Kueue admits them"
    add("kueue", "false", queues, _truth, nargs="?", const=True)
    logs = "read the training's progress from logs into the status of running jobs"
    add("progress", "false", logs, _truth, nargs="?", const=True)
    add("progress-reads", "5", "logs read per second for --progress, for all jobs together", _rate)
    etcd = "etcd for all elastic jobs, HOST:PORT; empty: the one in each job's own namespace"
    add("elastic-server", "", etcd)
    peers = "seconds that elastic launchers wait for peers"
    add("elastic-timeout", "120", peers, _count, dest="elastic_timeout_seconds")
    lost = "seconds until a pod that hangs on a lost node is force-deleted"
    add("force-delete-after", "300", lost, _seconds, dest="force_delete_after_seconds")
    wrong = "seconds until a wrong image name, a missing key or an invalid child fails the job"
    add("config-error-after", "60", wrong, _seconds, dest="config_error_grace_seconds")
    absent = "seconds until an image that cannot be pulled, or a missing object, fails the job"
    add("image-error-after", "600", absent, _seconds, dest="image_pull_grace_seconds")
    held = "seconds until a job with room for only some of its pods deletes them; 0: never"
    add("give-back-after", "300", held, _seconds, dest="give_back_after_seconds")
    clean = (
        "cleanPodPolicy if unset: Always, Never, OnFailure, OnCompletion; empty: ended pods stay"
    )
    policy = _one_of([*CleanPodPolicy, ""], lambda text: CleanPodPolicy(text) if text else None)
    add("default-clean-pod-policy", "", clean, policy)
    ttl = "ttlSecondsAfterFinished of jobs that do not set it; empty: ended jobs stay"
    add("default-ttl-seconds-after-finished", "", ttl, _ttl, dest="default_ttl_seconds")
    add("host-port-range", "30000-60999", "ports of jobs with intranet: Host", _ports)
    share = "share of --host-port-range for one namespace; empty: 0.25, or 1 with one --namespace"
    add("host-port-share", "", share, _share)
    more = "more resources that count as GPUs, besides the usual ones: A,B; * is any text"
    add("accelerators", "", more, _accelerators)


def _ttl(text: str) -> int | None:
    if not text:
        return None
    if not re.fullmatch("[0-9]{1,10}", text) or int(text) > MAX_INT32:
        raise ValueError(f"{text!r} is not a number of seconds from 0 to {MAX_INT32}")
    return int(text)


def _check_metrics(parser: argparse.ArgumentParser, found: dict[str, Any]) -> None:
    if found["metrics_cert_dir"] and not found["metrics_secure"]:
        parser.error("--metrics-cert-dir needs --metrics-secure")
    address = found["metrics_bind_address"]
    if found["metrics_secure"] and address == found["health_probe_bind_address"] != DISABLED:
        parser.error("--metrics-secure needs an address of its own: probes have no token")


def _own_namespace() -> str:
    try:
        return _NAMESPACE_FILE.read_text().strip() or "default"
    except OSError:
        return "default"


def _matching(pattern: str, complaint: str, convert: Callable[[str], Any] = str) -> _Parse:
    """A parser for text that matches the pattern; it raises the complaint for any other."""

    def parse(text: str) -> Any:
        if not re.fullmatch(pattern, text):
            raise ValueError(f"{text!r} {complaint}")
        return convert(text)

    return parse


def _one_of(words: Sequence[str], convert: Callable[[str], Any] = str) -> _Parse:
    return _matching("|".join(words), f"must be one of {', '.join(filter(None, words))}", convert)


_count = _matching("0*[1-9][0-9]*", "is not a positive number", int)
_namespace = _matching("([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)?", "is not the name of a namespace")
_lease_id = _matching(
    "([a-z0-9]([-.a-z0-9]{0,198}[a-z0-9])?)?", "cannot be the end of a Lease's name"
)
_seconds = _matching(r"[0-9]{1,10}(\.[0-9]+)?", "is not a number of seconds", float)
"""At most three centuries, so that each deadline is a valid date."""


def _rate(text: str) -> float:
    if not 0 < _seconds(text) <= MAX_READS:
        raise ValueError(f"{text!r} is not between 0 and {MAX_READS} a second")
    return float(text)


def _workers(text: str) -> int:
    count: int = _count(text)
    if count > MAX_WORKERS:
        raise ValueError(f"{text!r} is more than {MAX_WORKERS}")
    return count


def _namespaces(text: str) -> tuple[str, ...]:
    """Each name once; empty text means all namespaces. An empty name among others is an error."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(","))) if text else ()
    if "" in names:
        raise ValueError(f"{text!r} has an empty name in it")
    return tuple(_namespace(name) for name in names)


def _accelerators(text: str) -> tuple[str, ...]:
    """The known patterns, then the given ones, such as example.com/npu*."""
    more = tuple(each.strip() for each in text.split(",")) if text else ()
    if not all("/" in each for each in more):
        raise ValueError(f"{text!r} has a name without the / of an extended resource")
    return (*ACCELERATORS, *more)


def _share(text: str) -> float | None:
    if not text:
        return None
    if not re.fullmatch(r"[01]|[01]?\.\d+", text) or not 0 < float(text) <= 1:
        raise ValueError(f"{text!r} is not a share such as 0.25")
    return float(text)


def _truth(text: str | bool) -> bool:
    words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    value = words.get(str(text).lower())
    if value is None:
        raise ValueError(f"{text!r} is neither true nor false")
    return value


def _address(text: str) -> str:
    if text != DISABLED:
        parse_address(text)
    return text


def _ports(text: str) -> tuple[int, int]:
    low, dash, high = text.partition("-")
    if not (dash and low.isdecimal() and high.isdecimal() and 1 <= int(low) < int(high) <= 65535):
        raise ValueError(f"{text!r} is not a range of ports such as 30000-60999")
    if int(high) - int(low) + 1 < PORTS_PER_POD:
        raise ValueError(f"{text!r} has fewer ports than the {PORTS_PER_POD} of one pod")
    return int(low), int(high)
