"""Counts jobs and pods in the store, for /metrics."""

from collections import Counter
from collections.abc import Iterable

from api.constants import LABEL_ROLE, Mode, Phase, Role
from api.objects import Raw, labels_of
from controller.resources import PADDLE_JOB, POD
from controller.store import Store
from metrics import Census

_ROLES = frozenset(role.value for role in Role)
_POD_PHASES = ("Pending", "Running", "Succeeded", "Failed", "Unknown")


def take_census(store: Store) -> Census:
    """Jobs by phase and mode, pods by role and phase; zeros included, so that no series ends."""
    return Census(_count_jobs(store.all(PADDLE_JOB)), _count_pods(store.all(POD)))


def _count_jobs(jobs: Iterable[Raw]) -> dict[tuple[str, str], int]:
    counts = Counter({(phase.value, mode.value): 0 for phase in Phase for mode in Mode})
    for job in jobs:
        status = job.get("status") or {}
        counts[(status.get("phase") or "", status.get("mode") or "")] += 1
    return dict(counts)


def _count_pods(pods: Iterable[Raw]) -> dict[tuple[str, str], int]:
    counts = Counter({(role.value, phase): 0 for role in Role for phase in _POD_PHASES})
    for pod in pods:
        role = labels_of(pod).get(LABEL_ROLE, "")
        # A user can change a label; an unknown role must not become a series of its own.
        known = role if role in _ROLES else ""
        counts[(known, (pod.get("status") or {}).get("phase") or "Pending")] += 1
    return dict(counts)
