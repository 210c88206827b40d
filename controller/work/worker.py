"""The loop of a worker thread: take a key, look, decide, write, and say when to look again.

Many run at once; the queue gives no two of them the same key. Every error of a job ends here: it
is logged once, and only that job's key waits.
"""

import random
import threading
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime

from api.objects import uid_of
from api.ownership import Key
from controller.cache.store import Family, Store
from controller.client.resources import PADDLE_JOB
from controller.logs import Log
from controller.work.applier import Applier, Result
from controller.work.large import LARGE_BYTES, LARGE_WAIT_SECONDS, LargePasses
from controller.work.memory import AWAIT_SECONDS, JobMemory
from controller.work.observer import Observer, is_on_host
from controller.workqueue.queue import WorkQueue
from kube.clock import Clock
from kube.errors import ApiError, FormerJob, Throttled, Unreachable, YoungKind
from metrics import Metrics
from reconcile.model.plan import Observed, Plan, Settings

Decide = Callable[[Observed, datetime, Settings], Plan]

PERSISTENT_SECONDS = 5.0
"""A create that has failed for so long, or takes so long to fail, is told in the conditions."""
LEAST_WAIT_SECONDS = 1.0
"""After a pass that failed, a deadline brings the next one no sooner than this."""
BATCH_SECONDS = 0.1
"""A job rests at least so long after its pass: events come in bursts while pods come up, and the
next pass sees them all. One that moves, creates on or has failed does not wait.
docs/performance.md says why.
"""
REST_FACTOR = 10.0
"""A job rests so many times as long as looking at it took: it takes a tenth of one thread."""
CONFLICT_SECONDS = 1.0
"""The change that made a plan out of date wakes the job; it is looked at after this anyway."""


