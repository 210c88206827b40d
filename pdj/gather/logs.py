"""Reads one container's log: every line once, even if the stream breaks or the container restarts.

The kubelet's timestamps say where to resume. After a break the log is requested again from the
second of the latest line on. Lines that were read before are dropped. These are, of the first that
come, the lines with an older timestamp than the latest line's, and as many lines with the same
timestamp as were read. Pieces of a very long line are treated as lines.
"""

import math
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

from api.objects import Raw, is_deleting, uid_of
from api.trainer import container_status
from kube.client import Query
from kube.errors import ApiError, Forbidden, Invalid, NotFound, Throttled, Transient
from kube.http import Stream
from pdj.errors import Problem
from pdj.gather.jobs import Handle
from pdj.gather.merge import LogLine, Merger, Source
from pdj.gather.paths import core_path, log_path
from pdj.gather.pieces import Piece, pieces_of

FIRST_PAUSE_SECONDS = 0.2
MAX_PAUSE_SECONDS = 3.0
NANOSECONDS = 1_000_000_000
STREAM_READ_SECONDS = 3600.0
"""Long, because a log can be silent for hours. The stream ends when the pod is gone."""
UNFOLLOWED_READ_SECONDS = 10.0
"""What a log has already is sent at once. A node that sends nothing for so long is given up."""
MAX_LINE_BYTES = 64 << 10
"""A longer line is cut into pieces, with a mark at each cut."""
GOES_ON = " … (cut: the line goes on)".encode()
GONE_ON = "… ".encode()


@dataclass(frozen=True, slots=True)
class Wish:
    """What to read of which logs: how many last lines, since when, and whether to follow them.

    None or empty means all, but an empty `container` means the trainer. Without
    `launcher_settings`, one line stands for the settings that PaddlePaddle's launcher prints.
    """

    follow: bool = False
    tail: int | None = None
    since: int | None = None
    role: str = ""
    index: int | None = None
    attempt: int | None = None
    container: str = ""
    all_containers: bool = False
    launcher_settings: bool = False


class ContainerLog(threading.Thread):
    """Reads the log of one container into a merger, in a thread of its own.

    Call `pod_changed` when the pod changes; any thread may call `close`.
    """

    def __init__(self, handle: Handle, source: Source, merger: Merger, wish: Wish) -> None:
        super().__init__(name="log", daemon=True)
        self._client = handle.client
        self._clock = handle.clock
        self._pod_path = core_path(handle.namespace, "pods", source.pod)
        self._log_path = log_path(handle.namespace, source.pod)
        self._source = source
        self._merger = merger
        self._wish = wish
        self._position = Position()
        self._tail = wish.tail
        """How many last lines to ask for; None once the run that is there at the start is read."""
        self._closed = threading.Event()
        self._news = threading.Event()
        self._lock = threading.Lock()
        """Guards _stream."""
        self._stream: Stream | None = None
        self.problem: ApiError | Problem | None = None

    def start(self) -> None:
        """Start the thread. Call this only after the container has started."""
        self._merger.open(self._source)
        super().start()

    def pod_changed(self) -> None:
        """Look at the pod now, because it has changed: its container has perhaps restarted."""
        self._news.set()

    def close(self) -> None:
        """Stop reading; the thread ends soon after."""
        self._closed.set()
        self._news.set()
        with self._lock:
            if self._stream is not None:
                self._stream.close()

    def run(self) -> None:
        """Read until the container has ended for good, or until closed."""
        try:
            self._read_runs()
        except (ApiError, Problem) as error:  # Problem: the login could not be renewed
            self.problem = error
        finally:
            self._merger.end(self._source)

    def _read_runs(self) -> None:
        """Read each run of the container, from the oldest that the kubelet still has."""
        read_runs, pause = 0, FIRST_PAUSE_SECONDS
        until = math.inf if self._wish.follow else self._clock.monotonic() + UNFOLLOWED_READ_SECONDS
        while not self._closed.is_set():
            pod = self._find_pod()
            if pod is None:
                return
            status = container_status(pod, self._source.container)
            run = int(status.get("restartCount") or 0)
            try:
                if run > read_runs:
                    self._read({"previous": "true"})
                    read_runs = run
                before = self._position.count
                self._read({"follow": "true"} if self._wish.follow else {})
            except NotFound:
                return
            except Forbidden:
                raise
            except (Invalid, Throttled, Transient):
                if self._clock.monotonic() >= until:
                    raise
                before = self._position.count
            else:
                if not self._wish.follow:
                    return
            if self._has_ended(pod, status):
                return
            pause = FIRST_PAUSE_SECONDS if self._position.count > before else pause * 1.5
            self._rest(min(pause, MAX_PAUSE_SECONDS))

    def _find_pod(self) -> Raw | None:
        pod = self._client.find(self._pod_path)
        return pod if pod is not None and uid_of(pod) == self._source.uid else None

    def _has_ended(self, pod: Raw, status: Raw) -> bool:
        """Whether the container had already ended for good before its log was read."""
        phase = (pod.get("status") or {}).get("phase")
        has_ended = "terminated" in (status.get("state") or {})
        return phase in ("Succeeded", "Failed") or (has_ended and is_deleting(pod))

    def _rest(self, seconds: float) -> None:
        self._news.wait(seconds)
        self._news.clear()

    def _read(self, query: Query) -> None:
        """Read one log to its end. Raises Transient when it breaks."""
        seconds = STREAM_READ_SECONDS if "follow" in query else UNFOLLOWED_READ_SECONDS
        stream = self._client.stream(self._log_path, self._query(query), seconds)
        with self._lock:
            self._stream = stream
        try:
            self._position.rewind()
            # The log's path has only the pod's name, and the next attempt's pod has the same name.
            if not self._closed.is_set() and self._find_pod() is not None:
                for stamped in stamp_pieces(pieces_of(stream, MAX_LINE_BYTES)):
                    self._take(*stamped)
                    self._tail = self._tail if "previous" in query else None
        finally:
            with self._lock:
                self._stream = None
            stream.release()

    def _query(self, more: Query) -> Query:
        query: dict[str, str | int] = {
            "container": self._source.container,
            "timestamps": "true",
            **more,
        }
        if self._tail is not None:
            query["tailLines"] = self._tail
        if self._position.time:
            query["sinceTime"] = whole_second(self._position.moment)
        elif self._wish.since is not None:
            query["sinceSeconds"] = self._wish.since
        return query

    def _take(self, moment: int, time: str, text: bytes) -> None:
        if self._position.is_new(moment):
            self._position.time = time
            self._merger.put(LogLine(moment, time, self._source, text))


