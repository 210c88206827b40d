"""The whole series of one operator, on a site of its own, and its sizes."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from statistics import fmean, median
from typing import TypeVar

from benchmarks.adapter import PLAIN, Manner
from benchmarks.family import Family, capture
from benchmarks.jobwatch import Report
from benchmarks.operators import Operator
from benchmarks.rest import RestError
from benchmarks.scenarios.burst import Burst, measure_burst
from benchmarks.scenarios.common import working_operator
from benchmarks.scenarios.costs import Cost, measure_costs
from benchmarks.scenarios.crowd import Crowd, Size, measure_crowd
from benchmarks.scenarios.fairness import Fairness, measure_fairness
from benchmarks.scenarios.floor import Floor, measure_floor
from benchmarks.scenarios.profile import Profile, measure_profile
from benchmarks.scenarios.takeover import TakeOver, measure_takeover
from benchmarks.scenarios.wide import Wide, measure_wide
from benchmarks.site import Site
from localcluster.errors import LocalClusterError

FAILURES = (TimeoutError, LocalClusterError, RestError)
"""What a measurement ends with when the operator takes too long, dies, or makes it impossible."""
WARM_UP_JOBS = 50
"""Of a floor that is not counted: right after the writes of `costs` it is a fifth faster."""
Value = TypeVar("Value")


@dataclass(frozen=True)
class BurstSize:
    """So many jobs at once, so many times."""

    jobs: int
    rounds: int = 1


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    bursts: tuple[BurstSize, ...]
    wide_workers: tuple[int, ...]
    small_jobs: int
    small_jobs_beside: int
    crowd: Size
    with_kill: bool
    with_profile: bool
    with_lean_floors: bool
    rounds_side_by_side: int


FULL = Sizes(
    bursts=(BurstSize(100, rounds=5), BurstSize(1000)),
    wide_workers=(1, 2000),
    small_jobs=200,
    small_jobs_beside=2000,
    crowd=Size(finished=10_000, running=1_000, rest_seconds=20),
    with_kill=True,
    with_profile=True,
    with_lean_floors=True,
    rounds_side_by_side=5,
)
QUICK = Sizes(
    bursts=(BurstSize(100),),
    wide_workers=(100,),
    small_jobs=20,
    small_jobs_beside=100,
    crowd=Size(finished=1_000, running=100, rest_seconds=3),
    with_kill=False,
    with_profile=False,
    with_lean_floors=False,
    rounds_side_by_side=1,
)


@dataclass(frozen=True)
class RatedBurst:
    """Bursts of one size, a floor before and after each: the machine's speed drifts.

    `lean_floors` are of a loop that writes in the operator's manner, one after each burst; there
    may be none.
    """

    floors: tuple[Floor, ...]
    bursts: tuple[Burst, ...]
    lean_floors: tuple[Floor, ...] = ()

    @property
    def jobs(self) -> int:
        """Jobs in each burst."""
        return self.bursts[0].jobs

    @property
    def floor_jobs_per_second(self) -> float:
        """The mean of all floors."""
        return fmean(floor.jobs_per_second for floor in self.floors)

    def floor_cpu_ms_per_job(self, process: str) -> float:
        """The mean of all floors; 0 for a process that took no part."""
        return fmean(floor.cpu_ms_per_job.get(process, 0.0) for floor in self.floors)

    def cpu_ms_per_job(self, process: str) -> float:
        """The mean of all bursts."""
        return fmean(burst.cpu_ms_per_job[process] for burst in self.bursts)

    def thread_ms_per_job(self) -> dict[str, float]:
        """The operator's threads; the mean of all bursts."""
        names = {name for burst in self.bursts for name in burst.thread_ms_per_job}
        return {
            name: fmean(burst.thread_ms_per_job.get(name, 0.0) for burst in self.bursts)
            for name in names
        }

    @property
    def floor_running_jobs_per_second(self) -> float:
        """The same loop, until the last of its pods ran; the mean of all floors."""
        return fmean(floor.jobs / floor.running_seconds for floor in self.floors)

    @property
    def jobs_per_second(self) -> float:
        """The mean of all bursts."""
        return fmean(burst.jobs_per_second for burst in self.bursts)

    @property
    def ratio(self) -> float:
        """How much of the floor the operator reaches."""
        return self.jobs_per_second / self.floor_jobs_per_second

    @property
    def lowest_ratio(self) -> float:
        """Of the single bursts, each against the floors before and after it, the lowest."""
        rates = [floor.jobs_per_second for floor in self.floors]
        around = map(fmean, pairwise(rates))
        pairs = zip(self.bursts, around, strict=True)
        return min(burst.jobs_per_second / floor for burst, floor in pairs)

    @property
    def lean_floor_jobs_per_second(self) -> float | None:
        """The mean of the lean floors, None without any."""
        rates = [floor.jobs_per_second for floor in self.lean_floors]
        return fmean(rates) if rates else None

    @property
    def lean_ratio(self) -> float | None:
        """How much of the lean floor the operator reaches, None without one."""
        floor = self.lean_floor_jobs_per_second
        return self.jobs_per_second / floor if floor else None

    def median(self, read: Callable[[Burst], float]) -> float:
        """A figure's median over all bursts."""
        return median(map(read, self.bursts))


