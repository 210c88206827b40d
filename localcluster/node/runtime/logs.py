"""Writes and reads container logs on disk, in the format of container runtimes.

A record is `<RFC 3339 time, nanoseconds> <stdout|stderr> <F|P> <text>`; F ends a line, and after P
the line goes on in the next record of the stream. LogPump's thread reads the pipes of all
containers and writes the logs; any thread can read the logs.
"""

import contextlib
import os
import select
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from localcluster.machine import clock

MAX_LINE_BYTES = 16 * 1024
CHUNK_BYTES = 64 * 1024
FOLLOW_SECONDS = 0.1


def timestamp(seconds: float) -> str:
    """RFC 3339 in UTC with nine decimals; the last three are always 0, because Python's datetime
    has microseconds only.
    """
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%f") + "000Z"


class LogFile:
    """The log of one run of a container. `complete` is set when both streams have ended."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.complete = threading.Event()
        self._file = path.open("ab", buffering=0)
        self._pending = {"stdout": b"", "stderr": b""}
        self._open_streams = 2

    def write(self, stream: str, data: bytes) -> None:
        """Append output of `stdout` or `stderr`. An unfinished line is kept back until its end, or
        until it has 16 KiB.
        """
        stamp = timestamp(clock.now()).encode()
        lines = (self._pending[stream] + data).split(b"\n")
        rest = lines.pop()
        records = [_record(stamp, stream, b"F", line) for line in lines]
        while len(rest) >= MAX_LINE_BYTES:
            records.append(_record(stamp, stream, b"P", rest[:MAX_LINE_BYTES]))
            rest = rest[MAX_LINE_BYTES:]
        self._pending[stream] = rest
        if records:
            self._file.write(b"".join(records))

    def end(self, stream: str) -> None:
        """Record the end of a stream; the log is complete after both."""
        if rest := self._pending[stream]:
            self._file.write(_record(timestamp(clock.now()).encode(), stream, b"P", rest))
        self._open_streams -= 1
        if self._open_streams == 0:
            self._file.close()
            self.complete.set()


def _record(stamp: bytes, stream: str, tag: bytes, line: bytes) -> bytes:
    return b"%s %s %s %s\n" % (stamp, stream.encode(), tag, line)


class LogPump(threading.Thread):
    """Reads the output of every container."""

    def __init__(self) -> None:
        super().__init__(name="log pump", daemon=True)
        self._epoll = select.epoll()  # others can add descriptors while the thread waits
        self._streams: dict[int, tuple[str, LogFile]] = {}

    def add(self, log: LogFile, stdout: int, stderr: int) -> None:
        """Have the thread copy both streams, and close each descriptor at the end of its stream."""
        for descriptor, stream in ((stdout, "stdout"), (stderr, "stderr")):
            self._streams[descriptor] = (stream, log)
            self._epoll.register(descriptor, select.EPOLLIN)

    def run(self) -> None:
        """Read output as it comes, for as long as the node runs."""
        while True:
            for descriptor, _ in self._epoll.poll():
                self._read(descriptor, *self._streams[descriptor])

    def _read(self, descriptor: int, stream: str, log: LogFile) -> None:
        data = os.read(descriptor, CHUNK_BYTES)
        with contextlib.suppress(OSError):  # a full disk must not stop the other containers
            if data:
                log.write(stream, data)
                return
            log.end(stream)
        if not data:
            self._epoll.unregister(descriptor)  # else a copy in a forked child would cause events
            del self._streams[descriptor]
            os.close(descriptor)


@dataclass(frozen=True)
class LogQuery:
    """The options of `kubectl logs`; None means no limit, and `since` is a timestamp or empty."""

    follow: bool = False
    timestamps: bool = False
    tail_lines: int | None = None
    limit_bytes: int | None = None
    since: str = ""


def read_log(path: Path, query: LogQuery, is_complete: Callable[[], bool]) -> Iterator[bytes]:
    """The log's text in pieces. With `follow`, also new lines until the log is complete.

    If nothing is new, this yields an empty piece, for the caller to check whether the client still
    listens.
    """
    left = query.limit_bytes
    for piece in _pieces(path, query, is_complete):
        if left is not None:
            piece = piece[:left]
            left -= len(piece)
        yield piece
        if left == 0:
            return


def _pieces(path: Path, query: LogQuery, is_complete: Callable[[], bool]) -> Iterator[bytes]:
    with path.open("rb") as file:
        records = _selected(_whole_records(file), query)
        yield b"".join(_shown(record, query.timestamps) for record in records)
        while query.follow:
            complete = is_complete()
            records = _whole_records(file)
            yield b"".join(_shown(record, query.timestamps) for record in records)
            if complete and not records:
                return
            if not records:
                clock.sleep(FOLLOW_SECONDS)


def _whole_records(file: BinaryIO) -> list[bytes]:
    """Read up to the last complete record; an incomplete record is left for the next call."""
    records = file.readlines()
    if records and not records[-1].endswith(b"\n"):
        file.seek(-len(records.pop()), os.SEEK_CUR)
    return records


def _selected(records: list[bytes], query: LogQuery) -> list[bytes]:
    since = query.since.encode()
    kept = [record for record in records if record >= since] if since else records
    return kept if query.tail_lines is None else list(_tail(kept, query.tail_lines))


def _tail(records: list[bytes], lines: int) -> deque[bytes]:
    """The records of the last `lines` lines."""
    kept: deque[bytes] = deque()
    for record in reversed(records):
        if not _is_partial(record) or not kept:
            lines -= 1
        if lines < 0:
            break
        kept.appendleft(record)
    return kept


def _is_partial(record: bytes) -> bool:
    return record.split(b" ", 3)[2] == b"P"


def _shown(record: bytes, with_timestamp: bool) -> bytes:
    stamp, _, tag, text = record.split(b" ", 3)
    if tag == b"P":
        text = text[:-1]
    return stamp + b" " + text if with_timestamp else text


def last_lines(path: Path, max_lines: int, max_bytes: int) -> str:
    """The end of a log, for a termination message; empty if the log cannot be read."""
    try:
        pieces = read_log(path, LogQuery(tail_lines=max_lines), lambda: True)
        return b"".join(pieces)[-max_bytes:].decode(errors="replace")
    except OSError:
        return ""
