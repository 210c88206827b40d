"""The loop of a worker thread: take a key, observe, decide, write, and give the key back.

Many workers run at once; the queue never gives two of them the same key. Every error of a pass is
handled here: it is logged once, and delays only that job.
"""

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime

from api.constants import Condition
from api.objects import Raw, condition_of, uid_of
from api.ownership import Key, Owner
from controller.cache.store import Family, Store
from controller.client.resources import PADDLE_JOB
from controller.logs import Log
from controller.work.applier import Applier
from controller.work.memory import AWAIT_SECONDS, JobMemory
from controller.work.observer import Observer
from controller.work.ports import PortRanges
from controller.work.result import Result
from controller.workqueue.queue import Filing, WorkQueue
from kube.clock import Clock
from kube.errors import ApiError, Unreachable
from metrics import Metrics
from reconcile.model.plan import Observed, Plan, Settings, Wait

Decide = Callable[[Observed, datetime, Settings], Plan]

LEAST_WAIT_SECONDS = 1.0
"""After a failed pass, even a deadline of the job causes no new pass before this time."""
BATCH_SECONDS = 0.1
"""The minimum rest after a pass, because events come in bursts while pods start, and the next pass
sees them all. It does not apply if the job moves to another state, has more to create or failed.
docs/performance.md says why.
"""
REST_FACTOR = 10.0
"""A job rests ten times as long as reading and deciding took, to use a tenth of a thread."""
CONFLICT_SECONDS = 1.0
"""The change that made a plan outdated wakes the job; it gets a pass after this time anyway."""
LARGE_BYTES = 128 << 10
"""A job is large if it takes more bytes in the store; a usual job takes a few thousand."""
LARGE_WAIT_SECONDS = 1.0
"""How long a large job is deferred while another large job of its namespace has a pass."""


class LargePasses:
    """The large jobs in a pass now: one per namespace, so that passes do not exhaust memory.

    A spec of a megabyte can contain half a million objects, which take thirty times as much memory
    while a pass reads them. Thread-safe.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        """Guards the table."""
        self._jobs: dict[str, Key] = {}
        """The large job in a pass, by namespace."""

    def enter(self, job: Key, size: int) -> bool:
        """Begin a pass; False if it has to wait for another large job. Call `leave` at its end."""
        if size <= LARGE_BYTES:
            return True
        with self._lock:
            return self._jobs.setdefault(job.namespace, job) == job

    def leave(self, job: Key) -> None:
        """Note that the pass is over."""
        with self._lock:
            if self._jobs.get(job.namespace) == job:
                del self._jobs[job.namespace]


@dataclass(frozen=True, slots=True)
class Worker:
    """The loop that all worker threads run. It keeps no state of its own between passes."""

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
    ports: PortRanges
    read_end: Callable[[Key], None] = lambda _: None
    """Has the end of a job's log read soon."""
    large: LargePasses = field(default_factory=LargePasses)

    def run(self) -> None:
        """Work until the queue is shut down."""
        while (key := self.queue.get()) is not None:
            self.work(key)

    def work(self, key: Key) -> None:
        """Do one pass over a job, unless it has to wait. Exceptions of the pass are logged."""
        filing = self._hold_back(key)
        if filing is None:
            started = self.clock.monotonic()
            self.metrics.reconcile.started()
            pass_id = f"{random.getrandbits(32):08x}"
            log = self.log.bind(job=f"{key.namespace}/{key.name}", pass_id=pass_id)
            try:
                filing = self._pass(key, log)
            except Exception as error:
                filing = self._note_raised(error, None, log)
            finally:
                self.large.leave(key)
            took_seconds = self.clock.monotonic() - started
            self.metrics.reconcile.finished(filing.outcome, took_seconds)
            if filing.rest_seconds is None:
                filing = replace(filing, rest_seconds=took_seconds * REST_FACTOR)
        self.queue.file(key, filing)

    def _hold_back(self, key: Key) -> Filing | None:
        """When to try again, if the job cannot have a pass now; else None."""
        # Asked before the snapshot is taken: then the snapshot shows the writes too.
        if self.memory.awaits_writes(key):
            # The events still to come wake the job; the delay is for those that never come.
            return Filing(after_seconds=AWAIT_SECONDS)
        job = self.store.entry(PADDLE_JOB, key)
        if job and not self.large.enter(key, len(job.packed)):
            return Filing(after_seconds=LARGE_WAIT_SECONDS)
        return None

    def _pass(self, key: Key, log: Log) -> Filing:
        """Observe, decide and write. The Filing says when the key is to be added again.

        If a new refusal has to be reported, a second plan is made at once, and only its status and
        Events are written. If a later step raises, the key is still added again when the plan says.
        """
        started = self.clock.monotonic()
        family = self.store.family(key)
        if family is None:
            self.memory.forget(key)
            self.ports.forget(key)
            return Filing(rest_seconds=0.0, is_settled=True)
        owner = Owner(key, uid_of(family.job))
        plan = self._decide(key, family)
        decided = self.clock.monotonic()
        try:
            result = self.applier.apply(owner, family, plan)
            result.seconds = self.clock.monotonic() - decided
            lesson = self.memory.learn(key, owner.uid, plan, result)
            if Wait.END_OF_LOG in plan.waits:
                self.read_end(key)
            if lesson.is_reported:
                plan = self._decide(key, family, is_report=True)
                self.applier.report(owner, family, plan, result)
            self._log_writes(result, log)
            _log_waits(family.job, plan, result, log)
            self._log_trouble(result, lesson.is_new, log)
            filing = _file(plan, result, lesson.is_reported)
        except Exception as error:
            return self._note_raised(error, plan.requeue_after, log)
        return replace(filing, rest_seconds=_rest(plan, result, decided - started))

    def _decide(self, key: Key, family: Family, is_report: bool = False) -> Plan:
        """The plan for what is observed. The status that reports refusals is never deferred."""
        now, observed = self.clock.now(), self.observer.observe(key, family)
        if is_report:
            observed = replace(observed, is_backlogged=False)
        return self.ports.decide(observed, lambda seen: self.decide(seen, now, self.settings))

    def _log_writes(self, result: Result, log: Log) -> None:
        for event, children in (("deleted", result.deleted), ("created", result.created)):
            for kind, name in sorted(children):
                log.debug(event, kind=kind, name=name)
        if result.is_status_written:
            log.debug("status_written")

    def _log_trouble(self, result: Result, is_new: bool, log: Log) -> None:
        if result.refusals:
            self.metrics.reconcile.refused()
        if result.refusals and is_new:
            first = result.refusals[0]
            event = "delete_refused" if first.is_delete else "create_refused"
            event = "patch_refused" if first.is_patch else event
            log.warning(event, kind=first.kind, name=first.name, error=first.message)
        if result.errors:
            error = result.errors[0]
            log.warning("write_failed", error=str(error), reason=error.reason)

    def _note_raised(self, error: Exception, after_seconds: float | None, log: Log) -> Filing:
        """Log the exception of a pass; the pass is retried, and its deadline still applies."""
        if isinstance(error, ApiError):
            log.warning("read_failed", error=error.message, reason=error.reason)
        else:
            self.metrics.reconcile.panicked()
            log.exception("reconcile_raised")
        is_away = isinstance(error, Unreachable)
        return Filing("error", _not_at_once(after_seconds), None, is_failed=True, is_away=is_away)


