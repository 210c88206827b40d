"""A feed as an HTTP answer: it lasts as long as its reader, and says why it ends."""

import json
import threading
from typing import Any

import anyio
import pytest

from kube.errors import Forbidden
from pdj.ui.stream import BEAT, StreamedFeed
from tests.live import patience

SCOPE = {"type": "http", "asgi": {"spec_version": "2.3"}}


class Numbers:
    """A feed of one number, and then of nothing."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error, self.left, self.closed = error, [[{"number": 1}]], threading.Event()

    def take(self) -> list[dict[str, Any]]:
        if self.error is not None and not self.left:
            raise self.error
        return self.left.pop() if self.left else []

    def close(self) -> None:
        self.closed.set()


def read(feed: Numbers, enough: int) -> list[bytes]:
    """The pieces that a reader got until it had enough of them."""
    pieces: list[bytes] = []

    async def ask() -> None:
        is_gone = anyio.Event()

        async def receive() -> dict[str, Any]:
            await is_gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.body":
                pieces.append(message["body"])
                if len(pieces) == enough:
                    is_gone.set()

        with anyio.fail_after(patience.SECONDS):
            await StreamedFeed(lambda: feed)(SCOPE, receive, send)

    anyio.run(ask)
    return pieces


def test_a_feed_is_closed_when_its_reader_has_gone():
    feed = Numbers()
    pieces = read(feed, 3)
    assert pieces[:3] == [b'{"number": 1}\n', BEAT, BEAT]
    assert feed.closed.wait(patience.SECONDS)


@pytest.mark.parametrize("error", [Forbidden("no jobs"), KeyError("a defect")])
def test_a_feed_that_fails_says_why_and_ends(error):
    feed = Numbers(error)
    pieces = read(feed, 99)
    assert json.loads(pieces[1])["type"] == "problem"
    assert pieces[2:] == [b""]
    assert feed.closed.wait(patience.SECONDS)
