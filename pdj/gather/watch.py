"""Follows a collection: lists it, watches it, and lists it again if the watch breaks."""

import math
import random
import threading
from collections.abc import Generator, Iterator
from dataclasses import dataclass

from api.objects import Raw, uid_of
from kube.client import Client, Query, read_events
from kube.clock import Clock
from kube.errors import ApiError, Gone, Throttled, Transient, error_from_status
from kube.http import Stream
from pdj.errors import Problem

READ_SECONDS = 70.0
"""A bookmark comes every minute: a watch that is silent for longer is dead."""
FIRST_PAUSE_SECONDS = 0.5
MAX_PAUSE_SECONDS = 8.0
SHORT_WATCH_SECONDS = 1.0
"""A watch that ends sooner than this and brought nothing counts as failed."""


@dataclass(frozen=True, slots=True)
class Change:
    """An object that exists or, with `is_gone`, one that was deleted. `SYNCED` ends each list."""

    obj: Raw
    is_gone: bool = False


SYNCED = Change({})


class Watch:
    """Iterates over every change of a collection until closed; retries during outages.

    One thread iterates; any other may close. Raises ApiError if the API server refuses.
    """

    def __init__(self, client: Client, path: str, query: Query, clock: Clock | None = None) -> None:
        self._client = client
        self._path = path
        self._query = query
        self._clock = clock or Clock()
        self._closed = threading.Event()
        self._known: dict[str, Raw] = {}
        self._events = 0
        """How many the present watch has brought."""
        self._opened_at = math.inf
        """When it was opened."""
        self.trouble: ApiError | None = None
        """The present outage, or None. Any thread may read it."""
        self._lock = threading.Lock()
        """Guards _stream."""
        self._stream: Stream | None = None

    def close(self) -> None:
        """End the iteration."""
        self._closed.set()
        with self._lock:
            if self._stream is not None:
                self._stream.close()

    def __iter__(self) -> Iterator[Change]:
        pause, version = FIRST_PAUSE_SECONDS, ""
        while not self._closed.is_set():
            is_broken, self._events, self._opened_at = True, 0, math.inf
            try:
                version = version or (yield from self._relist())
                version = yield from self._follow(version)
                is_broken = False
            except Gone:
                version = ""
            except (Transient, Throttled) as error:
                self.trouble, version = error, ""
            is_short = self._clock.monotonic() - self._opened_at < SHORT_WATCH_SECONDS
            if self._events or not is_short:  # a list alone does not end the growth of the pauses
                pause = FIRST_PAUSE_SECONDS
            if is_broken or (is_short and not self._events):
                self._clock.wait(self._closed, pause * random.uniform(0.7, 1.0))
                pause = min(2 * pause, MAX_PAUSE_SECONDS)

    def _relist(self) -> Generator[Change, None, str]:
        items, version = self._client.list(self._path, self._query)
        self.trouble = None
        found = {uid_of(item): item for item in items}
        for uid in [*self._known]:
            if uid not in found:
                yield Change(self._known.pop(uid), is_gone=True)
        for uid, item in found.items():
            self._known[uid] = item
            yield Change(item)
        yield SYNCED
        return version

    def _follow(self, version: str) -> Generator[Change, None, str]:
        query = {
            **self._query,
            "watch": "true",
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": random.randint(300, 600),
        }
        stream = self._client.stream(self._path, query, READ_SECONDS)
        self._opened_at = self._clock.monotonic()
        with self._lock:
            self._stream = stream
        try:
            if self._closed.is_set():
                return version
            for event in map(_check, read_events(stream)):
                version = event["object"]["metadata"].get("resourceVersion") or version
                self._events += 1
                yield from self._take(event)
        finally:
            with self._lock:
                self._stream = None
            stream.release()
        return version

    def _take(self, event: Raw) -> Iterator[Change]:
        obj = event["object"]
        if event["type"] == "BOOKMARK":
            return
        is_gone = event["type"] == "DELETED"
        if is_gone:
            self._known.pop(uid_of(obj), None)
        else:
            self._known[uid_of(obj)] = obj
        yield Change(obj, is_gone)


def _check(event: Raw) -> Raw:
    try:
        if event["type"] == "ERROR":
            raise error_from_status(int(event["object"]["code"]), event["object"], None)
        event["object"]["metadata"]
    except (KeyError, TypeError, ValueError) as error:
        raise Transient(f"the watch event cannot be read: {str(event)[:100]}") from error
    return event


class Keeper:
    """A copy of a collection, kept up to date by its own thread inside a `with` block."""

    def __init__(self, watch: Watch, changed: threading.Event) -> None:
        self._watch = watch
        self._changed = changed
        self._objects: dict[str, Raw] = {}
        self._lock = threading.Lock()
        """Guards _objects, _is_synced and _error."""
        self._is_synced = False
        self._error: ApiError | Problem | None = None
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)

    def __enter__(self) -> "Keeper":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._watch.close()
        self._thread.join()

    def objects(self) -> list[Raw] | None:
        """The current objects; None before the first list. Raises ApiError after a refusal."""
        with self._lock:
            if self._error is not None:
                raise self._error
            return list(self._objects.values()) if self._is_synced else None

    @property
    def trouble(self) -> ApiError | None:
        """The present outage, or None. During an outage the copy can be old."""
        return self._watch.trouble

    def _run(self) -> None:
        try:
            for change in self._watch:
                self._take(change)
        except (ApiError, Problem) as error:  # Problem: the login could not be renewed
            with self._lock:
                self._error = error
        self._changed.set()

    def _take(self, change: Change) -> None:
        with self._lock:
            if change is SYNCED:
                self._is_synced = True
            elif change.is_gone:
                self._objects.pop(uid_of(change.obj), None)
            else:
                self._objects[uid_of(change.obj)] = change.obj
            is_news = self._is_synced
        if is_news:
            self._changed.set()
