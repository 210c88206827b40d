"""Detects trainings that stall: all pods run and occupy their nodes, but the log has nothing new.

`spec.stallPolicy` has the limits. The condition TrainingStalled is written first. With the action
Restart, the pass after that ends the attempt. A process judges a job only by a log that it has read
itself, so a new leader judges nobody before its first read.
"""

from datetime import datetime, timedelta

from api.constants import TERMINAL_PHASES, Condition, Reason, Role
from api.objects import format_time
from api.status import Failure, JobStatus
from api.training import StallAction
from reconcile.attempt.restart import answer_incident
from reconcile.failure.incident import Incident
from reconcile.failure.loss import note_stop
from reconcile.model.hold import clock_time
from reconcile.model.move import Move, build_record, end_conditions, set_condition
from reconcile.model.plan import Outcome
from reconcile.model.stall import find_stall, first_silent, forms_again
from reconcile.model.training import Reading
from reconcile.model.view import View

MAX_LINE_CHARACTERS = 200
MAX_RECORD_CHARACTERS = 1024
"""The longest message of a failure record, as for programs that ended."""


def answer_stall(view: View) -> Move | None:
    """Begin the next attempt, charged, if the job has stalled and its policy says so."""
    policy = view.job.spec.stall_policy
    known = view.job.status.true_condition(Condition.TRAINING_STALLED)
    if known is None or policy is None or policy.action is not StallAction.RESTART:
        return None
    if not _can_stall(view, view.job.status) or _find(view) is None:
        return None
    record = _record(view, known.message)
    return answer_incident(
        view, Incident(Reason.TRAINING_STALLED, known.message, True, record=record)
    )


def note_stall(view: View, status: JobStatus) -> JobStatus:
    """The status with the condition TrainingStalled updated; unchanged if nothing is known.

    A stalled job does not train, so its lost time counts from the last step.
    """
    if not _can_stall(view, status):
        return end_conditions(status, view.now, Condition.TRAINING_STALLED)
    reading = _reading(view)
    if reading is None:
        return status
    reason = _find(view)
    if reason is None:
        if not status.is_true(Condition.TRAINING_STALLED):
            return status
        again = Reason.TRAINS_AGAIN
        return set_condition(status, Condition.TRAINING_STALLED, False, again, "", view.now)
    message = _describe(view, reading, reason)
    status = set_condition(status, Condition.TRAINING_STALLED, True, reason, message, view.now)
    if status.lost_since:
        return status
    since = view.now - timedelta(seconds=_stood_seconds(reading, reason))
    return note_stop(status, format_time(since), Reason.TRAINING_STALLED)


def count_stall(view: View, status: JobStatus) -> tuple[Outcome, ...]:
    """The outcome for metrics, with seconds without progress, when a stall is first reported."""
    reading, reason = _reading(view), _find(view)
    known, stalled = view.job.status, status.is_true(Condition.TRAINING_STALLED)
    if not stalled or known.is_true(Condition.TRAINING_STALLED) or not reading or not reason:
        return ()
    seconds = _stood_seconds(reading, reason)
    return (Outcome("stalled", view.job.spec.mode, str(reason), seconds),)


def _stood_seconds(reading: Reading, reason: Reason) -> float:
    """Seconds since the last step, or since the last output if the log shows no steps."""
    has_steps = reading.progress.step is not None or reason is Reason.NO_NEW_STEP
    return max(reading.stepless_seconds if has_steps else 0.0, reading.silent_seconds)


def _can_stall(view: View, status: JobStatus) -> bool:
    """Whether the job can be judged: all its pods run, and no worker has ended."""
    return (
        view.job.spec.stall_policy is not None
        and view.all_run
        and not view.completed.get(Role.WORKER)
        and not view.job.is_deleting
        and not view.job.spec.suspend
        and status.phase not in TERMINAL_PHASES
    )


def _reading(view: View) -> Reading | None:
    """The progress that this process has read in the attempt."""
    reading = view.observed.training
    return reading if reading is not None and reading.attempt == view.attempt else None


def _has_stepped(view: View) -> bool:
    """Whether the status has a step of this attempt; its line may no longer be in the log."""
    progress = view.job.status.progress
    return progress.attempt == view.attempt and progress.step is not None


def _find(view: View) -> Reason | None:
    policy, reading = view.job.spec.stall_policy, _reading(view)
    if policy is None or reading is None:
        return None
    return find_stall(policy, reading, view.now, _has_stepped(view))


def _describe(view: View, reading: Reading, reason: Reason) -> str:
    """A sentence without elapsed time, so that it does not change from pass to pass."""
    policy, progress = view.job.spec.stall_policy, reading.progress
    if reason is Reason.NO_OUTPUT:
        told = f"no output{_since(progress.last_output_time)}"
        if first := _first_of(view, reading):
            worker, (own, last) = _short(view, first[0]), map(clock_time, first[1:])
            told += f"; {worker} fell silent first, at {own}; the others wrote until {last}"
        return told
    if progress.step is None:
        told = "no step in the log"
    else:
        told = f"no new step{_since(progress.last_step_time)}, after step {progress.step:,}"
    if policy and forms_again(policy, progress):
        told += "; the launchers form their group again and again"
    return told


def _since(moment: datetime | None) -> str:
    return f" since {clock_time(moment)}" if moment else ""


def _first_of(view: View, reading: Reading) -> tuple[str, datetime, datetime] | None:
    """The first worker to fall silent, among those that wrote at most `afterSeconds` before worker
    0 stopped.
    """
    policy, times = view.job.spec.stall_policy, [(name, time) for name, time, _ in reading.tails]
    fell_silent = times[0][1] if times else None
    if policy is None or fell_silent is None:
        return None
    return first_silent(times, fell_silent - timedelta(seconds=policy.after_seconds))


def _short(view: View, pod: str) -> str:
    role, index = view.wanted.get(pod, (Role.WORKER, 0))
    return f"{role}-{index}"


def _record(view: View, message: str) -> Failure:
    """The failure record: who fell silent first, and the last line of each worker."""
    reading = _reading(view)
    tails = reading.tails if reading else ()
    first = _first_of(view, reading) if reading else None
    name = first[0] if first else ""
    pod = view.pods.get(name)
    lines = [message]
    for worker, time, line in sorted(tails, key=lambda each: each[1] or view.now):
        last = line.rstrip().rpartition("\r")[2]  # a progress bar overwrites itself
        shown = "".join(c if c.isprintable() else " " for c in last[-MAX_LINE_CHARACTERS:])
        when = clock_time(time) if time else "never"
        lines.append(f"{_short(view, worker)}, {when}: {shown}")
    while len(lines) > 1 and len("\n".join(lines)) > MAX_RECORD_CHARACTERS:
        lines.pop()
    text = "\n".join(lines)[:MAX_RECORD_CHARACTERS]
    return build_record(view, Reason.TRAINING_STALLED, text, name, pod.node if pod else "")
