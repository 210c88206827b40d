"""How far a job's training is, as its log or its status says."""

from dataclasses import dataclass
from datetime import datetime

from api.training import Point
from reconcile.model.stall import FirstSilent
from reconcile.words.progress import Progress

SUSPICIOUS_SECONDS = 600.0
"""After this long without a line, and without an announced pause, the training perhaps hangs."""
_UNKNOWN = Progress()


@dataclass(frozen=True, slots=True)
class Training:
    """The progress in a log. If the log could not be read, `problem` says why.

    `first_silent` is None if no worker fell silent before the others, or if that is unknown.
    """

    read_at: datetime
    progress: Progress = _UNKNOWN
    problem: str = ""
    first_silent: FirstSilent = None
    is_reported: bool = False
    """Whether the progress is from the job's status, which can be minutes old."""
    points: tuple[Point, ...] = ()
    """The curve of the attempt's loss, as far as it is known."""
    has_ended: bool = False
    """Whether the job has ended, so this was its last progress."""

    @property
    def silent_seconds(self) -> float:
        """The age of the last line; negative if the node's clock is ahead of ours."""
        last = self.progress.last_output_time
        return (self.read_at - last).total_seconds() if last else 0.0

    @property
    def is_suspicious(self) -> bool:
        """Whether the log has long been silent, or the launchers form their group again and again.

        False during an announced pause. False also for progress from the status: for that job the
        operator reads the log itself, and sets TrainingStalled.
        """
        quiet, forming = self.progress.quiet_until, self.progress.forming_since is not None
        is_announced = quiet is not None and self.read_at < quiet
        is_long = forming or self.silent_seconds >= SUSPICIOUS_SECONDS
        return is_long and not is_announced and not self.is_reported
