"""Counts jobs and pods in the store, for /metrics."""

from collections import Counter
from collections.abc import Iterable

from api.constants import Mode, Phase, Role
from controller.facts import Facts, JobFacts, PodFacts
from controller.resources import PADDLE_JOB, POD
from controller.store import Store
from metrics import Census

_PHASES = frozenset(phase.value for phase in Phase)
_MODES = frozenset(mode.value for mode in Mode)
_ROLES = frozenset(role.value for role in Role)
_POD_PHASES = ("Pending", "Running", "Succeeded", "Failed", "Unknown")


def take_census(store: Store) -> Census:
    """Jobs by phase and mode, pods by role and phase; zeros included, so that no series ends."""
    jobs = (facts for _, facts in store.facts(PADDLE_JOB))
    pods = (facts for _, facts in store.facts(POD))
    return Census(_count_jobs(jobs), _count_pods(pods))


def _count_jobs(jobs: Iterable[Facts]) -> dict[tuple[str, str], int]:
    counts = Counter({(phase.value, mode.value): 0 for phase in Phase for mode in Mode})
    for job in jobs:
        if isinstance(job, JobFacts):
            # Another controller's job may be in a phase that only it knows.
            counts[(_known(job.phase, _PHASES), _known(job.mode, _MODES))] += 1
    return dict(counts)


def _count_pods(pods: Iterable[Facts]) -> dict[tuple[str, str], int]:
    counts = Counter({(role.value, phase): 0 for role in Role for phase in _POD_PHASES})
    for pod in pods:
        if isinstance(pod, PodFacts):
            counts[(_known(pod.role, _ROLES), pod.phase)] += 1
    return dict(counts)


def _known(word: str, words: frozenset[str]) -> str:
    """The word, or nothing: what users can write must not become series of its own."""
    return word if word in words else ""