@dataclass(frozen=True, slots=True)
class Worker:
    """The loop that all worker threads run: it keeps nothing of its own between passes."""

    queue: WorkQueue
    store: Store
    memory: JobMemory
    observer: Observer
    applier: Applier
    clock: Clock
    metrics: Metrics
    log: Log
    settings: Settings
    decide: Decide
    ports: threading.Lock = field(default_factory=threading.Lock)
    """Held while port ranges are given: no two jobs at once may be given the same."""
    large: LargePasses = field(default_factory=LargePasses)

    def run(self) -> None:
        """Work until the queue is shut down."""
        while (key := self.queue.get()) is not None:
            self.work(key)

    def work(self, key: Key) -> None:
        """One pass over one job, whatever happens in it."""
        # Asked before the snapshot: the store only goes forward, so a snapshot has the writes too.
        if self.memory.awaits_writes(key):
            # The events still to come wake the job; the delay is for those that never come.
            self.queue.add_after(key, AWAIT_SECONDS)
            self.queue.done(key)
            return
        is_large = self.store.size(PADDLE_JOB, key) > LARGE_BYTES
        if is_large and not self.large.enter(key.namespace):
            self.queue.add_after(key, LARGE_WAIT_SECONDS)
            self.queue.done(key)
            return
        log = self.log.bind(
            job=f"{key.namespace}/{key.name}", pass_id=f"{random.getrandbits(32):08x}"
        )
        started = self.clock.monotonic()
        self.metrics.reconcile.started()
        outcome: str = "error"
        rest_seconds: float | None = None  # of a pass that raises, by what it took until then
        try:
            outcome, rest_seconds = self._pass(key, log)
        except ApiError as error:
            log.warning("read_failed", error=error.message, reason=error.reason)
            self.queue.retry(key, is_away=isinstance(error, Unreachable))
        except Exception:
            self.metrics.reconcile.panicked()
            log.exception("reconcile_raised")
            self.queue.retry(key)
        finally:
            took_seconds = self.clock.monotonic() - started
            self.metrics.reconcile.finished(outcome, took_seconds)
            if rest_seconds is None:
                rest_seconds = took_seconds * REST_FACTOR
            if is_large:
                self.large.leave(key.namespace)
            self.queue.done(key, rest_seconds)

    def _pass(self, key: Key, log: Log) -> tuple[str, float]:
        """One pass; what it counts as, and for how many seconds the job then rests."""
        started = self.clock.monotonic()
        family = self.store.family(key)
        if family is None:
            return self._forget(key), 0.0
        uid, is_backlogged = uid_of(family.job), self.queue.is_backlogged(key.namespace)
        plan = self._decide(key, family, is_backlogged)
        if self.memory.join_hang(key, uid, plan.creates):
            plan = self._decide(key, family, is_backlogged)
        self.memory.drop_refusals(key, plan.moot)
        looked_seconds = self.clock.monotonic() - started
        paused_seconds = self.memory.pause_seconds(key, uid) if plan.creates else 0.0
        if paused_seconds:
            plan = replace(plan, creates=(), requeue_after=_earlier(plan, paused_seconds))
        self._keep_time(key, plan)
        began = self.clock.monotonic()
        result = self.applier.apply(family, plan, is_backlogged=is_backlogged)
        if result.created or result.deleted:
            self.memory.drop_refusals(key, frozenset(result.created | result.deleted))
        elif self.clock.monotonic() - began >= PERSISTENT_SECONDS:
            self._note_hang(key.namespace, result)
        outcome = self._settle(key, uid, plan, result, log)
        if plan.is_move and not result.errors:
            return outcome, 0.0
        # What failed has its back-off, too; events cut that short, and not this.
        least_seconds = 0.0 if result.is_partial or result.errors else BATCH_SECONDS
        return outcome, max(least_seconds, looked_seconds * REST_FACTOR)

    def _decide(self, key: Key, family: Family, is_backlogged: bool) -> Plan:
        with self.ports if is_on_host(family.job) else nullcontext():
            observed = self.observer.observe(family, is_backlogged=is_backlogged)
            plan = self.decide(observed, self.clock.now(), self.settings)
            self.memory.note_host_ports(key, plan.given_host_ports)
        return plan

    def _note_hang(self, namespace: str, result: Result) -> None:
        """A pass that did nothing took long: if a create failed, the API server had it so long."""
        known = (Throttled, Unreachable, FormerJob)
        is_known = any(isinstance(error, known) for error in result.errors)
        if result.failed and not (is_known or result.failed.is_delete):
            self.memory.note_hang(namespace, result.failed)

    def _settle(self, key: Key, uid: str, plan: Plan, result: Result, log: Log) -> str:
        """The one table of outcomes: when the key comes back, and what the pass counts as."""
        if result.refusals:
            self._settle_refusals(key, uid, result, log)
        if result.errors:
            self._settle_errors(key, uid, result, log)
        if result.refusals or result.errors:
            return "error"
        if result.is_outdated:
            self.queue.add_after(key, CONFLICT_SECONDS)
            return "requeue"
        self.queue.forget(key)
        if result.is_partial or plan.is_move:
            self.queue.add(key)
            return "requeue"
        if plan.requeue_after is not None:
            self.queue.add_after(key, plan.requeue_after)
            return "requeue_after"
        return "success"

    def _keep_time(self, key: Key, plan: Plan) -> None:
        """A deadline comes whatever becomes of the writes and however long they take.

        Not at once, though: what failed would be tried again without any wait.
        """
        if plan.requeue_after is not None:
            self.queue.add_after(key, max(plan.requeue_after, LEAST_WAIT_SECONDS))

    def _settle_refusals(self, key: Key, uid: str, result: Result, log: Log) -> None:
        self.metrics.reconcile.refused()
        # Deletes do not pause, and a webhook may word each refusal anew.
        is_pausing = self.memory.pause_seconds(key, uid) > 0
        if self.memory.add_refusals(key, uid, tuple(result.refusals)) and not is_pausing:
            first = result.refusals[0]
            event = "delete_refused" if first.is_delete else "create_refused"
            log.warning(event, kind=first.kind, name=first.name, error=first.message)
            self.queue.add(key)  # so that the job says so at once
        else:
            self.queue.add_after(key, self.memory.pause_seconds(key, uid))

    def _settle_errors(self, key: Key, uid: str, result: Result, log: Log) -> None:
        error = result.errors[0]
        log.warning("write_failed", error=str(error), reason=error.reason)
        asked = error.retry_after if isinstance(error, Throttled) else None
        persistent = self.queue.failing_seconds(key) >= PERSISTENT_SECONDS
        persistent |= isinstance(error, YoungKind)  # it lasts for half a minute
        # Not while the store has yet to show what this pass wrote: nothing is decided on less.
        if persistent and result.failed is not None and not self.memory.awaits_writes(key):
            # Without an answer it may be the connection alone that was dead.
            pauses = asked is None and error.code > 0
            if self.memory.add_refusals(key, uid, (result.failed,), pauses=pauses):
                self._tell(key)
        self.queue.retry(key, asked, is_away=isinstance(error, Unreachable))

    def _tell(self, key: Key) -> None:
        """Write the status that follows from a failure now: the job's next turn may be far away."""
        if (family := self.store.family(key)) is not None:
            plan = self._decide(key, family, is_backlogged=False)
            told = replace(plan, deletes=(), patches=(), creates=(), delete_job=False)
            self.applier.apply(family, told)

    def _forget(self, key: Key) -> str:
        self.queue.forget(key)
        self.memory.forget(key)
        if self.store.has(PADDLE_JOB, key):  # made again meanwhile, and perhaps forgotten
            self.queue.add(key)
        return "success"


def _earlier(plan: Plan, seconds: float) -> float:
    return seconds if plan.requeue_after is None else min(seconds, plan.requeue_after)
