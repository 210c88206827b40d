"""Counts jobs and pods in the store, for /metrics."""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime

from api.constants import WAITS, Mode, Phase, Role
from api.objects import parse_time
from controller.cache.store import Facts, Store
from controller.client.resources import PADDLE_JOB, POD, Resource
from metrics import Census

_KNOWN_WAITS = frozenset((str(mode), str(reason)) for mode in Mode for reason in WAITS)
_POD_PHASES = ("Pending", "Running", "Succeeded", "Failed", "Unknown")


def take_census(store: Store, now: datetime) -> Census:
    """Jobs by phase and mode, pods by role and phase, and waiting jobs by mode and reason.

    Zeros are included, so that no series ends.
    """
    jobs = _count(store, PADDLE_JOB, Phase, Mode)
    pods = _count(store, POD, _POD_PHASES, Role)
    by_role = {(role, phase): count for (phase, role), count in pods.items()}
    return Census(jobs, by_role, _count_waits(store), _longest_waits(store, now))


def _count_waits(store: Store) -> dict[tuple[str, str], int]:
    """Waiting jobs by mode and reason."""
    counts = Counter(_wait_of(facts) for facts in _waiting(store))
    return {**dict.fromkeys(_KNOWN_WAITS, 0), **counts}


def _longest_waits(store: Store, now: datetime) -> dict[tuple[str, str], float]:
    """For how many seconds the job waits that has waited longest, by mode and reason."""
    seconds = dict.fromkeys(_KNOWN_WAITS, 0.0)
    for facts in _waiting(store):
        key = _wait_of(facts)
        seconds[key] = max(seconds.get(key, 0.0), _seconds_since(facts.waits_since, now))
    return seconds


def _waiting(store: Store) -> Iterator[Facts]:
    return (facts for _, facts in store.facts(PADDLE_JOB) if facts.waits_for)


def _wait_of(facts: Facts) -> tuple[str, str]:
    """Mode and reason; two empty words for what no operator has written."""
    key = (facts.group, facts.waits_for)
    return key if key in _KNOWN_WAITS else ("", "")


def _seconds_since(text: str, now: datetime) -> float:
    """0 for a time that no operator has written."""
    try:
        since = parse_time(text)
        return (now - since).total_seconds() if since else 0.0
    except (TypeError, ValueError):
        return 0.0


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
