"""All measurements of one operator, on a control plane that it has for itself, and their sizes."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from statistics import fmean, median
from typing import TypeVar

from benchmarks.adapter import DEFAULT_WRITES, WriteOptions
from benchmarks.family import Family, capture
from benchmarks.load import working_operator
from benchmarks.operators import Operator
from benchmarks.scenarios.burst import Burst, measure_burst
from benchmarks.scenarios.costs import Cost, measure_costs
from benchmarks.scenarios.crowd import Crowd, measure_crowd
from benchmarks.scenarios.fairness import Fairness, measure_fairness
from benchmarks.scenarios.floor import Floor, measure_floor
from benchmarks.scenarios.profile import Profile, measure_profile
from benchmarks.scenarios.takeover import TakeOver, measure_takeover
from benchmarks.scenarios.wide import Wide, measure_wide
from benchmarks.site import Site
from kube.errors import ApiError
from localcluster.machine.errors import LocalClusterError
from localcluster.machine.report import Report

FAILURES = (TimeoutError, LocalClusterError, ApiError)
"""The errors of a measurement whose operator takes too long, dies, or makes it impossible."""
WARM_UP_JOBS = 50
"""The jobs of a first floor that is not counted: right after `measure_costs` a floor is a fifth
faster."""
Value = TypeVar("Value")


@dataclass(frozen=True)
class Sizes:
    """The sizes of the measurements.

    `bursts` maps the number of jobs in a burst to the number of such bursts. `fairness` is the
    number of small jobs, and the number of pods of the wide job. `crowd` is the number of finished
    jobs, the number of running jobs, and the seconds for which an operator with them is observed.
    Only a series that `is_full` has the profile, the floors with the operator's write options, and
    a take-over after SIGKILL.
    """

    bursts: dict[int, int]
    wide_workers: tuple[int, ...]
    fairness: tuple[int, int]
    crowd: tuple[int, int, float]
    rounds_side_by_side: int
    is_full: bool


FULL = Sizes(
    bursts={100: 5, 1000: 1},
    wide_workers=(1, 2000),
    fairness=(200, 2000),
    crowd=(10_000, 1_000, 20),
    rounds_side_by_side=10,
    is_full=True,
)
QUICK = Sizes(
    bursts={100: 1},
    wide_workers=(100,),
    fairness=(20, 100),
    crowd=(1_000, 100, 3),
    rounds_side_by_side=1,
    is_full=False,
)


@dataclass(frozen=True)
class RatedBurst:
    """Bursts of one size, with a floor before and after each, because the machine's speed drifts.

    `matched_floors` has a floor with the operator's write options after each burst, or is empty.
    """

    floors: tuple[Floor, ...]
    bursts: tuple[Burst, ...]
    matched_floors: tuple[Floor, ...] = ()

    @property
    def jobs(self) -> int:
        """Jobs in each burst."""
        return self.bursts[0].jobs

    @property
    def floor_jobs_per_second(self) -> float:
        """The rate until the last write was answered; the mean of all floors."""
        return fmean(floor.jobs_per_second for floor in self.floors)

    def floor_cpu_ms_per_job(self, process: str) -> float:
        """A process's CPU per job, the mean of all floors; 0 for the operator, which is absent."""
        return fmean(floor.cpu_ms_per_job.get(process, 0.0) for floor in self.floors)

    def cpu_ms_per_job(self, process: str) -> float:
        """A process's CPU per job until the last job ran; the mean of all bursts."""
        return fmean(burst.cpu_ms_per_job[process] for burst in self.bursts)

    def thread_ms_per_job(self) -> dict[str, float]:
        """CPU of the operator's threads per job, by thread name; the mean of all bursts."""
        every = [burst.thread_ms_per_job for burst in self.bursts]
        names = {name for threads in every for name in threads}
        return {name: fmean(threads.get(name, 0.0) for threads in every) for name in names}

    @property
    def floor_running_jobs_per_second(self) -> float:
        """The floor's rate until the last of its pods ran; the mean of all floors."""
        return fmean(floor.running_jobs_per_second for floor in self.floors)

    @property
    def jobs_per_second(self) -> float:
        """The operator's rate; the mean of all bursts."""
        return fmean(burst.jobs_per_second for burst in self.bursts)

    @property
    def ratio(self) -> float:
        """The operator's rate, as a share of the floor's."""
        return self.jobs_per_second / self.floor_jobs_per_second

    @property
    def lowest_ratio(self) -> float:
        """The lowest ratio of a single burst to the floors before and after it."""
        around = map(fmean, pairwise(floor.jobs_per_second for floor in self.floors))
        pairs = zip(self.bursts, around, strict=True)
        return min(burst.jobs_per_second / floor for burst, floor in pairs)

    @property
    def matched_floor_jobs_per_second(self) -> float | None:
        """The mean rate of the matched floors; None if there are none."""
        rates = [floor.jobs_per_second for floor in self.matched_floors]
        return fmean(rates) if rates else None

    def median(self, read: Callable[[Burst], float]) -> float:
        """A figure's median over all bursts."""
        return median(map(read, self.bursts))


