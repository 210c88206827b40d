"""Follow a collection of the API server: one thread that lists, watches and calls back.

Callbacks run in the informer's thread, one at a time: first `on_replace` with all objects of a
list, then `on_event` for each change. A lost connection resumes at the last version seen; a version
that the server no longer knows (410) lists again.
"""

import contextlib
import random
import threading
import traceback
from collections.abc import Callable

from localcluster.client.rest import CONNECTION_ERRORS, ApiError, Client, Raw, Watch

WATCH_SECONDS = 300
GONE = 410
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
        self._failures = 0
        self._stopping = threading.Event()
        self._watch: Watch | None = None
        self.synced = threading.Event()

    def run(self) -> None:
        """List and watch until stopped; no error ends it."""
        while not self._stopping.is_set():
            try:
                if not self._version:
                    self._list()
                self._follow()
                continue
            except ApiError as error:
                print(f"cannot follow {self._path}: {error}", flush=True)
                if error.status == GONE:
                    self._version = ""
            except CONNECTION_ERRORS:
                pass
            except Exception:  # a callback's: one bad object must not end the watch for all
                traceback.print_exc()
                self._version = ""
            delay = BACKOFF_SECONDS[min(self._failures, len(BACKOFF_SECONDS) - 1)]
            self._failures += 1
            self._stopping.wait(delay * random.uniform(0.8, 1.2))

    def stop(self) -> None:
        """End the thread, also in the middle of a watch."""
        self._stopping.set()
        if (watch := self._watch) is not None:
            watch.close()

    def _list(self) -> None:
        answer = self._client.get(self._path)
        self._on_replace(answer.get("items") or [])
        self._version = str(answer["metadata"]["resourceVersion"])
        self.synced.set()

    def _follow(self) -> None:
        """Watch from the version last seen until the watch ends."""
        self._watch = self._client.watch(
            self._path,
            WATCH_SECONDS + 30.0,
            watch="true",
            allowWatchBookmarks="true",
            resourceVersion=self._version,
            timeoutSeconds=str(WATCH_SECONDS),
        )
        with contextlib.closing(self._watch) as watch:
            if self._stopping.is_set():  # stop() has come too early to close it
                return
            for event in watch:
                self._take(event["type"], event["object"])

    def _take(self, kind: str, subject: Raw) -> None:
        if kind == "ERROR":
            words = subject.get("reason", ""), subject.get("message", "")
            raise ApiError(subject.get("code", 0), *words)
        self._version = str(subject["metadata"]["resourceVersion"])
        self._failures = 0
        if kind != "BOOKMARK":
            self._on_event(kind, subject)
