"""The training in a job's pods, as the operator has read it from their logs."""

from dataclasses import dataclass
from datetime import datetime

from api.constants import Phase
from reconcile.words.progress import Progress

READ_PHASES = frozenset({Phase.RUNNING, Phase.SCALING})
"""The phases in which logs are read."""
Tail = tuple[str, datetime | None, str]
"""A pod's name, the time of its last line, and that line."""


@dataclass(frozen=True)
class Reading:
    """The last lines of a job's first worker, read by this process in the job's attempt.

    `silent_seconds` is how long this process has seen no new line, without the time in which it
    could not read the log; `stepless_seconds` is the same since the step changed, or since the
    first reading if it has not. Both begin at 0, so that a new leader judges nobody too early.
    `tails` has the name, the time of the last line and that line of each worker whose log was
    read because a stall is suspected. `stepped_before` is whether the status already had a step of
    the attempt at the first reading: its line may no longer be in the log.
    """

    progress: Progress
    attempt: int
    silent_seconds: float = 0.0
    stepless_seconds: float = 0.0
    tails: tuple[Tail, ...] = ()
    stepped_before: bool = False
