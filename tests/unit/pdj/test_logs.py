"""Lines of logs: once each, and in order of time, however they come."""

import math
import threading
from typing import Any

import pytest

from api.objects import Raw
from kube.client import Client
from kube.clock import Clock
from kube.errors import Silent
from pdj.errors import Problem
from pdj.gather import logs
from pdj.gather.joblog import JobLog
from pdj.gather.jobs import Handle
from pdj.gather.logs import (
    GOES_ON,
    GONE_ON,
    NANOSECONDS,
    ContainerLog,
    Position,
    Wish,
    parse_moment,
    stamp_pieces,
    whole_second,
)
from pdj.gather.merge import LogLine, Merger, Source
from pdj.gather.pieces import Piece, pieces_of
from tests.live import patience


def source(index: int) -> Source:
    return Source(f"train-worker-{index}", f"uid-{index}", "worker", index, 1, "paddle")


def line(index: int, moment: int) -> LogLine:
    return LogLine(moment, str(moment), source(index), str(moment).encode())


def merger(hold_seconds: float, *indexes: int) -> Merger:
    """A merger with the logs of these workers open."""
    made = Merger(Clock(), hold_seconds)
    for index in indexes:
        made.open(source(index))
    return made


def test_moments_of_all_lengths_and_zones_compare():
    texts = [
        "2026-01-02T03:04:05Z",
        "2026-01-02T03:04:05.000000001Z",
        "2026-01-02T03:04:05.1Z",
        "2026-01-02T11:04:05.12+08:00",
        "2026-01-02T03:04:05.123456789Z",
        "2026-01-02T00:04:06-03:00",
    ]
    moments = [parse_moment(text) for text in texts]
    assert moments == sorted(set(moments))
    assert parse_moment("1970-01-01T00:00:01Z") == NANOSECONDS
    assert whole_second(moments[3]) == "2026-01-02T03:04:05Z"


@pytest.mark.parametrize("text", ["", "failed", "2026-01-02T03:04:05", "2026-01-02T03:04:05.xZ"])
def test_what_is_no_moment_is_refused(text):
    with pytest.raises(ValueError, match=r"."):
        parse_moment(text)


@pytest.mark.parametrize(
    "reads",
    [
        [([1, 2, 2, 3, 3], [1, 2, 2, 3, 3]), ([2, 2, 3, 3, 3, 4], [3, 4])],
        [([5, 5], [5, 5]), ([5, 5, 5], [5]), ([5, 5, 5, 5], [5])],
        [([1, 4, 3, 5, 2], [1, 4, 3, 5, 2]), ([4, 3, 5, 2, 6, 5], [6, 5])],
    ],
    ids=["once", "twice within the same moment", "not in order of time"],
)
def test_lines_that_come_again_after_a_break_are_dropped_and_no_others(reads):
    position = Position()
    for moments, new in reads:
        assert [moment for moment in moments if position.is_new(moment)] == new
        position.rewind()


def test_lines_wait_for_the_logs_that_have_shown_none():
    lines = merger(math.inf, 0, 1)
    lines.put(line(0, 1))
    assert lines.take(0) == []
    lines.put(line(1, 2))
    assert [each.moment for each in lines.take(0)] == [1]
    lines.end(source(0))
    assert [each.moment for each in lines.take(0)] == [2]


def test_a_silent_log_holds_up_the_others_for_a_while_only():
    lines = merger(0.05, 0, 1)
    lines.put(line(0, 1))
    taken: list[LogLine] = []
    while not taken:
        taken = lines.take(1)
    assert [each.moment for each in taken] == [1]


def test_the_order_of_one_log_is_never_changed():
    lines = merger(math.inf, 0, 1)
    for moment in (5, 3, 9):  # its clock was set back
        lines.put(line(0, moment))
    lines.put(line(1, 4))
    lines.end(source(0))
    lines.end(source(1))
    taken = [each for _ in range(4) for each in lines.take(0)]
    assert [each.moment for each in taken if each.source == source(0)] == [5, 3, 9]


@pytest.mark.parametrize(
    ("bound", "most", "text"),
    [("MAX_BUFFERED", 2, b"x"), ("MAX_BUFFERED_BYTES", 15, b"x" * 10)],
    ids=["many lines", "long lines"],
)
def test_a_reader_that_is_ahead_rests(monkeypatch, bound, most, text):
    monkeypatch.setattr(f"pdj.gather.merge.{bound}", most)
    lines = merger(math.inf, 0, 1)
    done = threading.Event()

    def read() -> None:
        for moment in range(10):
            lines.put(LogLine(moment, "", source(0), text))
        lines.end(source(0))
        done.set()

    thread = threading.Thread(target=read)
    thread.start()
    assert not done.wait(0.05)
    lines.end(source(1))
    taken: list[LogLine] = []
    while len(taken) < 10:
        taken += lines.take(1)
    thread.join()
    assert [each.moment for each in taken] == list(range(10))


class Chunks:
    """A stream of a text that comes in chunks of this size."""

    def __init__(self, text: bytes, size: int) -> None:
        self.text, self.size, self.read = text, size, 0

    def chunks(self) -> Any:
        for at in range(0, len(self.text), self.size):
            self.read = at + self.size
            yield self.text[at : at + self.size]

    def release(self) -> None: ...