def stamp_pieces(pieces: Iterable[Piece]) -> Iterator[tuple[int, str, bytes]]:
    """Moment, time and text of each piece. The text has a mark where its line is cut.

    Lines without a time are dropped, because the kubelet writes them if it cannot read the log.
    """
    stamp: tuple[int, str] | None = None
    starts_line = True
    for piece in pieces:
        text = piece.text
        if starts_line:
            stamp, text = _split_stamp(text)
        if stamp is not None:
            head, tail = (b"" if starts_line else GONE_ON), (b"" if piece.ends_line else GOES_ON)
            yield *stamp, head + text + tail
        starts_line = piece.ends_line


def _split_stamp(text: bytes) -> tuple[tuple[int, str] | None, bytes]:
    time, _, rest = text.partition(b" ")
    try:
        return (parse_moment(time.decode()), time.decode()), rest
    except ValueError:
        return None, text


class Position:
    """How far a log has been read: its latest moment, and how many lines have that moment.

    A line can be older than the one before it, because runtimes stamp the lines of standard output
    and of standard error apart, and because clocks are set back.
    """

    def __init__(self) -> None:
        self.time = ""
        self.moment = 0
        self.count = 0
        """The number of all lines read."""
        self._at_moment = 0
        self._to_skip = 0
        self._is_behind = False

    def rewind(self) -> None:
        """Prepare for reading again from before this position."""
        self._is_behind, self._to_skip = True, self._at_moment

    def is_new(self, moment: int) -> bool:
        """Whether a line with this timestamp is new; if so, count it."""
        if self._is_behind and moment < self.moment:
            return False
        if self._is_behind and moment == self.moment and self._to_skip:
            self._to_skip -= 1
            return False
        self._is_behind = False
        if moment >= self.moment:
            self._at_moment = self._at_moment + 1 if moment == self.moment else 1
            self.moment = moment
        self.count += 1
        return True


def parse_moment(text: str) -> int:
    """Nanoseconds since 1970 of `2026-01-02T03:04:05.123456789+08:00`. Raises ValueError."""
    head, zone = text[:19], _zone_at(text)
    fraction = text[20:zone] if text[19:20] == "." else ""
    if len(fraction) > 9 or (fraction and not fraction.isdecimal()):
        raise ValueError(f"no time: {text!r}")
    return _seconds(head + text[zone:]) * NANOSECONDS + int(fraction.ljust(9, "0") or "0")


def _zone_at(text: str) -> int:
    return len(text) - 1 if text.endswith("Z") else len(text) - 6


@lru_cache(maxsize=1024)
def _seconds(text: str) -> int:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"no time zone: {text!r}")
    return int(moment.timestamp())


def whole_second(moment: int) -> str:
    """A moment without its fraction of a second, in the format of the API server."""
    return datetime.fromtimestamp(moment // NANOSECONDS, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
