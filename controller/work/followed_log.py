"""Follows one container's log: its progress, and how long it has been silent.

Silence counts only between two successful reads in a row, by this process's clock. So time in which
the log could not be read does not count. If the node's clock is clearly wrong, times are corrected.
"""

import math
from dataclasses import replace
from datetime import datetime, timedelta

from api.objects import format_time, moment_of
from api.training import TrainingProgress
from reconcile.model.training import Reading, Tail
from reconcile.words.progress import MAX_LINES, Line, Progress, ProgressReader, read_lines

REPORT_SECONDS = 300.0
"""A job's progress is reported at least this often, even if it has hardly changed."""
SLACK = timedelta(seconds=5)
"""A clock that differs by less from the API server's counts as right."""
FEWER = 4
"""If the lines are too long together, their number is divided by this."""
SHORT_BYTES = 8192
"""After an answer this short, more lines are requested."""


class FollowedLog:
    """The log of a container of the pod with this UID. For one thread at a time."""

    def __init__(self, pod_uid: str, attempt: int, known: TrainingProgress) -> None:
        """`known` is the progress in the job's status, perhaps written by another process."""
        self.pod_uid, self.attempt = pod_uid, attempt
        self._known = known if known.attempt == attempt else TrainingProgress()
        self._pause = moment_of(self._known.quiet_until)
        """The end of the announced pause, by the API server's clock, as in the status."""
        self.lines = MAX_LINES
        """How many lines to ask for."""
        self.reading: Reading | None = None
        self.is_telling = False
        self.next_tail: int | None = None
        """The worker whose last line is to be read next, where the log is silent."""
        self._reader = ProgressReader(self._known.total_steps)
        self._last: Line | None = None
        """The last line that was read, as the node wrote it."""
        self._stepped: tuple[int | None, datetime | None] = None, None
        """The last epoch, and when the step last changed, by the node's clock. The epoch matters if
        steps are counted from 0 in each epoch: then every read can show the same step.
        """
        self._read_at = -math.inf
        """The monotonic time of the last read; minus infinity if that failed."""
        self._seen_at: datetime | None = None
        self._shift = timedelta()
        """How far the API server's clock is ahead of the node's."""
        self._reported_at = 0.0

    def ask_fewer(self) -> bool:
        """Request fewer lines from now on, because they were too long; False if it was one line."""
        before, self.lines = self.lines, max(1, self.lines // FEWER)
        return self.lines < before

    def fail(self) -> None:
        """Note that the log could not be read: the time until the next read does not count."""
        self._read_at = -math.inf

    def add_tail(self, worker: int, tail: Tail) -> None:
        """Add the last line of a worker to the reading, which has it until the log goes on."""
        self.next_tail = worker + 1
        if self.reading is not None:
            self.reading = replace(self.reading, tails=(*self.reading.tails, tail))

    def take(self, log: bytes, at: float, now: datetime, broken_at: float = -math.inf) -> Reading:
        """Add what was read; returns the new reading. Sets `is_telling`: whether a pass is needed.

        `at` and `now` are the monotonic and the API server's time before the read. `broken_at` is
        when a read of any log last failed for a reason that concerns all logs.
        """
        lines = self._new_of(read_lines(log))
        gap = at - self._read_at if self._read_at > broken_at else 0.0
        has_known, stepped = self._known.step is not None, self._stepped
        before = self.reading or Reading(
            Progress(quiet_until=self._pause), self.attempt, stepped_before=has_known
        )
        progress = self._read(lines, now) if lines else before.progress
        reading = replace(
            before,
            progress=progress,
            silent_seconds=0.0 if lines else before.silent_seconds + gap,
            stepless_seconds=0.0 if self._stepped != stepped else before.stepless_seconds + gap,
            tails=() if lines else before.tails,
        )
        if self.reading is None:
            reading = self._go_on(reading)
        is_news = self.reading is None or _news(progress) != _news(before.progress)
        self.is_telling = is_news or at - self._reported_at >= REPORT_SECONDS
        self._reported_at = at if self.is_telling else self._reported_at
        self.reading, self._read_at, self._seen_at = reading, at, now
        if len(log) < SHORT_BYTES:
            self.lines = min(MAX_LINES, self.lines * FEWER)
        return reading

    def _go_on(self, reading: Reading) -> Reading:
        """The first reading, plus the silence that another process has measured before.

        Otherwise, a hang would never be found if leaders change often. The time between the reads
        of two processes does not count, because nobody read the log.
        """
        known, progress = self._known, reading.progress
        last = format_time(progress.last_output_time)
        if last and last == known.last_output_time:
            reading = replace(reading, silent_seconds=float(known.silent_seconds))
        is_same = progress.epoch is None or str(progress.epoch) == known.epoch.partition("/")[0]
        if is_same and progress.step in (None, known.step):
            reading = replace(reading, stepless_seconds=float(known.stepless_seconds))
        return reading

    def _read(self, lines: list[Line], now: datetime) -> Progress:
        """The progress after these new lines, by the API server's clock."""
        progress = self._reader.read(lines)
        self._stepped = progress.epoch, progress.last_step_time
        last = self._last = lines[-1]
        shown = min(last.time + self._shift, now)
        if self._seen_at is not None:  # the lines were written after that read
            shown = max(shown, self._seen_at - SLACK)
        self._shift = shown - last.time
        progress, mark = progress.moved(self._shift), self._reader.marked_progress
        if self._pause and (mark is None or mark.quiet_until):  # the pause goes on
            until = max(self._pause, progress.quiet_until or self._pause)
            return progress._replace(quiet_until=until)
        return progress

    def _new_of(self, lines: list[Line]) -> list[Line]:
        """The lines that are new, or that have changed since they were last read."""
        last = self._last
        for index in range(len(lines) - 1, -1, -1):
            if last is not None and lines[index].time == last.time:
                return lines[index + (lines[index] == last) :]
        return lines


def _news(progress: Progress) -> tuple[object, ...]:
    """The fields whose change is written to the status soon, not only after REPORT_SECONDS."""
    run = progress.losses
    turn = run and (run.length > 0, run.is_lasting, run.is_fatal)
    return progress.percent, progress.checkpoint, progress.quiet_until, turn
