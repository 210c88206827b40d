"""Follow a collection of the API server: one thread that lists, watches and calls back.

Callbacks run in the informer's thread, one at a time: first `on_replace` with all objects of a
list, then `on_event` for each change. A lost connection resumes at the last version seen; a version
that the server no longer knows (410) lists again. So does a watch that ends at once with nothing in
it: that is all that a watch of metadata alone says of such a version.
"""

import random
import threading
import traceback
from collections.abc import Callable

from localcluster import clock
from localcluster.node.client import CONNECTION_ERRORS, ApiError, Client, Raw, Watch

WATCH_SECONDS = 300
SHORTEST_WATCH_SECONDS = 1.0
GONE = 410
BACKOFF_SECONDS = (0.2, 0.5, 1.0, 2.0, 5.0)
JSON = "application/json"
METADATA_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"


class Informer(threading.Thread):
    """Lists and watches `path` until stopped."""

    def __init__(
        self,
        client: Client,
        path: str,
        on_replace: Callable[[list[Raw]], None],
        on_event: Callable[[str, Raw], None],
        field_selector: str = "",
        metadata_only: bool = False,
    ) -> None:
        super().__init__(name=f"informer {path}", daemon=True)
        self._client = client
        self._path = path
        self._on_replace = on_replace
        self._on_event = on_event
        self._query = {"fieldSelector": field_selector} if field_selector else {}
        self._accept = METADATA_ONLY if metadata_only else JSON
        self._stopping = threading.Event()
        self._watch: Watch | None = None
        self.synced = threading.Event()

    def run(self) -> None:
        """List and watch until stopped; no error ends it."""
        failures = 0
        version = ""
        while not self._stopping.is_set():
            try:
                version = version or self._list()
                version = self._follow(version)
                failures = 0
            except ApiError as error:
                print(f"cannot follow {self._path}: {error}", flush=True)
                version = "" if error.status == GONE else version
                failures = self._back_off(failures)
            except CONNECTION_ERRORS:
                failures = self._back_off(failures)
            except Exception:  # a callback's: one bad object must not end the watch for all
                traceback.print_exc()
                version = ""
                failures = self._back_off(failures)

    def stop(self) -> None:
        """End the thread, also in the middle of a watch."""
        self._stopping.set()
        if (watch := self._watch) is not None:
            watch.close()

    def _back_off(self, failures: int) -> int:
        delay = BACKOFF_SECONDS[min(failures, len(BACKOFF_SECONDS) - 1)]
        self._stopping.wait(delay * random.uniform(0.8, 1.2))
        return failures + 1

    def _list(self) -> str:
        answer = self._client.get(self._path, **self._query)
        self._on_replace(answer.get("items") or [])
        self.synced.set()
        return str(answer["metadata"]["resourceVersion"])

    def _follow(self, version: str) -> str:
        """Watch from `version` until the watch ends; the last version seen."""
        watch = self._client.watch(
            self._path,
            self._accept,
            WATCH_SECONDS + 30.0,
            watch="true",
            allowWatchBookmarks="true",
            resourceVersion=version,
            timeoutSeconds=str(WATCH_SECONDS),
            **self._query,
        )
        self._watch = watch
        started, first = clock.monotonic(), version
        try:
            for event in watch:
                kind, subject = event["type"], event["object"]
                if kind == "ERROR":
                    raise ApiError(
                        subject.get("code", 0),
                        subject.get("reason", ""),
                        subject.get("message", ""),
                    )
                version = str(subject["metadata"]["resourceVersion"])
                if kind != "BOOKMARK":
                    self._on_event(kind, subject)
        except (*CONNECTION_ERRORS, ValueError, AttributeError):
            # Cut off in the middle, or closed by stop(): what came whole has been delivered.
            if not self._stopping.is_set():
                self._back_off(0)
        finally:
            self._watch = None
            watch.close()
        if version == first and clock.monotonic() - started < SHORTEST_WATCH_SECONDS:
            raise ApiError(GONE, "Expired", "the watch ended at once")
        return version
