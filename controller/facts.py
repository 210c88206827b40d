"""The few facts about an object that are asked often, or of all objects at once.

The store keeps them beside the packed object: counting ten thousand jobs unpacks none, and whether
an event is news that a job waits for is known without a look at its pods.
"""

from collections.abc import Callable
from sys import intern
from typing import NamedTuple

from api.constants import LABEL_ROLE, TERMINAL_PHASES
from api.objects import Raw, is_deleting, labels_of
from controller.resources import PADDLE_JOB, POD, Resource

WAITS, HAS_ADDRESS, RUNS = range(3)
"""How far a pod has come up. Beyond RUNS every further running container counts one more."""
_QUIET_CONDITIONS = frozenset({"", "ContainersNotReady", "ContainersNotInitialized"})
_QUIET_WAITS = frozenset({"", "ContainerCreating", "PodInitializing", "CreateContainerConfigError"})
"""What every pod waits for on its way; for its configuration, until all have an address."""


class JobFacts(NamedTuple):
    """Facts about a PaddleJob. `host_ports` are those that it holds: none once it has ended.

    `generation` changes with the spec and with the beginning of the deletion.
    """

    phase: str
    mode: str
    host_ports: tuple[int, ...]
    generation: int


class PodFacts(NamedTuple):
    """Facts about a pod. `step` is how far it has come up, or None where anything else happened."""

    role: str
    phase: str
    step: int | None


Facts = JobFacts | PodFacts | None


def facts_of(resource: Resource, obj: Raw) -> Facts:
    """The facts about an object; None for a kind that nobody counts."""
    state = _FACTS.get(resource)
    return state(obj) if state else None


def _job_facts(job: Raw) -> JobFacts:
    status: Raw = job.get("status") or {}
    phase = status.get("phase") or ""
    ports = () if phase in TERMINAL_PHASES else (status.get("hostPorts") or {}).values()
    generation = job["metadata"].get("generation") or 0
    return JobFacts(intern(phase), intern(status.get("mode") or ""), tuple(ports), generation)


def _pod_facts(pod: Raw) -> PodFacts:
    phase = (pod.get("status") or {}).get("phase") or "Pending"
    role = labels_of(pod).get(LABEL_ROLE, "")
    return PodFacts(intern(role), intern(phase), _step(pod, phase))


def _step(pod: Raw, phase: str) -> int | None:
    status: Raw = pod.get("status") or {}
    if is_deleting(pod) or phase not in ("Pending", "Running") or status.get("reason"):
        return None
    if not all(_is_quiet_condition(each) for each in status.get("conditions") or ()):
        return None
    containers: list[Raw] = status.get("containerStatuses") or []
    inits: list[Raw] = status.get("initContainerStatuses") or []
    if not all(map(_is_quiet_container, containers)) or not all(map(_is_quiet_init, inits)):
        return None
    if phase == "Running":
        return RUNS + sum("running" in (each.get("state") or {}) for each in containers)
    return HAS_ADDRESS if status.get("podIP") else WAITS


def _is_quiet_condition(condition: Raw) -> bool:
    if condition.get("status") == "True":
        return condition.get("type") != "DisruptionTarget"
    return (condition.get("reason") or "") in _QUIET_CONDITIONS


def _is_quiet_container(container: Raw) -> bool:
    state: Raw = container.get("state") or {}
    waiting = state.get("waiting") or {}
    is_on_its_way = "terminated" not in state and (waiting.get("reason") or "") in _QUIET_WAITS
    return is_on_its_way and not container.get("restartCount") and not container.get("lastState")


def _is_quiet_init(container: Raw) -> bool:
    ended = (container.get("state") or {}).get("terminated")
    return ended.get("exitCode") == 0 if ended else _is_quiet_container(container)


_FACTS: dict[Resource, Callable[[Raw], Facts]] = {PADDLE_JOB: _job_facts, POD: _pod_facts}
