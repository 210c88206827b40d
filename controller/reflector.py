"""Keeps one informer in step with the API server: LIST, then WATCH, without end.

A list is read in pages and taken in as a whole, so the store is never half replaced. A watch goes
on from the last version, bookmarks included. What ends it decides what follows:

    the server ended it             the next watch, at once
    nothing came for 70 s           the next watch: bookmarks come each minute, so it was dead
    cut, garbage, refused, ERROR    the next watch, after a growing pause
    410, also as an ERROR event     a new list; what vanished meanwhile becomes deletions
    404                             the kind is not served: empty, and asked for again

One thread runs it; any other may read its state or stop it.
"""

import random
import threading
from dataclasses import dataclass
from typing import Any

import structlog

from api.objects import Raw
from controller import protobuf
from controller.client import JSON, ApiClient, Query, Stream
from controller.clock import Clock
from controller.errors import ApiError, Forbidden, Gone, NotFound, Transient, error_from_status
from controller.informer import Informer
from controller.rate_limiter import Backoff
from controller.store import Entry
from metrics.runtime import ClientMetrics

PAGE_SIZE = 250
"""A page of pods is 2 MB, and ten times that while it is taken apart."""
WATCH_TIMEOUT_SECONDS = (300, 600)
"""The server is asked to end a watch after a time between these."""
READ_TIMEOUT_SECONDS = 70.0
SHORT_WATCH_SECONDS = 1.0
"""A watch that ends sooner than this and brought nothing counts as failed."""
GATHER_SECONDS = 0.1
"""In a crowd a watch that has been read to its end is left alone so long. An event that comes alone
costs six times the CPU of one among many: by its turn others have used the processor's caches."""
FAILING_SECONDS = 10.0
"""A reflector that has failed for so long is not healthy."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What to watch: one namespace or (empty) all, and a label selector or (empty) everything.

    An optional kind that may not be read counts as not served.
    """

    namespace: str = ""
    label_selector: str = ""
    is_optional: bool = False


