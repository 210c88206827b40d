"""The few facts about an object that are asked of all objects at once.

The store keeps them beside the packed object, so that counting ten thousand jobs unpacks none.
"""

from collections.abc import Callable
from sys import intern
from typing import NamedTuple

from api.constants import LABEL_ROLE, TERMINAL_PHASES
from api.objects import Raw, labels_of
from controller.resources import PADDLE_JOB, POD, Resource


class JobFacts(NamedTuple):
    """Facts about a PaddleJob. `host_ports` are those that it holds: none once it has ended."""

    phase: str
    mode: str
    host_ports: tuple[int, ...]


class PodFacts(NamedTuple):
    """Facts about a pod."""

    role: str
    phase: str


Facts = JobFacts | PodFacts | None


def facts_of(resource: Resource, obj: Raw) -> Facts:
    """The facts about an object; None for a kind that nobody counts."""
    state = _FACTS.get(resource)
    return state(obj) if state else None


def _job_facts(job: Raw) -> JobFacts:
    status: Raw = job.get("status") or {}
    phase = status.get("phase") or ""
    ports = () if phase in TERMINAL_PHASES else (status.get("hostPorts") or {}).values()
    return JobFacts(intern(phase), intern(status.get("mode") or ""), tuple(ports))


def _pod_facts(pod: Raw) -> PodFacts:
    phase = (pod.get("status") or {}).get("phase") or "Pending"
    return PodFacts(intern(labels_of(pod).get(LABEL_ROLE, "")), intern(phase))


_FACTS: dict[Resource, Callable[[Raw], Facts]] = {PADDLE_JOB: _job_facts, POD: _pod_facts}
