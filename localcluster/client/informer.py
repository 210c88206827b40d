"""Follows a collection of the API server: one thread lists, watches and calls back.

Callbacks run in the informer's thread, one at a time: first `on_replace` with all objects of a
list, then `on_event` for each change. A lost connection resumes at the last version seen; if the
server no longer knows that version (410), the informer lists again.
"""

import random
import threading
import traceback
from collections.abc import Callable

from kube.client import Client, Query, read_events
from kube.clock import Clock
from kube.errors import ApiError, Gone, error_from_status
from kube.http import Stream
from localcluster.client.rest import Raw

WATCH_SECONDS = 300
SHORT_WATCH_SECONDS = 1.0
"""A watch that ends sooner than this and brought nothing counts as failed."""
BACKOFF_SECONDS = (0.2, 0.5, 1.0, 2.0, 5.0)


class Informer(threading.Thread):
    """Lists and watches `path` until stopped."""

    def __init__(
        self,
        client: Client,
        path: str,
        on_replace: Callable[[list[Raw]], None],
        on_event: Callable[[str, Raw], None],
    ) -> None:
        super().__init__(name=f"informer {path}", daemon=True)
        self._client = client
        self._path = path
        self._on_replace = on_replace
        self._on_event = on_event
        self._version = ""
        self._failures = self._events = 0
        self._clock = Clock()
        self._stopping = threading.Event()
        self._stream: Stream | None = None
        self.synced = threading.Event()

    def run(self) -> None:
        """List and watch until stopped. After an error, it waits and tries again."""
        while not self._stopping.is_set():
            try:
                if not self._version:
                    self._list()
                before, began = self._events, self._clock.monotonic()
                self._follow()
                if self._events > before or self._clock.monotonic() - began >= SHORT_WATCH_SECONDS:
                    continue
            except ApiError as error:
                if error.code:  # the server has answered
                    print(f"cannot follow {self._path}: {error}", flush=True)
                if isinstance(error, Gone):
                    self._version = ""
            except Exception:  # from a callback: one bad object must not end the watch for all
                traceback.print_exc()
                self._version = ""
            delay = BACKOFF_SECONDS[min(self._failures, len(BACKOFF_SECONDS) - 1)]
            self._failures += 1
            self._stopping.wait(delay * random.uniform(0.8, 1.2))

    def stop(self) -> None:
        """Make the thread end, even in the middle of a watch. Does not wait for its end."""
        self._stopping.set()
        if (stream := self._stream) is not None:
            stream.close()

    def _list(self) -> None:
        items, version = self._client.list(self._path)
        self._on_replace(items)
        self._version = version
        self.synced.set()

    def _follow(self) -> None:
        """Watch from the version last seen until the watch ends."""
        query: Query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._version,
            "timeoutSeconds": WATCH_SECONDS,
        }
        stream = self._stream = self._client.stream(self._path, query, WATCH_SECONDS + 30.0)
        try:
            if self._stopping.is_set():  # stop() came before there was a stream to close
                return
            for event in read_events(stream):
                self._take(event["type"], event["object"])
        finally:
            stream.release()

    def _take(self, kind: str, subject: Raw) -> None:
        if kind == "ERROR":
            raise error_from_status(subject.get("code", 0), subject, None)
        self._version = str(subject["metadata"]["resourceVersion"])
        self._failures = 0
        self._events += 1
        if kind != "BOOKMARK":
            self._on_event(kind, subject)