LINES = "one\n\n0123456789\n0123456789a\n中文中文中文\n".encode() + b"\x80" * 25 + b"\nend"


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_long_lines_come_in_the_same_pieces_however_they_are_read(size):
    pieces = list(pieces_of(Chunks(LINES, size), 10))  # type: ignore[arg-type]
    assert [(each.text, each.ends_line) for each in pieces[:6]] == [
        (b"one", True), (b"", True), (b"0123456789", True), (b"0123456789", False), (b"a", True),
        ("中文中".encode(), False),
    ]  # fmt: skip
    joined = b"".join(each.text + b"\n" * each.ends_line for each in pieces)
    assert joined == LINES + b"\n"
    assert max(len(each.text) for each in pieces) == 10


def test_a_line_without_end_is_not_kept():
    stream = Chunks(b"x" * 1_000_000, 1000)
    pieces = pieces_of(stream, 10_000)  # type: ignore[arg-type]
    for at in range(1, 90):
        assert next(pieces) == Piece(b"x" * 10_000, ends_line=False)
        assert stream.read < (at + 1) * 10_000


def test_pieces_have_their_lines_time_and_say_that_they_were_cut():
    time, later = "1970-01-01T00:00:01Z", "1970-01-01T00:00:02Z"
    stamped = [*stamp_pieces([
        Piece(f"{time} a b".encode(), ends_line=False), Piece(b"c", ends_line=False), Piece(b"d e"),
        Piece(b"unable to", ends_line=False), Piece(b"retrieve logs"),
        Piece(f"{later} f".encode()),
    ])]  # fmt: skip
    assert stamped == [
        (NANOSECONDS, time, b"a b" + GOES_ON),
        (NANOSECONDS, time, GONE_ON + b"c" + GOES_ON),
        (NANOSECONDS, time, GONE_ON + b"d e"),
        (2 * NANOSECONDS, later, b"f"),
    ]


def test_a_node_that_sends_nothing_is_given_up_by_the_reader_of_a_log_that_is_not_followed(
    monkeypatch,
):
    class Node(Client):
        def __init__(self) -> None:
            self.asked = threading.Event()

        def find(self, path: str, *_: Any) -> Raw:
            return {"metadata": {"uid": source(0).uid}}

        def stream(self, path: str, query: Any, read_seconds: float, *_: Any) -> Any:
            self.asked.set()
            threading.Event().wait(read_seconds)
            raise Silent("no answer")

    monkeypatch.setattr(logs, "UNFOLLOWED_READ_SECONDS", 0.01)
    node = Node()
    handle = Handle(node, "team", "train", Clock())
    reader = ContainerLog(handle, source(0), Merger(Clock(), math.inf), Wish())
    reader.start()
    assert node.asked.wait(patience.SECONDS)
    reader.join(patience.SECONDS)
    assert not reader.is_alive()
    assert reader.problem is not None


def test_of_a_container_that_was_restarted_come_the_last_lines_of_both_runs():
    lines = [f"2026-01-02T03:04:{second:02}Z {second}\n" for second in range(20)]

    class Node(Client):
        def __init__(self) -> None: ...

        def find(self, path: str, *_: Any) -> Raw:
            status = {"name": "paddle", "restartCount": 1}
            return {"metadata": {"uid": source(0).uid}, "status": {"containerStatuses": [status]}}

        def stream(self, path: str, query: Any, read_seconds: float, *_: Any) -> Any:
            run = lines[:10] if "previous" in query else lines[10:]
            found = [each for each in run if each >= query.get("sinceTime", "")]
            text = "".join(found[-query.get("tailLines", len(lines)) :]).encode()
            return Chunks(text, 1000)

    merged = merger(math.inf, 0)
    reader = ContainerLog(Handle(Node(), "team", "train", Clock()), source(0), merged, Wish(tail=2))
    reader.start()
    reader.join(patience.SECONDS)
    assert [each.text for each in merged.take(0)] == [b"8", b"9", b"18", b"19"]


def test_a_log_whose_login_cannot_be_renewed_says_so(monkeypatch):
    failed = Problem("the login plugin sh has failed: exit code 1")

    def refuse(*_: Any) -> Raw:
        raise failed

    monkeypatch.setattr(Client, "find", refuse)
    handle = Handle(Client.__new__(Client), "team", "train", Clock())
    reader = ContainerLog(handle, source(0), Merger(Clock(), math.inf), Wish())
    reader.start()
    reader.join(patience.SECONDS)
    assert reader.problem is failed


def test_a_node_that_does_not_answer_holds_up_no_end():
    class Node(Client):
        def __init__(self) -> None:
            self.asked, self.answers = threading.Event(), threading.Event()

        def find(self, path: str, *_: Any) -> Raw:
            return {"metadata": {"uid": source(0).uid}}

        def stream(self, path: str, query: Any, read_seconds: float, *_: Any) -> Any:
            self.asked.set()
            self.answers.wait(patience.SECONDS)
            raise Silent("no answer")

    node = Node()
    with JobLog(Handle(node, "team", "train", Clock()), Wish(follow=True)) as log:
        log._start(source(0))
        assert node.asked.wait(patience.SECONDS)
    (reader,) = log._readers.values()
    assert reader.is_alive()
    node.answers.set()
    reader.join()
