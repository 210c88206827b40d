"""A feed as an HTTP answer: a line of JSON for each message, until the browser disconnects."""

import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from functools import partial
from typing import TypeVar

from anyio import CapacityLimiter, to_thread
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from pdj.ui.encoding import describe_problem, encode
from pdj.ui.feeds import Feed

MAX_FEEDS = 100
Result = TypeVar("Result")
BEAT = b"\n"
"""Sent if there is no message: the page then knows that this process is alive."""


class StreamedFeed(StreamingResponse):
    """An answer that streams a feed. `open_feed` and the feed are allowed to block."""

    limiter: CapacityLimiter | None = None

    def __init__(self, open_feed: Callable[[], Feed]) -> None:
        self._open = open_feed
        self._messages = self._read()
        super().__init__(self._messages, media_type="application/x-ndjson; charset=utf-8")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send messages until the reader disconnects or the feed fails."""
        async with aclosing(self._messages):
            await super().__call__(scope, receive, send)

    async def _read(self) -> AsyncGenerator[bytes]:
        feed: Feed | None = None
        try:
            feed = await self._in_thread(self._open)
            while True:
                messages = await self._in_thread(feed.take)
                encoded = partial(b"".join, map(encode, messages))
                yield await to_thread.run_sync(encoded) if messages else BEAT
        except Exception as error:  # even a defect: the page shows it
            yield encode(describe_problem(error))
        finally:
            # In its own thread: the command must end, even if `close` waits for a silent cluster.
            if feed is not None:
                threading.Thread(target=feed.close, daemon=True).start()

    async def _in_thread(self, call: Callable[[], Result]) -> Result:
        if StreamedFeed.limiter is None:
            StreamedFeed.limiter = CapacityLimiter(MAX_FEEDS)
        return await to_thread.run_sync(call, limiter=StreamedFeed.limiter)
