"""A feed as an HTTP answer: a line of JSON for each message, until the browser disconnects."""

import threading
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import anyio
from anyio import CapacityLimiter, to_thread
from starlette.types import Receive, Scope, Send

from pdj.ui.encoding import describe_problem, encode
from pdj.ui.feeds import Feed, Message

MAX_FEEDS = 100
HEADERS = [(b"content-type", b"application/x-ndjson; charset=utf-8")]
Result = TypeVar("Result")
BEAT = b"\n"
"""Sent if there is no message: the page then knows that this process is alive."""


class StreamedFeed:
    """An answer that streams a feed. `open_feed` and the feed are allowed to block."""

    limiter: CapacityLimiter | None = None

    def __init__(self, open_feed: Callable[[], Feed], refused: Callable[[Exception], None]) -> None:
        self._open = open_feed
        self._refused = refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send messages until the reader disconnects or the feed fails."""
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        async with anyio.create_task_group() as group:
            group.start_soon(_end_with_reader, receive, group.cancel_scope)
            try:
                await self._pump(send)
            except Exception as error:  # even a defect: the page shows it
                self._refused(error)
                await _send(send, [describe_problem(error)])
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            group.cancel_scope.cancel()

    async def _pump(self, send: Send) -> None:
        feed = await self._in_thread(self._open)
        try:
            while True:
                await _send(send, await self._in_thread(feed.take))
        finally:
            # In its own thread: the command must end, even if `close` waits for a silent cluster.
            threading.Thread(target=feed.close, daemon=True).start()

    async def _in_thread(self, call: Callable[[], Result]) -> Result:
        if StreamedFeed.limiter is None:
            StreamedFeed.limiter = CapacityLimiter(MAX_FEEDS)
        return await to_thread.run_sync(call, limiter=StreamedFeed.limiter)


async def _end_with_reader(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


async def _send(send: Send, messages: list[Message]) -> None:
    body = await to_thread.run_sync(partial(_encode_all, messages)) if messages else BEAT
    await send({"type": "http.response.body", "body": body, "more_body": True})


def _encode_all(messages: list[Message]) -> bytes:
    return b"".join(map(encode, messages))
