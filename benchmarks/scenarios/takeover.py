"""Take-over: two operators run, and the leader ends by SIGTERM or SIGKILL."""

import signal
from dataclasses import dataclass
from functools import partial

from benchmarks.jobwatch import TOUCHED
from benchmarks.load import start_jobs, working_operator
from benchmarks.operators import Operator, RunningOperator
from benchmarks.site import Site, rests, wait_for
from localcluster.machine import clock

TIMEOUT_SECONDS = 90.0
STARTED_CPU_SECONDS = 0.2
IDLE_SHARE = 0.1


@dataclass(frozen=True)
class TakeOver:
    """Seconds from the signal until the successor gives a new job its first state."""

    terminated_seconds: float
    killed_seconds: float | None


def measure_takeover(site: Site, operator: Operator, with_kill: bool) -> TakeOver | None:
    """Measure it after SIGTERM and, if `with_kill`, after SIGKILL; None if no leader is elected."""
    if not operator.elects:
        return None
    terminated = _measure(site, operator, signal.SIGTERM)
    return TakeOver(terminated, _measure(site, operator, signal.SIGKILL) if with_kill else None)


def _measure(site: Site, operator: Operator, number: signal.Signals) -> float:
    site.report(f"take-over: the leader gets {number.name}")
    name = f"after-{number.name.lower()}"
    with (
        working_operator(site, operator, f"before-{number.name.lower()}") as leader,
        site.start_operator(operator, name) as successor,
    ):
        # An idle successor has full caches. Nothing else that can be seen from outside shows it.
        wait_for("the successor rests", partial(_is_idle, successor), TIMEOUT_SECONDS)
        signalled = clock.monotonic()
        leader.signal(number)
        what = f"the leader ends by {number.name}"
        wait_for(what, lambda: not leader.is_running, TIMEOUT_SECONDS)
        start_jobs(site, [name], 1, 1)
        acted = site.watch.wait([name], TOUCHED, TIMEOUT_SECONDS, site.report)[0]
    return acted - signalled


def _is_idle(running: RunningOperator) -> bool:
    return running.cpu_seconds() > STARTED_CPU_SECONDS and rests(running.cpu_seconds, IDLE_SHARE)
