"""Finds out whether a training's loss is still a finite number, from the lines that show it.

One loss that is nan or inf says little: a batch can be bad, and in mixed precision the first steps
overflow until the scale of the gradients fits. So only a run of them counts.
"""

import math
from typing import TYPE_CHECKING, NamedTuple

from reconcile.words.metrics import read_loss

if TYPE_CHECKING:
    from reconcile.words.progress import Progress

REPORTED_STEPS = 3
"""A loss that is not finite over this many steps is reported."""
FATAL_STEPS = 20
"""Over this many, it can end the job: a scale of 2**16 is 1 after 16 halvings in a row."""
FATAL_LOSSES = 5
"""And only so many: two lines ten steps apart can both fall into steps that a scale skips."""
LossLine = tuple[int | None, int | None, str]
"""A line that perhaps shows a loss, with the epoch and the step of the log."""


class LossRun(NamedTuple):
    """The last losses in a row that are not finite, and the last of them as text.

    `length` is 0 if the last loss is finite. `since` is the step of the first one, None if the log
    has no steps. `is_exact`: the loss before that one was seen to be finite, or there is none.
    """

    value: str = ""
    length: int = 0
    since: int | None = None
    is_exact: bool = False
    epoch: int | None = None
    step: int | None = None

    @property
    def is_lasting(self) -> bool:
        """Whether the run is long enough to be reported."""
        return self._lasts(REPORTED_STEPS)

    @property
    def is_fatal(self) -> bool:
        """Whether the run is long enough to end the job."""
        return self.length >= FATAL_LOSSES and self._lasts(FATAL_STEPS)

    def _lasts(self, steps: int) -> bool:
        """Whether two losses or more, over this many steps or more, are not finite.

        Without steps, or if they start again in each epoch, the losses are counted.
        """
        span = (self.step or 0) - (self.since or 0) + 1  # negative, if the steps went back
        return self.length > 1 and max(self.length, span) >= steps

    def after(self, line: LossLine, value: str) -> "LossRun":
        """The run after one more loss. Several losses of one step count once: ranks share a log."""
        epoch, step, _ = line
        if math.isfinite(float(value)):
            return LossRun(is_exact=True, epoch=epoch, step=step)
        if not self.length:
            return LossRun(value, 1, step, self.is_exact, epoch, step)
        is_same = step is not None and (epoch, step) == (self.epoch, self.step)
        length = self.length + (not is_same)
        return self._replace(value=value, length=length, epoch=epoch, step=step)

    def __str__(self) -> str:
        since = "" if self.since is None else f" since step {self.since:,}"
        return f"the loss is {self.value}{since}{' or before' * bool(since and not self.is_exact)}"


class LossReader:
    """Follows the losses of a log.

    Finding them takes long, so it is done only where one is perhaps not finite, or was not.
    """

    def __init__(self) -> None:
        self.run: LossRun | None = None
        """None before the first loss."""
        self._lines: list[LossLine] = []
        self._is_odd = self._is_marked = False

    def note(self, at: "Progress", text: str, is_odd: bool, is_marked: bool = False) -> None:
        """Add a line that was read as this progress.

        After a loss with a step in the operator's own format, only lines of that format count.
        """
        if is_marked and not self._is_marked and at.step is not None:
            self._is_marked = read_loss(text) is not None
        if self._is_marked <= is_marked:
            self._lines.append((at.epoch, at.step, text))
            self._is_odd |= is_odd

    def read(self, progress: "Progress", is_whole: bool) -> LossRun | None:
        """The run after the lines that were added, with the progress after them.

        `is_whole`: there are no unread lines before them, since the last read or the log's begin.
        """
        known = self.run or LossRun()
        if known.length or self._is_odd:
            run = known if known.length else LossRun(is_exact=is_whole)
            for line, value in self._last_losses(known.is_fatal):
                self.run = run = run.after(line, value)
        elif any(name.lower() == "loss" for name, _ in progress.metrics):
            self.run = known
        self._lines, self._is_odd = [], False
        return self.run

    def _last_losses(self, only_one: bool) -> list[tuple[LossLine, str]]:
        """The lines with their losses, from the last finite loss on; all if none is finite."""
        found = []
        for line in reversed(self._lines):
            if value := read_loss(line[2]):
                found.append((line, value))
                if only_one or math.isfinite(float(value)):
                    break
        return found[::-1]


def is_odd(text: str) -> bool:
    """Whether this text, in lower case, perhaps shows nan or inf."""
    return "nan" in text or text.count("inf") > text.count("info")
