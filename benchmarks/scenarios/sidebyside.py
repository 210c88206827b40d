"""Side by side: operators run bursts alternately on one control plane, so that a drift of the
machine's speed affects all of them.
"""

from dataclasses import dataclass
from statistics import fmean, median

from benchmarks.operators import Operator
from benchmarks.scenarios.burst import Burst, measure_burst
from benchmarks.site import Site
from localcluster.machine.report import Report

WARM_UP_JOBS = 50
"""The jobs of a first burst that is not counted: the first burst of a control plane is slower."""


@dataclass(frozen=True)
class Turns:
    """One operator's bursts, one per round."""

    operator: str
    bursts: tuple[Burst, ...]

    @property
    def jobs_per_second(self) -> float:
        """The mean of all bursts."""
        return fmean(burst.jobs_per_second for burst in self.bursts)

    def compare(self, other: "Turns") -> float:
        """The median over the rounds of this operator's rate divided by the other's."""
        pairs = zip(self.bursts, other.bursts, strict=True)
        return median(mine.jobs_per_second / its.jobs_per_second for mine, its in pairs)

    def of_round(self, number: int) -> "Turns":
        """Only the burst of this round; the first is number 1."""
        return Turns(self.operator, (self.bursts[number - 1],))


def measure_side_by_side(
    operators: list[Operator], jobs: int, rounds: int, report: Report
) -> tuple[Turns, ...]:
    """Run this number of rounds; in each, every operator starts this number of jobs at once.

    Every second round is in reverse order, so that leftovers of a burst affect each operator.
    """
    report("=== side by side")
    taken: list[list[Burst]] = [[] for _ in operators]
    with Site(operators[0].adapter, report) as site:
        for place, operator in enumerate(operators):
            site.turn_to(operator.adapter)
            measure_burst(site, operator, WARM_UP_JOBS, f"warm-up-{place}")
            site.clean()
        for number in range(1, rounds + 1):
            order = list(enumerate(operators))
            for place, operator in order if number % 2 else reversed(order):
                site.turn_to(operator.adapter)
                name = f"turn-{number}-{place}"
                burst = measure_burst(site, operator, jobs, name)
                report(f"round {number}: {operator.name}: {burst.jobs_per_second:.1f} jobs/s")
                taken[place].append(burst)
                site.clean()
    return tuple(Turns(o.name, tuple(bursts)) for o, bursts in zip(operators, taken, strict=True))
