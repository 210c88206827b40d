"""What happens in each round: which jobs are submitted when, and what fails when and for how long.

All of it follows from the seed alone. A fault that concerns one of several things (pods, nodes)
carries a number between 0 and 1 that says which one of those that there are by then.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

JOBS_PER_ROUND = (5, 8)
FAULTS_PER_ROUND = (4, 7)
SUBMITTED_WITHIN_SECONDS = 8.0
FAULTS_WITHIN_SECONDS = 16.0
PERIODS_SECONDS = (1.0, 14.0)
"""For so long a fault lasts that does not say otherwise."""


@dataclass(frozen=True, slots=True)
class Submission:
    """A job of a kind, so long after the round's beginning."""

    after_seconds: float
    kind: str
    seconds: float
    """For so long its program runs."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault, so long after the round's beginning and for so long."""

    after_seconds: float
    kind: str
    for_seconds: float
    pick: float


@dataclass(frozen=True, slots=True)
class Round:
    """A round's jobs and faults, each in the order of time."""

    number: int
    submissions: tuple[Submission, ...]
    faults: tuple[Fault, ...]


def rounds(
    seed: int, job_kinds: Sequence[str], fault_kinds: Mapping[str, float]
) -> Iterator[Round]:
    """The rounds of a seed, without an end. `fault_kinds` has the longest time of each, or 0."""
    chance = random.Random(seed)
    bag: list[str] = []
    number = 0
    while True:
        number += 1
        submissions = [
            _submission(chance, job_kinds) for _ in range(chance.randint(*JOBS_PER_ROUND))
        ]
        faults = []
        for _ in range(chance.randint(*FAULTS_PER_ROUND)):
            bag = bag or chance.sample(sorted(fault_kinds), len(fault_kinds))
            faults.append(_fault(chance, bag.pop(), fault_kinds))
        yield Round(
            number,
            tuple(sorted(submissions, key=lambda each: each.after_seconds)),
            tuple(sorted(faults, key=lambda each: each.after_seconds)),
        )


def _submission(chance: random.Random, kinds: Sequence[str]) -> Submission:
    after = chance.uniform(0, SUBMITTED_WITHIN_SECONDS)
    return Submission(after, chance.choice(kinds), chance.uniform(1, 12))


def _fault(chance: random.Random, kind: str, kinds: Mapping[str, float]) -> Fault:
    least, most = PERIODS_SECONDS
    after = chance.uniform(0, FAULTS_WITHIN_SECONDS)
    return Fault(after, kind, chance.uniform(least, kinds[kind] or most), chance.random())
