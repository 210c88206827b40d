"""Counts jobs and pods in the store, for /metrics."""

from collections import Counter
from collections.abc import Iterable

from api.constants import Mode, Phase, Role
from controller.cache.store import Store
from controller.client.resources import PADDLE_JOB, POD, Resource
from metrics import Census

_POD_PHASES = ("Pending", "Running", "Succeeded", "Failed", "Unknown")


def take_census(store: Store) -> Census:
    """Jobs by phase and mode, pods by role and phase; zeros included, so that no series ends."""
    jobs = _count(store, PADDLE_JOB, Phase, Mode)
    pods = _count(store, POD, _POD_PHASES, Role)
    return Census(jobs, {(role, phase): count for (phase, role), count in pods.items()})


def _count(
    store: Store, resource: Resource, phases: Iterable[str], groups: Iterable[str]
) -> dict[tuple[str, str], int]:
    """By phase and group. Words that users can write must not become label values."""
    known_phases, known_groups = [*map(str, phases)], [*map(str, groups)]
    counts = Counter({(phase, group): 0 for phase in known_phases for group in known_groups})
    for _, facts in store.facts(resource):
        phase = facts.phase if facts.phase in known_phases else ""
        counts[(phase, facts.group if facts.group in known_groups else "")] += 1
    return dict(counts)
