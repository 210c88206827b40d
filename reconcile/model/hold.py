"""A policy's answer when the job stays in its state: what it waits for, and why, in one sentence.

The sentence is for people: it gives the cause, and then what to do or what comes next. It contains
no elapsed time, because every pass would then change the status. No code reads the sentence back:
later passes use `JobStatus.waiting`.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import IntEnum

from api.constants import Condition, Reason
from api.objects import format_time, parse_time
from api.status import JobStatus, Waiting
from reconcile.model.plan import Refusal

MAX_CAUSE_CHARACTERS = 360
MAX_NEXT_CHARACTERS = 240
"""Enough for a command with a name of 63 characters and a UID: a command must not be cut."""
_LAST_PARENTHESES = re.compile(r"\A(.*\S) ?\([^()]*\)", re.DOTALL)
CONFIG_FLAG = "--config-error-after"
IMAGE_FLAG = "--image-error-after"
GIVE_BACK_FLAG = "--give-back-after"


class Stop(IntEnum):
    """The actions that a hold stops; each value includes those before it."""

    NOTHING = 0
    PODS = 1
    """No pod is made. If all pods exist, their ConfigMap is still made."""
    CREATES = 2
    """Nothing is created."""
    CHANGES = 3
    """Nothing is created, changed or deleted."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Why the job waits, and what follows from it.

    A hold without a `reason` only stops something or asks for another pass. `seconds` is the time
    until the next pass, None if an event wakes the job. `child` is the object that blocks, `state`
    the kubelet's name for its state, `more` text such as ` (and 2 more)`. `grace` is the flag that
    sets the running grace period: at its end, the job fails, or deletes its pods and tries again
    later. `warns`: also emit an Event. `keeps`: leave the stored condition as it is. `note` is a
    status to write instead of everything else. `assumed` is a refusal that another job has met.
    """

    reason: Reason | None = None
    cause: str = ""
    next_step: str = ""
    seconds: float | None = None
    stops: Stop = Stop.NOTHING
    child: str = ""
    state: str = ""
    more: str = ""
    grace: str = ""
    warns: bool = False
    keeps: bool = False
    note: JobStatus | None = None
    assumed: Refusal | None = None

    @property
    def message(self) -> str:
        """The whole sentence, with cause and next step cut to their limits."""
        cause, next_step = shorten(self.cause), self.next_step[:MAX_NEXT_CHARACTERS]
        return f"{cause}{self.more}; next: {next_step}"

    def waiting(self, status: JobStatus, now: datetime) -> Waiting:
        """The part of the hold that status stores. A grace period that runs keeps its start."""
        since = grace_since(status, self.reason, self.grace) if self.grace else None
        return Waiting(
            cause=shorten(self.cause),
            next_step=self.next_step[:MAX_NEXT_CHARACTERS],
            child=self.child,
            state=self.state,
            grace=self.grace,
            since=format_time(since or now) if self.grace else "",
        )


def grace_since(status: JobStatus, reason: Reason | None, flag: str) -> datetime | None:
    """When this grace began, according to the stored status; None if it has not begun."""
    pending = status.true_condition(Condition.PENDING)
    if pending is None or pending.reason != reason:
        return None
    if not status.waiting.cause:  # an older release noted the start only in the condition
        return parse_time(pending.last_transition_time)
    return parse_time(status.waiting.since) if status.waiting.grace == flag else None


def earliest(*times: float | None) -> float | None:
    """The smallest of these numbers of seconds that is above 0; None if there is none."""
    return min((each for each in times if each is not None and each > 0), default=None)


def shorten(cause: str) -> str:
    """The cause, cut to its limit. Texts in parentheses go first, the last one before others.

    Pod Security, for example, lists its reasons, each with its explanation in parentheses.
    """
    while len(cause) > MAX_CAUSE_CHARACTERS:
        shorter = _LAST_PARENTHESES.sub(r"\1", cause, count=1)
        if shorter == cause:
            return cause[:MAX_CAUSE_CHARACTERS]
        cause = shorter
    return cause


def and_more(number: int) -> str:
    """` (and 2 more)`, or nothing."""
    return f" (and {number} more)" if number else ""


def count(number: int, noun: str) -> str:
    """`1 pod`, `2 pods`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def clock_time(moment: datetime) -> str:
    """The time of day in UTC, as messages show it: `14:05:09Z`."""
    return f"{moment.astimezone(UTC):%H:%M:%SZ}"
