"""Detects trainings that stall: all pods run and occupy their nodes, but the log has nothing new.

`spec.stallPolicy` has the limits. The condition TrainingStalled is written first. With the action
Restart, the pass after that ends the attempt. An operator process judges a job only after it has
read the job's log itself, so a new leader does nothing before its first read.
"""

from datetime import datetime, timedelta

from api.constants import TERMINAL_PHASES, Condition, Reason, Role
from api.objects import format_time
from api.status import Failure, JobStatus
from api.training import StallAction, StallPolicy
from reconcile.attempt.restart import answer_incident
from reconcile.failure.ending import MAX_RECORD_CHARACTERS
from reconcile.failure.incident import Incident
from reconcile.failure.loss import note_stop
from reconcile.model.hold import clock_time
from reconcile.model.move import Move, build_record, end_conditions, set_condition
from reconcile.model.plan import Outcome
from reconcile.model.stall import FirstSilent, find_stall, first_silent, forms_again
from reconcile.model.training import Reading
from reconcile.model.view import View

MAX_LINE_CHARACTERS = 200


def answer_stall(view: View) -> Move | None:
    """End the attempt as a failure if the job has stalled and its policy says Restart."""
    known = view.job.status.true_condition(Condition.TRAINING_STALLED)
    policy, reading = _policy(view, view.job.status), view.training
    if known is None or policy is None or policy.action is not StallAction.RESTART:
        return None
    if reading is None or find_stall(policy, reading, view.now) is None:
        return None
    record = _record(view, policy, reading, known.message)
    stall = Incident(Reason.TRAINING_STALLED, known.message, True, record=record)
    return answer_incident(view, stall)


def note_stall(view: View, status: JobStatus) -> JobStatus:
    """The status with the condition TrainingStalled updated; unchanged if no log was read.

    A stalled job does not train, so its lost time counts from the last step.
    """
    policy, reading = _policy(view, status), view.training
    if policy is None:
        return end_conditions(status, view.now, Condition.TRAINING_STALLED)
    if reading is None:
        return status
    reason = find_stall(policy, reading, view.now)
    if reason is None:
        if not status.is_true(Condition.TRAINING_STALLED):
            return status
        again = Reason.TRAINS_AGAIN
        return set_condition(status, Condition.TRAINING_STALLED, False, again, "", view.now)
    message = _describe(view, policy, reading, reason)
    status = set_condition(status, Condition.TRAINING_STALLED, True, reason, message, view.now)
    if status.lost_since:
        return status
    since = view.now - timedelta(seconds=_stood_seconds(reading, reason))
    return note_stop(status, format_time(since), Reason.TRAINING_STALLED)


def count_stall(view: View, status: JobStatus) -> tuple[Outcome, ...]:
    """The outcome for metrics, with seconds without progress, when a stall is first reported."""
    stalled, reading = status.true_condition(Condition.TRAINING_STALLED), view.training
    if not stalled or not reading or view.job.status.is_true(Condition.TRAINING_STALLED):
        return ()
    seconds = _stood_seconds(reading, stalled.reason)
    return (Outcome("stalled", view.job.spec.mode, stalled.reason, seconds),)


def _stood_seconds(reading: Reading, reason: str) -> float:
    """Seconds since the last step, or since the last output if the log shows no steps."""
    has_steps = reading.progress.step is not None or reason == Reason.NO_NEW_STEP
    return max(reading.stepless_seconds if has_steps else 0.0, reading.silent_seconds)


def _policy(view: View, status: JobStatus) -> StallPolicy | None:
    """The job's stall policy, but None unless all its pods run and no worker has succeeded."""
    is_judged = (
        status.phase not in TERMINAL_PHASES
        and not view.job.is_deleting
        and not view.job.spec.suspend
        and view.all_run
        and not view.completed.get(Role.WORKER)
    )
    return view.job.spec.stall_policy if is_judged else None


def _describe(view: View, policy: StallPolicy, reading: Reading, reason: Reason) -> str:
    """A sentence without elapsed time, so that it does not change from pass to pass."""
    progress = reading.progress
    if reason is Reason.NO_OUTPUT:
        told = f"no output{_since(progress.last_output_time)}"
        if first := _first_of(policy, reading):
            worker, (own, last) = _short(view, first[0]), map(clock_time, first[1:])
            told += f"; {worker} fell silent first, at {own}; the others wrote until {last}"
        return told
    if progress.step is None:
        told = "no step in the log"
    else:
        told = f"no new step{_since(progress.last_step_time)}, after step {progress.step:,}"
    if forms_again(policy, progress):
        told += "; the launchers form their group again and again"
    return told


def _since(moment: datetime | None) -> str:
    return f" since {clock_time(moment)}" if moment else ""


def _first_of(policy: StallPolicy, reading: Reading) -> FirstSilent:
    """The first worker to fall silent, except those that did so `afterSeconds` before worker 0."""
    times = [(name, time) for name, time, _ in reading.tails]
    return first_silent(times, timedelta(seconds=policy.after_seconds))


def _short(view: View, pod: str) -> str:
    return pod.removeprefix(f"{view.job.name}-")


def _record(view: View, policy: StallPolicy, reading: Reading, message: str) -> Failure:
    """The failure record: the worker that fell silent first, and each worker's last line."""
    first = _first_of(policy, reading)
    name = first[0] if first else ""
    pod = view.pods.get(name)
    lines = [message]
    for worker, time, line in sorted(reading.tails, key=lambda each: each[1] or view.now):
        last = line.rstrip().rpartition("\r")[2]  # a progress bar overwrites itself
        shown = "".join(c if c.isprintable() else " " for c in last[-MAX_LINE_CHARACTERS:])
        when = clock_time(time) if time else "never"
        lines.append(f"{_short(view, worker)}, {when}: {shown}")
    while len(lines) > 1 and len("\n".join(lines)) > MAX_RECORD_CHARACTERS:
        lines.pop()
    text = "\n".join(lines)[:MAX_RECORD_CHARACTERS]
    return build_record(view, Reason.TRAINING_STALLED, text, name, pod.node if pod else "")
