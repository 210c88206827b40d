"""A few facts about jobs and pods, for questions about all of them.

The store keeps them beside the packed object, so that counting ten thousand jobs unpacks none.
"""

import sys
from typing import NamedTuple

from api.constants import LABEL_ROLE, TERMINAL_PHASES, Condition
from api.objects import Raw, condition_of, labels_of
from controller.client.resources import PADDLE_JOB, POD, Resource

# Python 3.12 alone never lets go of what it has interned. Both take text alone: an object with
# anything else in its place is odd, and is left out.
intern = str.__str__ if sys.version_info[:2] == (3, 12) else sys.intern


class Facts(NamedTuple):
    """Facts about one object. `group` is a job's mode or a pod's role.

    `host_ports` are those that a job holds: none once it has ended. `waits_for` is the reason for
    which a job waits, empty for one that does not, and `waits_since` when that began.
    """

    phase: str
    group: str
    host_ports: tuple[int, ...] = ()
    waits_for: str = ""
    waits_since: str = ""


def facts_of(resource: Resource, obj: Raw) -> Facts | None:
    """The facts about an object; None for a kind that nobody counts."""
    status: Raw = obj.get("status") or {}
    if resource is PADDLE_JOB:
        phase = status.get("phase") or ""
        mode = intern(status.get("mode") or "")
        if phase in TERMINAL_PHASES:
            return Facts(intern(phase), mode)
        ports = tuple((status.get("hostPorts") or {}).values())
        waits = condition_of(obj, Condition.PENDING) or {}
        since = str(waits.get("lastTransitionTime") or "")
        return Facts(intern(phase), mode, ports, intern(str(waits.get("reason") or "")), since)
    if resource is POD:
        role = labels_of(obj).get(LABEL_ROLE, "")
        return Facts(intern(status.get("phase") or "Pending"), intern(role))
    return None
