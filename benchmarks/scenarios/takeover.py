"""Take-over: of two operators the one that leads ends, by SIGTERM and by a kill."""

import signal
from dataclasses import dataclass

from benchmarks.jobwatch import TOUCHED
from benchmarks.load import create_jobs
from benchmarks.operators import Operator, RunningOperator
from benchmarks.scenarios.common import working_operator
from benchmarks.site import Site
from localcluster import clock

TIMEOUT_SECONDS = 90.0
IDLE_WINDOW_SECONDS = 0.5
IDLE_SHARE = 0.1


@dataclass(frozen=True)
class TakeOver:
    """Seconds from the signal until the successor has acted on a job created after it."""

    terminated_seconds: float
    killed_seconds: float | None


def measure_takeover(site: Site, operator: Operator, with_kill: bool) -> TakeOver | None:
    """None for an operator that is not known to elect a leader."""
    if not operator.elects:
        return None
    terminated = _measure(site, operator, signal.SIGTERM)
    return TakeOver(terminated, _measure(site, operator, signal.SIGKILL) if with_kill else None)


def _measure(site: Site, operator: Operator, number: signal.Signals) -> float:
    site.report(f"take-over: the leader gets {number.name}")
    name = f"after-{number.name.lower()}"
    with working_operator(site, operator, f"before-{number.name.lower()}") as leader:
        successor = RunningOperator(
            operator, site.kubeconfig_for(operator.account), site.logs / f"{name}.log"
        )
        with successor:
            _wait_until_idle(successor)
            signalled = clock.monotonic()
            leader.signal(number)
            if not clock.wait_until(lambda: not leader.process.is_running, TIMEOUT_SECONDS):
                raise TimeoutError(f"the leader survives {number.name}")
            create_jobs(site.rest, site.adapter, [site.adapter.build_job(name, 1, 1)])
            acted = site.watch.wait([name], TOUCHED, TIMEOUT_SECONDS, site.report)[0]
    return acted - signalled


def _wait_until_idle(running: RunningOperator) -> None:
    """Its caches are full when it has stopped working; nothing outside tells more."""

    def is_idle() -> bool:
        before = running.cpu_seconds()
        clock.sleep(IDLE_WINDOW_SECONDS)
        after = running.cpu_seconds()
        return before > 0.2 and after - before < IDLE_SHARE * IDLE_WINDOW_SECONDS

    if not clock.wait_until(is_idle, TIMEOUT_SECONDS):
        raise TimeoutError("the successor does not come to rest")
