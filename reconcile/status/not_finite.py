"""Notices that a training's loss is no longer a finite number: what it trains then is of no use.

With the default of `stallPolicy.notFinite` the job only gets the condition LossNotFinite. With Fail
the job ends: a new attempt would resume from a checkpoint that leads there again, or that has such
values in it. As for stalls, the condition is written first, unless the workers have ended, and an
operator process acts only on what it has read itself.
"""

from datetime import timedelta

from api.constants import TERMINAL_PHASES, Condition, Reason, Role
from api.job import pod_name
from api.objects import parse_time
from api.status import JobStatus
from api.training import NotFiniteAction
from reconcile.attempt.restart import answer_incident
from reconcile.failure.incident import Incident
from reconcile.model.move import Move, build_record, set_condition
from reconcile.model.view import View

HOLD = timedelta(minutes=5)
"""The condition stays false for this long: with many bad batches it would turn with every read."""


def answer_not_finite(view: View) -> Move | None:
    """Fail the job if its loss has not been finite for long, and its policy says Fail."""
    known = view.job.status.true_condition(Condition.LOSS_NOT_FINITE)
    policy, reading = view.job.spec.stall_policy, view.training
    if policy is None or policy.not_finite is not NotFiniteAction.FAIL:
        return None
    if reading is None or reading.progress.losses is None or not reading.progress.losses.is_fatal:
        return None
    if known is None and not reading.is_final:
        return None
    why = known.message if known else str(reading.progress.losses)
    pod = pod_name(view.job.name, Role.WORKER, 0)
    node = view.pods[pod].node if pod in view.pods else ""
    record = build_record(view, Reason.LOSS_NOT_FINITE, why, pod, node)
    end = Incident(Reason.LOSS_NOT_FINITE, why, False, is_fatal=True, record=record)
    return answer_incident(view, end)


def note_not_finite(view: View, status: JobStatus) -> JobStatus:
    """The status with the condition LossNotFinite updated; unchanged if no log was read.

    It ends with its attempt (`with_attempt`), but stays when the job ends. While it is true, its
    message stays: the line of the first such loss leaves the log, and a new leader has not seen it.
    """
    kind = Condition.LOSS_NOT_FINITE
    run = view.training.progress.losses if view.training else None
    if view.job.raw_status.get("phase") in TERMINAL_PHASES:
        return status
    if run is None or status.is_true(kind) == (run.length > 0):
        return status
    if not run.length:
        return set_condition(status, kind, False, Reason.LOSS_FINITE, "", view.now)
    known = status.condition(kind)
    is_fresh = known is not None and known.reason == Reason.LOSS_FINITE
    since = parse_time(known.last_transition_time) if known and is_fresh else None
    if not run.is_lasting or (since and view.now - since < HOLD):
        return status
    return set_condition(status, kind, True, Reason.LOSS_NOT_FINITE, str(run), view.now)