def _log_waits(job: Raw, plan: Plan, result: Result, log: Log) -> None:
    """Write a line when a reason to wait ends, and when one begins."""
    if not result.is_status_written or "conditions" not in (plan.status or {}).get("status", {}):
        return
    before, after = (
        condition_of(each, Condition.PENDING) or {} for each in (job, plan.status or {})
    )
    if before.get("reason") == after.get("reason"):
        return
    if before:
        log.info("wait_ended", reason=before.get("reason"))
    if after:
        log.info("waits", reason=after["reason"], message=after.get("message", ""))


def _not_at_once(seconds: float | None) -> float | None:
    """Seconds until a failed pass's deadline, but at least LEAST_WAIT_SECONDS; None without one."""
    return None if seconds is None else max(seconds, LEAST_WAIT_SECONDS)


def _file(plan: Plan, result: Result, is_reported: bool) -> Filing:
    """When the key is added again after a pass, and how metrics count the pass."""
    again = plan.requeue_after
    after = None if again is None else max(0.0, again - result.seconds)
    error = next(iter(result.errors), None)
    if error is not None:
        return Filing(
            "error",
            _not_at_once(after),
            is_failed=True,
            asked_seconds=error.retry_after,
            is_away=isinstance(error, Unreachable),
        )
    if result.refusals:
        knows_pause = (is_reported or plan.is_paused) and not plan.is_move
        return Filing("error", _not_at_once(after) if knows_pause else 0.0)
    if result.is_outdated:
        return Filing("requeue", CONFLICT_SECONDS)
    if result.is_partial or plan.is_move:
        return Filing("requeue", 0.0, is_settled=True)
    if after is not None:
        return Filing("requeue_after", after, is_settled=True)
    return Filing(is_settled=True)


def _rest(plan: Plan, result: Result, looked_seconds: float) -> float:
    """For how many seconds the job rests after its pass."""
    if plan.is_move and not result.errors:
        return 0.0
    # A failed pass also has a back-off. An event can end a back-off early, but not a rest.
    least_seconds = 0.0 if result.is_partial or result.errors else BATCH_SECONDS
    return max(least_seconds, looked_seconds * REST_FACTOR)
