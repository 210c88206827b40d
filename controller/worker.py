"""A worker thread: takes a key, looks, decides, writes, and says when to look again.

Many run at once; the queue gives no two of them the same key. Every error of a job ends here: it
is logged once, and only that job's key waits.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from api.objects import uid_of
from controller.applier import Applier, Report
from controller.clock import Clock
from controller.errors import NotLeader, Throttled
from controller.expectations import EXPIRY_SECONDS, Expectations
from controller.logs import Log
from controller.observe import Observer
from controller.queue import WorkQueue
from controller.refusals import Refusals
from controller.store import Family, Key, Store
from metrics import Metrics
from reconcile.plan import Observed, Plan, Settings

Decide = Callable[[Observed, datetime, Settings], Plan]

PERSISTENT_FAILURES = 10
"""A create that has failed so often in a row (about 5 s) is told in the job's conditions."""
REST_FACTOR = 10.0
"""Looking at one job over and over takes a tenth of one thread at most."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What the workers share."""

    queue: WorkQueue
    store: Store
    observer: Observer
    expectations: Expectations
    refusals: Refusals
    applier: Applier
    clock: Clock
    metrics: Metrics
    decide: Decide


class Worker:
    """One thread's loop."""

    def __init__(self, machine: Machine, log: Log) -> None:
        self._machine = machine
        self._log = log
        self._looking_seconds = 0.0
        """What the present pass took before it wrote."""

    def run(self) -> None:
        """Work until the queue is shut down."""
        while (key := self._machine.queue.get()) is not None:
            self.work(key)

    def work(self, key: Key) -> None:
        """One pass over one job, whatever happens in it."""
        machine = self._machine
        if self._is_held(key):
            machine.queue.done(key)
            return
        log = self._log.bind(job=f"{key.namespace}/{key.name}", pass_id=_new_id())
        started = machine.clock.monotonic()
        machine.metrics.reconcile.started()
        self._looking_seconds = 0.0
        result = "error"
        try:
            result = self._pass(key, log)
        except Exception:
            machine.metrics.reconcile.panicked()
            log.exception("reconcile_raised")
            machine.queue.retry(key)
        finally:
            machine.metrics.reconcile.finished(result, machine.clock.monotonic() - started)
            machine.queue.done(key, self._looking_seconds * REST_FACTOR)

    def _is_held(self, key: Key) -> bool:
        """Whether the store has yet to show what was written for the job; its news then wake it.

        Asked before the snapshot: the store only goes forward, so a snapshot has the writes too.
        """
        machine = self._machine
        if machine.expectations.is_fulfilled(key):
            return False
        machine.queue.hold(key, EXPIRY_SECONDS)
        # Once more, for what came before the hold has woken nobody.
        return not machine.expectations.is_fulfilled(key)

    def _pass(self, key: Key, log: Log) -> str:
        machine = self._machine
        started = machine.clock.monotonic()
        family = machine.store.family(key)
        if family is None:
            return self._forget(key)
        plan = self._decide(family)
        self._looking_seconds = machine.clock.monotonic() - started
        paused_seconds = machine.refusals.pause_seconds(key) if plan.creates else 0.0
        if paused_seconds:
            plan = replace(plan, creates=(), requeue_after=_sooner(plan, paused_seconds))
        report = machine.applier.apply(family, plan)
        if report.is_status_written:
            machine.observer.note_status_written(family.job)
        if report.created:
            machine.refusals.settle(key, report.created)
        return self._settle(key, uid_of(family.job), plan, report, log)

    def _decide(self, family: Family) -> Plan:
        machine = self._machine
        if machine.queue.is_crowded():
            machine.observer.put_off_first_status(family.job)
        observed = machine.observer.observe(family)
        return machine.decide(observed, machine.clock.now(), machine.observer.settings())

    def _settle(self, key: Key, uid: str, plan: Plan, report: Report, log: Log) -> str:
        """The one table of outcomes: when the key comes back, and what the pass counts as."""
        queue = self._machine.queue
        if report.refusals:
            return self._settle_refusals(key, uid, report, log)
        if report.error is not None:
            return self._settle_error(key, uid, report, log)
        if report.is_outdated:
            queue.retry(key)  # its change is on the way here, and wakes it sooner
            return "requeue"
        queue.forget(key)
        if report.is_partial or plan.is_move:
            queue.add_after(key, 0.0)
            return "requeue"
        if plan.requeue_after is not None:
            queue.add_after(key, plan.requeue_after)
            return "requeue_after"
        return "success"

    def _settle_refusals(self, key: Key, uid: str, report: Report, log: Log) -> str:
        machine = self._machine
        machine.metrics.reconcile.refused()
        if machine.refusals.add(key, uid, report.refusals):
            first = report.refusals[0]
            log.warning("create_refused", kind=first.kind, name=first.name, error=first.message)
            machine.queue.add_after(key, 0.0)  # so that the job says so at once
        else:
            machine.queue.add_after(key, machine.refusals.pause_seconds(key))
        return "error"

    def _settle_error(self, key: Key, uid: str, report: Report, log: Log) -> str:
        machine, error = self._machine, report.error
        if isinstance(error, NotLeader):
            return "error"  # the process is about to end
        log.warning("write_failed", error=str(error), reason=error.reason if error else "")
        asked = error.retry_after if isinstance(error, Throttled) else None
        persistent = machine.queue.failures(key) >= PERSISTENT_FAILURES
        if persistent and report.failed is not None:
            machine.refusals.add(key, uid, (report.failed,), pauses=asked is None)
        machine.queue.retry(key, asked)
        return "error"

    def _forget(self, key: Key) -> str:
        machine = self._machine
        machine.queue.forget(key)
        machine.expectations.forget(key)
        machine.refusals.forget(key)
        return "success"


def _sooner(plan: Plan, seconds: float) -> float:
    return seconds if plan.requeue_after is None else min(seconds, plan.requeue_after)


def _new_id() -> str:
    return f"{random.getrandbits(32):08x}"
