"""What the benchmarks have measured, as if; every figure is within its bounds."""

from dataclasses import replace

from benchmarks.pyspy import LockProfile
from benchmarks.scenarios.burst import Burst
from benchmarks.scenarios.costs import Cost
from benchmarks.scenarios.crowd import Crowd
from benchmarks.scenarios.fairness import Fairness
from benchmarks.scenarios.floor import Floor
from benchmarks.scenarios.profile import Profile
from benchmarks.scenarios.sidebyside import Turns
from benchmarks.scenarios.takeover import TakeOver
from benchmarks.scenarios.wide import Wide
from benchmarks.series import RatedBurst, Series
from benchmarks.site import HARNESS
from localcluster.cluster.components import API_SERVER


def a_series() -> Series:
    """A series in which everything holds."""
    cpu = {API_SERVER: 20.0, HARNESS: 3.0}
    floors = (Floor(100, 2.0, 2.5, cpu), Floor(100, 4.0, 5.0, cpu))
    busy = {API_SERVER: 30.0, HARNESS: 1.0, "operator": 4.0}
    threads = {"worker": 3.0, "watch-pods.v1": 1.5, "elect": 0.01}
    burst = Burst(100, 3.0, 1.0, 2.0, 2.0, 5.0, busy, threads, 60.0, 9.0, {"POST pods": 4.0}, {})
    return Series(
        operator="operator",
        costs=(Cost("POST jobs", 1, 7.0), Cost("POST pods", 4, 2.5)),
        bursts=(RatedBurst(floors, (burst,)),),
        profile=Profile(
            {"JSON": 0.25, "everything else": 0.75}, LockProfile(0.125, {"the queue": 1.0})
        ),
        wide=(Wide(10, 1.0, None, 1000, 1000, 500),),
        fairness=Fairness(20, 200, (2.0, 2.5), 2.5),
        takeover=TakeOver(1.0, None),
        crowd=Crowd(10, 10, 1.0, None, 60.0, 59.8, 0.1, 0),
    )


def some_turns(name: str, *seconds: float) -> Turns:
    """An operator's bursts, one a round, of so many seconds to Running."""
    [burst] = a_series().bursts[0].bursts
    return Turns(name, tuple(replace(burst, to_running_seconds=s) for s in seconds))
