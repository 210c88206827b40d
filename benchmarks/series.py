"""The whole series of one operator, on a site of its own, and its sizes."""

from dataclasses import dataclass

from benchmarks.family import Family, capture
from benchmarks.jobwatch import Report
from benchmarks.operators import Operator
from benchmarks.scenarios.burst import Burst, measure_burst
from benchmarks.scenarios.common import working_operator
from benchmarks.scenarios.crowd import Crowd, Size, measure_crowd
from benchmarks.scenarios.fairness import Fairness, measure_fairness
from benchmarks.scenarios.floor import Floor, measure_floor
from benchmarks.scenarios.takeover import TakeOver, measure_takeover
from benchmarks.scenarios.wide import Wide, measure_wide
from benchmarks.site import Site


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    bursts: tuple[int, ...]
    wide_workers: tuple[int, ...]
    small_jobs: int
    small_jobs_beside: int
    crowd: Size
    with_kill: bool


FULL = Sizes(
    bursts=(100, 1000),
    wide_workers=(1, 2000),
    small_jobs=200,
    small_jobs_beside=2000,
    crowd=Size(finished=10_000, running=1_000, rest_seconds=20),
    with_kill=True,
)
QUICK = Sizes(
    bursts=(50,),
    wide_workers=(200,),
    small_jobs=20,
    small_jobs_beside=200,
    crowd=Size(finished=1_000, running=100, rest_seconds=5),
    with_kill=False,
)


@dataclass(frozen=True)
class RatedBurst:
    """A burst between two floors: the machine's speed drifts, so the mean of both counts."""

    floors: tuple[Floor, Floor]
    burst: Burst

    @property
    def floor_jobs_per_second(self) -> float:
        """The mean of the two."""
        return sum(floor.jobs_per_second for floor in self.floors) / len(self.floors)

    @property
    def ratio(self) -> float:
        """How much of the floor the operator reaches."""
        return self.burst.jobs_per_second / self.floor_jobs_per_second


@dataclass(frozen=True)
class Series:
    """Everything that was measured of one operator."""

    operator: str
    bursts: tuple[RatedBurst, ...]
    wide: tuple[Wide, ...]
    fairness: Fairness
    takeover: TakeOver | None
    crowd: Crowd


def measure_series(operator: Operator, sizes: Sizes, report: Report) -> Series:
    """Start a site and measure one thing after the other."""
    with Site(operator.adapter, report) as site:
        family = _make_sample(site, operator)
        bursts = [_measure_burst(site, operator, family, jobs) for jobs in sizes.bursts]
        wide = []
        for workers in sizes.wide_workers:
            wide.append(measure_wide(site, operator, workers, f"wide-{workers}"))
            site.clean()
        fairness = measure_fairness(site, operator, sizes.small_jobs, sizes.small_jobs_beside)
        site.clean()
        return Series(
            operator=operator.name,
            bursts=tuple(bursts),
            wide=tuple(wide),
            fairness=fairness,
            takeover=measure_takeover(site, operator, sizes.with_kill),
            crowd=measure_crowd(site, operator, sizes.crowd),
        )


def _make_sample(site: Site, operator: Operator) -> Family:
    with working_operator(site, operator, "sample"):
        family = capture(site.rest, site.adapter, "probe-sample")
    site.clean()
    return family


def _measure_burst(site: Site, operator: Operator, family: Family, jobs: int) -> RatedBurst:
    before = measure_floor(site, family, jobs, f"before-{jobs}")
    site.clean()
    burst = measure_burst(site, operator, jobs, f"burst-{jobs}")
    site.clean()
    after = measure_floor(site, family, jobs, f"after-{jobs}")
    site.clean()
    return RatedBurst((before, after), burst)
