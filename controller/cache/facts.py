"""A few facts about jobs and pods, for questions about all of them.

The store keeps them beside the packed object, so that counting ten thousand jobs unpacks none.
"""

from sys import intern
from typing import NamedTuple

from api.constants import LABEL_ROLE, TERMINAL_PHASES
from api.objects import Raw, labels_of
from controller.client.resources import PADDLE_JOB, POD, Resource


class Facts(NamedTuple):
    """Facts about one object. `group` is a job's mode or a pod's role.

    `host_ports` are those that a job holds: none once it has ended.
    """

    phase: str
    group: str
    host_ports: tuple[int, ...] = ()


def facts_of(resource: Resource, obj: Raw) -> Facts | None:
    """The facts about an object; None for a kind that nobody counts."""
    status: Raw = obj.get("status") or {}
    if resource is PADDLE_JOB:
        phase = status.get("phase") or ""
        ports = () if phase in TERMINAL_PHASES else (status.get("hostPorts") or {}).values()
        return Facts(intern(phase), intern(status.get("mode") or ""), tuple(ports))
    if resource is POD:
        role = labels_of(obj).get(LABEL_ROLE, "")
        return Facts(intern(status.get("phase") or "Pending"), intern(role))
    return None