@dataclass(frozen=True)
class Series:
    """Everything that was measured of one operator.

    `unfinished` says in words what failed; a value that it would have given is None.
    """

    operator: str
    costs: tuple[Cost, ...]
    bursts: tuple[RatedBurst, ...]
    profile: Profile | None
    wide: tuple[Wide | None, ...]
    fairness: Fairness | None
    takeover: TakeOver | None
    crowd: Crowd | None
    unfinished: tuple[str, ...] = ()


class _Attempts:
    """Scenarios that an operator may fail without the loss of what is measured of it."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self.unfinished: list[str] = []

    def make(self, title: str, measure: Callable[[], Value]) -> Value | None:
        """What it measures, or None when it fails."""
        try:
            return measure()
        except FAILURES as error:
            self.unfinished.append(f"{title}: {error}")
            self._site.report(f"not finished: {title}: {error}")
            return None


def measure_series(operator: Operator, sizes: Sizes, report: Report) -> Series:
    """Start a site and measure one thing after the other; what its adapter prepares is there.

    Raises one of FAILURES in a burst.
    """
    with Site(operator.adapter, report) as site:
        family = _make_sample(site, operator)
        costs = measure_costs(site, family)
        site.clean()
        _measure_floor(site, family, WARM_UP_JOBS, "warm-up")
        bursts = [
            _measure_bursts(site, operator, family, sizes, number)
            for number in range(len(sizes.bursts))
        ]
        profile = _measure_profile(site, operator, bursts[0]) if sizes.with_profile else None
        attempts = _Attempts(site)
        wide = []
        for workers in sizes.wide_workers:
            measure = partial(measure_wide, site, operator, workers, f"wide-{workers}")
            wide.append(attempts.make(f"one job of 1 + {workers}", measure))
            site.clean()
        small = (sizes.small_jobs, sizes.small_jobs_beside)
        fairness = attempts.make("fairness", partial(measure_fairness, site, operator, *small))
        site.clean()
        takeover = partial(measure_takeover, site, operator, sizes.with_kill)
        return Series(
            operator=operator.name,
            costs=costs,
            bursts=tuple(bursts),
            profile=profile,
            wide=tuple(wide),
            fairness=fairness,
            takeover=attempts.make("take-over", takeover),
            crowd=attempts.make("crowd", partial(measure_crowd, site, operator, sizes.crowd)),
            unfinished=tuple(attempts.unfinished),
        )


def _make_sample(site: Site, operator: Operator) -> Family:
    with working_operator(site, operator, "sample"):
        family = capture(site.rest, site.adapter, "probe-sample")
    site.clean()
    return family


def _measure_bursts(
    site: Site, operator: Operator, family: Family, sizes: Sizes, place: int
) -> RatedBurst:
    """The very first burst is followed until the operator has cleaned up: for its requests."""
    size, manner = sizes.bursts[place], operator.adapter.manner
    is_first = place == 0
    with_lean = is_first and sizes.with_lean_floors and manner != PLAIN
    floors, bursts, lean = [_measure_floor(site, family, size.jobs, "0")], [], []
    for number in range(1, size.rounds + 1):
        name, with_cleanup = f"burst-{size.jobs}-{number}", is_first and number == 1
        bursts.append(measure_burst(site, operator, size.jobs, name, with_cleanup))
        site.clean()
        if with_lean:
            lean.append(_measure_floor(site, family, size.jobs, f"lean-{number}", manner))
        floors.append(_measure_floor(site, family, size.jobs, str(number)))
    return RatedBurst(tuple(floors), tuple(bursts), tuple(lean))


def _measure_profile(site: Site, operator: Operator, rated: RatedBurst) -> Profile:
    return measure_profile(site, operator, rated.jobs, rated.jobs / rated.jobs_per_second)


def _measure_floor(
    site: Site, family: Family, jobs: int, label: str, manner: Manner = PLAIN
) -> Floor:
    floor = measure_floor(site, family, jobs, f"floor-{jobs}-{label}", manner)
    site.clean()
    return floor
