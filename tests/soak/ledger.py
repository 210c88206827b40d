"""The jobs that were submitted, and what is expected of each."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from api.objects import Raw, name_of, namespace_of
from tests.soak.checks import Expectation
from tests.soak.jobs import KINDS

Name = tuple[str, str]


@dataclass(slots=True)
class Ledger:
    """By namespace and name. One thread's."""

    expected: dict[Name, Expectation] = field(default_factory=dict)
    submitted: Counter[str] = field(default_factory=Counter)
    """Over all rounds, by kind."""
    restarts: int = 0
    """Of the jobs of rounds that are over."""
    _in_snapshot: set[Name] = field(default_factory=set)

    def enter(self, name: Name, kind: str) -> None:
        """A job of this kind is there now."""
        self.submitted[kind] += 1
        made = KINDS[kind]
        self.expected[name] = Expectation(made.ends, made.restarts or made.is_fragile)

    def touch(self, name: Name) -> None:
        """Something has failed that may restart this job."""
        if name in self.expected:
            self.expected[name].is_touched = True

    def touch_all(self) -> None:
        """Something has failed that may restart any of them."""
        for name in self.expected:
            self.touch(name)

    def note_snapshot(self, jobs: list[Raw]) -> None:
        """These would come back with a restore."""
        self._in_snapshot = {(namespace_of(job), name_of(job)) for job in jobs}

    def note_restore(self) -> None:
        """The others are gone."""
        self.expected = {n: e for n, e in self.expected.items() if n in self._in_snapshot}
        self.touch_all()

    def jobs_in(self, jobs: list[Raw]) -> Iterator[tuple[Raw, Expectation]]:
        """Each job of a list that was submitted, with what is expected of it."""
        for job in jobs:
            expected = self.expected.get((namespace_of(job), name_of(job)))
            if expected is not None:
                yield job, expected

    def missing_in(self, jobs: list[Raw]) -> list[str]:
        """The jobs that are gone without a word."""
        there = {(namespace_of(job), name_of(job)) for job in jobs}
        return [f"{'/'.join(name)} is gone" for name in self.expected if name not in there]

    def close_round(self, jobs: list[Raw]) -> None:
        """Forget them all."""
        over = [job for job, _ in self.jobs_in(jobs)]
        self.restarts += sum((job.get("status") or {}).get("restartCount", 0) for job in over)
        self.expected.clear()
        self._in_snapshot.clear()
