"""Decides from the log, as far as this process has read it, whether a training has stalled."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from api.constants import Reason
from api.training import StallPolicy, StallSign
from reconcile.model.training import Reading
from reconcile.words.progress import Progress

LEAST_LEAD = timedelta(seconds=2.5)
"""Lines closer than this count as simultaneous: PaddlePaddle's launcher copies a log every 2 s."""
FirstSilent = tuple[str, datetime, datetime] | None
"""The first worker to fall silent, when it did, and when the last worker did; None if unclear."""


def find_stall(policy: StallPolicy, reading: Reading, now: datetime) -> Reason | None:
    """NoOutput or NoNewStep if the training has stalled, else None.

    Elastic launchers that form their group again and again never fall silent, so such a job is
    judged by its steps, whatever the policy says.
    """
    progress = reading.progress
    if progress.quiet_until is not None and now < progress.quiet_until:
        return None
    has_stepped = reading.stepped_before or progress.step is not None
    limit = policy.after_seconds if has_stepped else policy.first_step_seconds
    if reading.silent_seconds >= limit:
        return Reason.NO_OUTPUT
    is_judged = policy.of is StallSign.STEP or forms_again(policy, progress)
    return Reason.NO_NEW_STEP if is_judged and reading.stepless_seconds >= limit else None


def forms_again(policy: StallPolicy, progress: Progress) -> bool:
    """Whether elastic launchers formed their group three times within `afterSeconds`, with no step.

    This stays true if the log falls silent after that: the job still does not train.
    """
    since, last = progress.forming_since, progress.last_output_time
    window = timedelta(seconds=policy.after_seconds)
    return since is not None and last is not None and last - since <= window


def first_silent(times: Sequence[tuple[str, datetime | None]], lead: timedelta) -> FirstSilent:
    """The first worker to fall silent; None if no worker fell silent clearly before the others.

    `times` has the times of last lines, that of worker 0 first. Workers that fell silent `lead` or
    more before worker 0 are left out, because they are not the cause.
    """
    since = times[0][1] if times else None
    if since is None:
        return None
    talking = sorted((time, name) for name, time in times if time and since - time < lead)
    if len(talking) < 2 or talking[1][0] - talking[0][0] < LEAST_LEAD:
        return None
    return talking[0][1], talking[0][0], talking[-1][0]
