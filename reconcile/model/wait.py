"""What a job waits for, in one sentence: the cause, and after it what to do or what comes next.

A sentence holds no elapsed time: it would change, and be written, with every pass.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from api.constants import Condition, Reason
from api.status import JobStatus

NEXT = "; next: "
"""Between the two halves of a sentence."""
MAX_CAUSE_CHARACTERS = 360
MAX_NEXT_CHARACTERS = 120
CONFIG_FLAG = "--config-error-after"
IMAGE_FLAG = "--image-error-after"


@dataclass(frozen=True, slots=True)
class Wait:
    """What a job waits for. `seconds` is when to look again, None where an event tells."""

    reason: Reason
    cause: str
    next_step: str
    seconds: float | None = None

    @property
    def message(self) -> str:
        """The whole sentence."""
        return f"{self.cause}{NEXT}{self.next_step[:MAX_NEXT_CHARACTERS]}"


def cause_of(message: str) -> str:
    """The first half of a sentence."""
    cause, _, next_step = message.rpartition(NEXT)
    return cause or next_step


def written_cause(status: JobStatus, *reasons: Reason) -> str:
    """What the job waits for by the stored status, if it is for one of these reasons."""
    pending = status.condition(Condition.PENDING)
    is_told = pending is not None and pending.status and pending.reason in reasons
    return cause_of(pending.message) if pending and is_told else ""


def grace_flag(message: str) -> str:
    """The flag whose grace the job has left by this sentence; empty where it ends no job."""
    return next((flag for flag in (CONFIG_FLAG, IMAGE_FLAG) if message.endswith(f"({flag})")), "")


def is_told(status: JobStatus, reason: Reason, flag: str) -> bool:
    """Whether the stored status says that the job waits for this, and ends after this grace."""
    pending = status.condition(Condition.PENDING)
    is_told = pending is not None and pending.status and pending.reason == reason
    return pending is not None and is_told and grace_flag(pending.message) == flag


def count(number: int, noun: str) -> str:
    """`1 pod`, `2 pods`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def clock_time(moment: datetime) -> str:
    """A time of day, as sentences show it."""
    return f"{moment.astimezone(UTC):%H:%M:%SZ}"
