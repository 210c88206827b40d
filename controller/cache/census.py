"""Counts jobs and pods in the store, for /metrics."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from api.constants import STALLS, WAITS, Mode, Phase, Role
from api.objects import parse_time
from controller.cache.store import CensusFacts, Store
from controller.client.resources import PADDLE_JOB, POD
from metrics import Census, NamespaceCensus

_KNOWN_WAITS = frozenset((str(mode), str(reason)) for mode in Mode for reason in (*WAITS, *STALLS))
GPU_STATES = ("wanted", "held", "running")
_POD_PHASES = ("Pending", "Running", "Succeeded", "Failed", "Unknown")


def take_census(store: Store, now: datetime) -> Census:
    """Count the jobs and pods of the store. Known series are 0 rather than missing."""
    jobs, pods = ([facts for _, facts in store.facts(kind)] for kind in (PADDLE_JOB, POD))
    by_role = {(role, phase): n for (phase, role), n in _count(pods, _POD_PHASES, Role).items()}
    waiting = Counter(dict.fromkeys(_KNOWN_WAITS, 0))
    seconds = dict.fromkeys(_KNOWN_WAITS, 0.0)
    gpus = dict.fromkeys(GPU_STATES, 0)
    for facts in jobs:
        if facts.waits_for:
            key = _wait_of(facts)
            waiting[key] += 1
            seconds[key] = max(seconds.get(key, 0.0), _seconds_since(facts.waits_since, now))
        for state, number in zip(GPU_STATES, facts.gpus, strict=False):
            gpus[state] += number
    return Census(_count(jobs, Phase, Mode), by_role, waiting, seconds, gpus)


def take_namespace_census(store: Store, now: datetime) -> NamespaceCensus:
    """Count the jobs and accelerators of each namespace; namespaces without any are left out."""
    phases = frozenset(map(str, Phase))
    jobs: Counter[tuple[str, str]] = Counter()
    gpus: Counter[tuple[str, str]] = Counter()
    seconds: dict[tuple[str, str], float] = {}
    for key, facts in store.facts(PADDLE_JOB):
        jobs[(key.namespace, facts.phase if facts.phase in phases else "")] += 1
        for state, number in zip(GPU_STATES, facts.gpus, strict=False):
            gpus[(key.namespace, state)] += number
        if facts.waits_for:
            pair = (key.namespace, _wait_of(facts)[1])
            seconds[pair] = max(seconds.get(pair, 0.0), _seconds_since(facts.waits_since, now))
    return NamespaceCensus(jobs, gpus, seconds)


def _wait_of(facts: CensusFacts) -> tuple[str, str]:
    """The mode and reason of a wait; two empty strings if either is unknown."""
    key = (facts.group, facts.waits_for)
    return key if key in _KNOWN_WAITS else ("", "")


def _seconds_since(text: str, now: datetime) -> float:
    """Seconds since this time; 0 if the text is not a time."""
    try:
        since = parse_time(text)
        return (now - since).total_seconds() if since else 0.0
    except (TypeError, ValueError):
        return 0.0


def _count(
    all_facts: list[CensusFacts], phases: Iterable[str], groups: Iterable[str]
) -> dict[tuple[str, str], int]:
    """Count by phase and group. Any unknown text, which users can write there, counts as empty."""
    known_phases, known_groups = [*map(str, phases)], [*map(str, groups)]
    counts = Counter({(phase, group): 0 for phase in known_phases for group in known_groups})
    for facts in all_facts:
        phase = facts.phase if facts.phase in known_phases else ""
        counts[(phase, facts.group if facts.group in known_groups else "")] += 1
    return counts
