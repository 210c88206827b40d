"""The jobs: what each kind is made of, and how it has to end whatever fails around it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.live.faulty import GONE_AT_ONCE, only_first
from tests.live.lab import SERVER, paddle_job, shell

Raw = dict[str, Any]
RUNNING, COMPLETED, FAILED = "Running", "Completed", "Failed"
WRONG_PEERS = 99
"""The exit code of a trainer that was told other peers than its own."""
KNOWS_ITS_PEERS = (
    'case ",$PADDLE_TRAINER_ENDPOINTS," in *",$PADDLE_CURRENT_ENDPOINT,"*) ;; '
    f"*) exit {WRONG_PEERS};; esac"
)
PATIENT = {"backoffLimit": 50}
"""Whatever is charged to a job, it goes on."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of job: `build(name, seconds)`, the phase in which it ends up, and whether it
    restarts though nothing fails."""

    build: Callable[[str, float], Raw]
    ends: str
    restarts: bool = False
    is_fragile: bool = False
    """Whether its pods go as soon as their node is silent."""


def trainer(then: str, **container: Any) -> Raw:
    """A worker that looks whether it is one of the peers that it was told, and then does this."""
    return shell(f"{KNOWS_ITS_PEERS}; {then}", **container)


def _sleeps(seconds: float) -> str:
    return f"sleep {seconds:.1f}"


def _collective(name: str, seconds: float) -> Raw:
    return paddle_job(name, {"worker": (3, trainer(_sleeps(seconds)))}, **PATIENT)


def _single(name: str, seconds: float) -> Raw:
    return paddle_job(name, {"worker": (1, shell(_sleeps(seconds)))}, **PATIENT)


def _ps(name: str, seconds: float) -> Raw:
    roles = {"ps": (1, SERVER), "worker": (2, trainer(_sleeps(seconds)))}
    return paddle_job(name, roles, **PATIENT)


def _service(name: str, seconds: float) -> Raw:
    roles = {"worker": (2, trainer(_sleeps(seconds)))}
    return paddle_job(name, roles, intranet="Service", **PATIENT)


def _fragile(name: str, seconds: float) -> Raw:
    template = trainer(_sleeps(seconds))
    template["spec"]["tolerations"] = GONE_AT_ONCE
    return paddle_job(name, {"worker": (2, template)}, cleanPodPolicy="Never", **PATIENT)


def _in_place(name: str, seconds: float) -> Raw:
    once = "test -e /once/x || { touch /once/x; exit 1; }"
    mounts = [{"name": "once", "mountPath": "/once"}]
    template = trainer(f"{once}; {_sleeps(seconds)}", volumeMounts=mounts)
    template["spec"] |= {
        "restartPolicy": "OnFailure",
        "volumes": [{"name": "once", "emptyDir": {}}],
    }
    return paddle_job(name, {"worker": (2, template)}, **PATIENT)


def _elastic(name: str, _seconds: float) -> Raw:
    job = paddle_job(name, {"worker": (2, shell("exec sleep 3600"))}, elastic=1, **PATIENT)
    job["spec"]["worker"] |= {"requests": 1, "limits": 3}
    return job


def _endless(name: str, _seconds: float) -> Raw:
    return paddle_job(name, {"worker": (2, trainer("exec sleep 3600"))}, **PATIENT)


def _retries(name: str, seconds: float) -> Raw:
    template = only_first("exit 3", f"{{ {_sleeps(seconds)}; exit 0; }}")
    return paddle_job(name, {"worker": (2, template)}, **PATIENT)


def _relaunches(name: str, seconds: float) -> Raw:
    template = only_first("exit 101", f"{{ {_sleeps(seconds)}; exit 0; }}")
    return paddle_job(name, {"worker": (1, template)}, **PATIENT)


def _fails(name: str, seconds: float) -> Raw:
    return paddle_job(name, {"worker": (2, shell(f"{_sleeps(seconds)}; exit 4"))})


def _fatal(name: str, seconds: float) -> Raw:
    rule = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}
    roles = {"worker": (2, shell(f"{_sleeps(seconds)}; exit 42"))}
    return paddle_job(name, roles, podFailurePolicy={"rules": [rule]}, **PATIENT)


def _overdue(name: str, seconds: float) -> Raw:
    roles = {"worker": (2, shell("exec sleep 3600"))}
    return paddle_job(name, roles, activeDeadlineSeconds=5 + int(seconds), **PATIENT)


KINDS = {
    "collective": Kind(_collective, COMPLETED),
    "single": Kind(_single, COMPLETED),
    "ps": Kind(_ps, COMPLETED),
    "service": Kind(_service, COMPLETED),
    "fragile": Kind(_fragile, COMPLETED, is_fragile=True),
    "in-place": Kind(_in_place, COMPLETED),
    "elastic": Kind(_elastic, RUNNING),
    "endless": Kind(_endless, RUNNING),
    "retries": Kind(_retries, COMPLETED, restarts=True),
    "relaunches": Kind(_relaunches, COMPLETED, restarts=True),
    "fails": Kind(_fails, FAILED),
    "fatal": Kind(_fatal, FAILED),
    "overdue": Kind(_overdue, FAILED),
}