class Reflector:
    """The loop of one kind."""

    def __init__(
        self,
        client: ApiClient,
        informer: Informer,
        scope: Scope,
        clock: Clock,
        metrics: ClientMetrics,
        log: structlog.typing.FilteringBoundLogger,
    ) -> None:
        self.kind = f"{informer.resource.plural}.{informer.resource.api_version}"
        self._client = client
        self._informer = informer
        self._path = informer.resource.path(scope.namespace)
        is_packed = informer.resource.kind in protobuf.KINDS
        self._accept_list = protobuf.ANSWERS if is_packed else JSON
        self._accept_watch = protobuf.EVENTS if is_packed else JSON
        self._is_optional = scope.is_optional
        self._query: Query = {"labelSelector": scope.label_selector} if scope.label_selector else {}
        self._clock = clock
        self._metrics = metrics
        self._log = log.bind(kind=self.kind)
        self._backoff = Backoff(clock)
        self._stop = threading.Event()
        self._stream_lock = threading.Lock()
        """Guards _stream."""
        self._stream: Stream | None = None
        # Written by the loop alone, read by any thread: single references, so no lock.
        self._version: str | None = None
        self._is_served: bool | None = None
        self._heard_at = clock.monotonic()
        self._failing_since: float | None = None
        self._events = 0
        metrics.watch_age(self.kind, self._age)

    @property
    def has_listed(self) -> bool:
        """Whether the store holds all there is of the kind, or the kind is known to be absent."""
        return self._is_served is not None

    @property
    def is_served(self) -> bool:
        """Whether the API server serves the kind."""
        return bool(self._is_served)

    @property
    def is_healthy(self) -> bool:
        """Whether the store is being kept in step with the API server."""
        since = self._failing_since
        failing = since is not None and self._clock.monotonic() - since > FAILING_SECONDS
        return self.has_listed and not failing

    def run(self) -> None:
        """List and watch until stopped."""
        while not self._stop.is_set():
            pause_seconds = self._attempt()
            if pause_seconds:
                self._clock.wait(self._stop, pause_seconds)

    def stop(self) -> None:
        """End the loop, also from within a read."""
        self._stop.set()
        with self._stream_lock:
            if self._stream is not None:
                self._stream.close()

    def _attempt(self) -> float:
        """One list or one watch; the seconds to pause after it."""
        try:
            return self._list() if self._version is None else self._watch()
        except NotFound:
            return self._become_absent()
        except Gone:
            self._version = None
            return self._pause("watch_expired", None)
        except ApiError as error:
            if self._is_optional and isinstance(error, Forbidden):
                return self._become_absent()
            return self._pause("watch_failed", error)

    def _list(self) -> float:
        started = self._clock.monotonic()
        entries, version = self._read_list()
        self._informer.replace(entries, version)
        self._metrics.relisted(self.kind)
        seconds = round(self._clock.monotonic() - started, 3)
        self._log.info("listed", objects=len(entries), seconds=seconds)
        self._version = version
        self._is_served = True
        self._hear()
        return 0.0

    def _read_list(self) -> tuple[list[Entry], str]:
        try:
            return self._read_pages(PAGE_SIZE)
        except Gone:
            # The pages took longer than the server keeps a version: all in one answer, then.
            return self._read_pages(0)

    def _read_pages(self, limit: int) -> tuple[list[Entry], str]:
        entries: list[Entry] = []
        query = self._query | {"limit": limit}
        while True:
            page = self._client.get(self._path, query, self._accept_list)
            entries += self._pack_all(page.get("items") or ())
            metadata: Raw = page.get("metadata") or {}
            if self._stop.is_set() or not metadata.get("continue"):
                return entries, str(metadata.get("resourceVersion", ""))
            query = query | {"continue": str(metadata["continue"])}

    def _pack_all(self, items: Any) -> list[Entry]:
        kept = []
        for item in items:
            try:
                kept.append(self._informer.pack(item))
            except (KeyError, TypeError, AttributeError) as error:
                self._log.warning("object_unreadable", error=repr(error))
        return kept

    def _watch(self) -> float:
        started = self._clock.monotonic()
        events_before = self._events
        stream = self._open()
        try:
            for event in stream.events(self._let_gather):
                self._take(event)
        finally:
            with self._stream_lock:
                self._stream = None
            stream.release()
        lasted = self._clock.monotonic() - started
        if lasted < SHORT_WATCH_SECONDS and self._events == events_before:
            return self._pause("watch_ended_at_once", None)
        return 0.0

    def _open(self) -> Stream:
        query = self._query | {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._version or "",
            "timeoutSeconds": random.randint(*WATCH_TIMEOUT_SECONDS),
        }
        stream = self._client.watch(self._path, query, READ_TIMEOUT_SECONDS, self._accept_watch)
        with self._stream_lock:
            self._stream = stream
            if self._stop.is_set():  # stopped between the request and here
                stream.close()
        self._failing_since = None
        return stream

    def _let_gather(self) -> None:
        if self._informer.is_crowded():
            self._clock.wait(self._stop, GATHER_SECONDS)

    def _take(self, event: Raw) -> None:
        kind, obj = event.get("type"), event.get("object")
        if not isinstance(obj, dict):
            raise Transient(f"a watch event without an object: {kind}")
        if kind == "ERROR":
            raise error_from_status(int(obj.get("code") or 0), obj, None)
        try:
            self._hand_on(str(kind), obj)
            self._version = str(obj["metadata"]["resourceVersion"])
        except (KeyError, TypeError, AttributeError) as error:
            self._log.warning("object_unreadable", error=repr(error))
        self._events += 1
        self._hear()

    def _hand_on(self, kind: str, obj: Raw) -> None:
        if kind == "BOOKMARK":
            self._informer.advance(str(obj["metadata"]["resourceVersion"]))
        elif kind == "DELETED":
            self._informer.remove(obj)
        else:
            self._informer.put(obj)

    def _hear(self) -> None:
        self._heard_at = self._clock.monotonic()
        self._failing_since = None

    def _become_absent(self) -> float:
        if self._is_served is not False:
            self._log.info("kind_not_served", path=self._path)
            self._informer.replace([], "")
        self._version = None
        self._is_served = False
        self._hear()
        return self._backoff.next_delay()

    def _pause(self, event: str, error: ApiError | None) -> float:
        if self._stop.is_set():
            return 0.0
        seconds = self._backoff.next_delay()
        if error is not None and self._failing_since is None:
            self._failing_since = self._clock.monotonic()
        reason = f"{error.reason}: {error.message}" if error else ""
        self._log.warning(event, error=reason, retry_after_seconds=round(seconds, 1))
        return seconds

    def _age(self) -> float:
        return self._clock.monotonic() - self._heard_at if self.is_served else 0.0