@dataclass(frozen=True)
class Series:
    """Everything that was measured of one operator.

    The value of a measurement that failed is None, and `unfinished` has a message about it.
    `profile` is also None if the series is not full, `takeover` if the operator elects no leader.
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


def attempt(title: str, measure: Callable[[], Value], tell: Report) -> Value | None:
    """The result of a measurement; None if it ends with one of FAILURES, which is reported."""
    try:
        return measure()
    except FAILURES as error:
        tell(f"{title}: {error}")
        return None


def measure_series(operator: Operator, sizes: Sizes, report: Report) -> Series:
    """Start a site and run the measurements. Call the adapter's `prepare` before.

    If `wide`, `fairness`, `takeover` or `crowd` fails, the series goes on without it. If another
    measurement fails, this raises one of FAILURES.
    """
    report(f"=== {operator.name}")
    with Site(operator.adapter, report) as site:
        with working_operator(site, operator, "sample"):
            family = capture(site.client, site.adapter, "probe-sample")
        site.clean()
        costs = measure_costs(site, family)
        site.clean()
        _measure_floor(site, family, WARM_UP_JOBS, "warm-up")
        bursts = [_measure_bursts(site, operator, family, sizes, jobs) for jobs in sizes.bursts]
        first, profile = bursts[0], None
        if sizes.is_full:
            seconds = first.jobs / first.jobs_per_second
            profile = measure_profile(site, operator, first.jobs, seconds)
        unfinished: list[str] = []

        def note(text: str) -> None:
            unfinished.append(text)
            report(f"not finished: {text}")

        wide = []
        for workers in sizes.wide_workers:
            measure = partial(measure_wide, site, operator, workers, f"wide-{workers}")
            wide.append(attempt(f"one job of 1 + {workers}", measure, note))
            site.clean()
        measure_small = partial(measure_fairness, site, operator, *sizes.fairness)
        fairness = attempt("fairness", measure_small, note)
        site.clean()
        takeover = partial(measure_takeover, site, operator, sizes.is_full)
        crowd = partial(measure_crowd, site, operator, *sizes.crowd)
        return Series(
            operator=operator.name,
            costs=costs,
            bursts=tuple(bursts),
            profile=profile,
            wide=tuple(wide),
            fairness=fairness,
            takeover=attempt("take-over", takeover, note),
            crowd=attempt("crowd", crowd, note),
            unfinished=tuple(unfinished),
        )


def _measure_bursts(
    site: Site, operator: Operator, family: Family, sizes: Sizes, jobs: int
) -> RatedBurst:
    """Run all bursts of one size, and floors. A series' first burst waits for the cleanup, too."""
    writes, is_first = operator.adapter.writes, jobs == next(iter(sizes.bursts))
    with_matched = is_first and sizes.is_full and writes != DEFAULT_WRITES
    floors, bursts, matched = [_measure_floor(site, family, jobs, "0")], [], []
    for number in range(1, sizes.bursts[jobs] + 1):
        name, with_cleanup = f"burst-{jobs}-{number}", is_first and number == 1
        bursts.append(measure_burst(site, operator, jobs, name, with_cleanup))
        site.clean()
        if with_matched:
            matched.append(_measure_floor(site, family, jobs, f"matched-{number}", writes))
        floors.append(_measure_floor(site, family, jobs, str(number)))
    return RatedBurst(tuple(floors), tuple(bursts), tuple(matched))


def _measure_floor(
    site: Site, family: Family, jobs: int, label: str, writes: WriteOptions = DEFAULT_WRITES
) -> Floor:
    floor = measure_floor(site, family, jobs, f"floor-{jobs}-{label}", writes)
    site.clean()
    return floor
