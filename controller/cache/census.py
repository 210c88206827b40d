"""Counts jobs and pods in the store, for /metrics."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from api.constants import WAITS, Mode, Phase, Role
from api.objects import parse_time
from controller.cache.store import Facts, Store
from controller.client.resources import PADDLE_JOB, POD
from metrics import Census

_KNOWN_WAITS = frozenset((str(mode), str(reason)) for mode in Mode for reason in WAITS)
_POD_PHASES = ("Pending", "Running", "Succeeded", "Failed", "Unknown")


def take_census(store: Store, now: datetime) -> Census:
    """Count the jobs and pods of the store. Zeros are included, so that no series ends."""
    jobs, pods = ([facts for _, facts in store.facts(kind)] for kind in (PADDLE_JOB, POD))
    by_role = {(role, phase): n for (phase, role), n in _count(pods, _POD_PHASES, Role).items()}
    waiting = Counter(dict.fromkeys(_KNOWN_WAITS, 0))
    seconds = dict.fromkeys(_KNOWN_WAITS, 0.0)
    for facts in jobs:
        if facts.waits_for:
            key = _wait_of(facts)
            waiting[key] += 1
            seconds[key] = max(seconds.get(key, 0.0), _seconds_since(facts.waits_since, now))
    return Census(_count(jobs, Phase, Mode), by_role, waiting, seconds)


def _wait_of(facts: Facts) -> tuple[str, str]:
    """Mode and reason; two empty strings for a value that no operator writes."""
    key = (facts.group, facts.waits_for)
    return key if key in _KNOWN_WAITS else ("", "")


def _seconds_since(text: str, now: datetime) -> float:
    """Seconds since this time; 0 if no operator can have written it."""
    try:
        since = parse_time(text)
        return (now - since).total_seconds() if since else 0.0
    except (TypeError, ValueError):
        return 0.0


def _count(
    all_facts: list[Facts], phases: Iterable[str], groups: Iterable[str]
) -> dict[tuple[str, str], int]:
    """Count by phase and group. Text that users can write must not become a label value."""
    known_phases, known_groups = [*map(str, phases)], [*map(str, groups)]
    counts = Counter({(phase, group): 0 for phase in known_phases for group in known_groups})
    for facts in all_facts:
        phase = facts.phase if facts.phase in known_phases else ""
        counts[(phase, facts.group if facts.group in known_groups else "")] += 1
    return counts
