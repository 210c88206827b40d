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
    """What this process has read from the log of a job's first worker in the job's attempt.

    `silent_seconds` is how long the log has had no new line, `stepless_seconds` how long it has had
    no new step; time in which the log could not be read does not count. If the first reading finds
    nothing newer than status, both go on from status's values, else from 0. `tails` has an entry
    for each worker whose log was read because a stall is suspected. `stepped_before`: at the first
    reading, status already had a step of the attempt, whose line the log has perhaps lost.
    """

    progress: Progress
    attempt: int
    silent_seconds: float = 0.0
    stepless_seconds: float = 0.0
    tails: tuple[Tail, ...] = ()
    stepped_before: bool = False
