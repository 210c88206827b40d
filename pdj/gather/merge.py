"""Merges the lines of several logs in order of time, although each log comes at its own pace.

A line is passed on as soon as the next line of every open log is known. After `hold_seconds` it is
passed on anyway, because a silent pod must not delay the others. The order within a log stays.
"""

import heapq
import threading
from collections import Counter, deque
from dataclasses import dataclass

from kube.clock import Clock

MAX_BUFFERED = 5_000
MAX_BUFFERED_BYTES = 4 << 20
"""The most lines, and bytes of lines, of one log that wait. A reader pauses at these limits."""


@dataclass(frozen=True, slots=True)
class Source:
    """One container of one pod."""

    pod: str
    uid: str
    role: str
    index: int
    attempt: int
    container: str


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of a log. `moment` is in nanoseconds since 1970, `time` as the kubelet wrote it."""

    moment: int
    time: str
    source: Source
    text: bytes
    is_fold: bool = False
    """Whether it stands for lines that are left out."""


class Merger:
    """Takes lines from one thread per log, and passes them to a single reading thread."""

    def __init__(self, clock: Clock, hold_seconds: float) -> None:
        self._clock = clock
        self._hold = hold_seconds
        self._condition = threading.Condition()
        """Guards all that follows."""
        self._waiting: dict[Source, deque[tuple[float, LogLine]]] = {}
        self._bytes: Counter[Source] = Counter()
        """The total length of each log's lines in _waiting."""
        self._open: set[Source] = set()
        self._heads: list[tuple[int, int, Source]] = []
        """An entry for each log that has lines waiting: the moment of its first line."""
        self._silent: set[Source] = set()
        """The open logs that have no line waiting."""
        self._count = 0
        self._is_closed = False

    def open(self, source: Source) -> None:
        """Expect lines of this log. Lines of other logs wait for them, at most `hold_seconds`."""
        with self._condition:
            self._open.add(source)
            if not self._waiting.setdefault(source, deque()):
                self._silent.add(source)

    def put(self, line: LogLine) -> None:
        """Add a line; blocks while too many lines of its log are waiting."""
        with self._condition:
            waiting = self._waiting[line.source]
            while self._is_full_locked(line.source) and not self._is_closed:
                self._condition.wait()
            waiting.append((self._clock.monotonic(), line))
            self._bytes[line.source] += len(line.text)
            if len(waiting) == 1:
                self._silent.discard(line.source)
                self._push(line)
                self._condition.notify_all()

    def end(self, source: Source) -> None:
        """Expect no more lines of this log."""
        with self._condition:
            self._open.discard(source)
            self._silent.discard(source)
            self._condition.notify_all()

    def close(self) -> None:
        """Wake all waiting threads; `put` does not block any more."""
        with self._condition:
            self._is_closed = True
            self._condition.notify_all()

    def take(self, seconds: float) -> list[LogLine]:
        """The lines that can be printed next; waits at most this long for one."""
        with self._condition:
            lines = self._take_locked()
            if not lines:
                self._condition.wait(min(seconds, self._hold))
                lines = self._take_locked()
            if lines:
                self._condition.notify_all()
            return lines

    @property
    def has_lines(self) -> bool:
        """Whether lines wait to be taken."""
        with self._condition:
            return bool(self._heads)

    def _is_full_locked(self, source: Source) -> bool:
        lines, size = len(self._waiting[source]), self._bytes[source]
        return lines >= MAX_BUFFERED or size >= MAX_BUFFERED_BYTES

    def _take_locked(self) -> list[LogLine]:
        ripe, lines = self._clock.monotonic() - self._hold, list[LogLine]()
        while self._heads:
            source = self._heads[0][2]
            waiting = self._waiting[source]
            if waiting[0][0] > ripe and self._silent:
                break
            heapq.heappop(self._heads)
            lines.append(waiting.popleft()[1])
            self._bytes[source] -= len(lines[-1].text)
            if waiting:
                self._push(waiting[0][1])
            elif source in self._open:
                self._silent.add(source)
        return lines

    def _push(self, line: LogLine) -> None:
        self._count += 1
        heapq.heappush(self._heads, (line.moment, self._count, line.source))
