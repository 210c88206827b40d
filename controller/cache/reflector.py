"""Keeps the store's copy of one kind up to date: LIST, then WATCH, until stopped.

A list is read in pages and stored as a whole, so the store is never half replaced. A page that is
too large is read again with half as many objects, so that large objects take no more memory. A
watch resumes from the last version seen, bookmarks included. When a watch ends, this follows:

    the server ended it             the next watch, at once
    nothing came for 70 s           a new list: bookmarks come each minute, so it was dead, or the
                                    server does not know the version: its etcd was restored
    cut, garbage, refused, ERROR    the next watch, after a pause that grows until a watch lasts
    nobody answers                  the next watch, after two seconds at most, for it costs little
    no watch for 1.5 seconds        a new list: etcd was perhaps restored meanwhile
    410, also as an ERROR event     a new list, at once if the last list is older than 30 s; objects
                                    that vanished meanwhile are treated as deleted
    404 of a kind that discovery    the kind is not served: its table is emptied, and the list is
    does not name either            tried again

An object that cannot be read is skipped, as if it did not exist, and the watch goes on. If memory
runs out, the object is not to blame: everything is listed again after a pause.

One thread runs it; any other thread can read its state or stop it.
"""

import random
import threading
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import structlog
from cachetools import LRUCache

from api.objects import Raw
from api.ownership import Key
from controller.backoff import Backoff
from controller.cache.event_handler import EventHandler
from controller.cache.store import Entry, Room
from controller.client import protobuf
from controller.client.api import ApiClient, read_events
from kube.client import JSON, Query, is_served
from kube.clock import Clock
from kube.errors import (
    ApiError,
    Forbidden,
    Gone,
    NotFound,
    Silent,
    TooLarge,
    Transient,
    Unreachable,
    error_from_status,
)
from kube.http import Stream
from metrics.runtime import ClientMetrics

PAGE_SIZE = 250
"""A page of pods is 2 MB, and ten times that while it is parsed."""
MAX_PAGE_BYTES = 4 << 20
"""Only a page of one object, or a list that is read as a whole, can be larger."""
WATCH_TIMEOUT_SECONDS = (300, 600)
"""The server is asked to end a watch after a time between these."""
READ_TIMEOUT_SECONDS = 70.0
SILENT_SECONDS = 120.0
"""A kind whose watch has brought nothing for this long is not healthy."""
SHORT_WATCH_SECONDS = 1.0
"""A watch that ends sooner than this and brought nothing counts as failed."""
FAILING_SECONDS = 10.0
"""A reflector that has failed for this long, and brought nothing meanwhile, is not healthy."""
RECONNECT_SECONDS = (0.5, 1.0)
"""The first and the longest pause while nobody answers, before jitter is added."""
RETRY_SECONDS = (0.7, 15.0)
"""The first and the longest pause after other failures. The first is always below AWAY_SECONDS."""
AWAY_SECONDS = 1.5
"""After this long without a watch, the kind is listed again, because etcd was perhaps restored.
Then versions start lower and soon reach the last one seen; a watch from there misses changes. For a
restore the API server restarts, which takes at least 1.8 s (Kubernetes 1.36, idle machine)."""
RELIST_SECONDS = 30.0
"""If a list expires sooner than this, there is a pause before the next one."""
STEADY_SECONDS = 2.0
"""A watch that stays open for this long is a success, even without events."""
LASTING_SECONDS = 10.0
"""The pauses start over after a watch that lasted this long: load balancers cut idle watches."""
_MAX_SKIPPED = 1000


@dataclass(frozen=True, slots=True)
class Scope:
    """Which objects to watch. An empty field means all namespaces, or any labels.

    If `is_optional`, a kind that the operator has no right to read counts as not served.
    """

    namespace: str = ""
    label_selector: str = ""
    is_optional: bool = False


class Reflector:
    """Lists and watches one kind."""

    def __init__(
        self,
        client: ApiClient,
        handler: EventHandler,
        scope: Scope,
        clock: Clock,
        metrics: ClientMetrics,
        log: structlog.typing.FilteringBoundLogger,
    ) -> None:
        self.kind = f"{handler.resource.plural}.{handler.resource.api_version}"
        self.namespace = scope.namespace
        self._client = client
        self._handler = handler
        self._resource = handler.resource
        self._path = handler.resource.path(scope.namespace)
        is_packed = handler.resource.kind in protobuf.KINDS
        self._accept_list = protobuf.ANSWERS if is_packed else JSON
        self._accept_watch = protobuf.EVENTS if is_packed else JSON
        self._is_optional = scope.is_optional
        self._query: Query = {"labelSelector": scope.label_selector} if scope.label_selector else {}
        self._clock = clock
        self._metrics = metrics
        where = {"namespace": scope.namespace} if scope.namespace else {}
        self._log = log.bind(kind=self.kind, **where)
        self._backoff = Backoff(clock, *RETRY_SECONDS)
        self._reconnects = Backoff(clock, *RECONNECT_SECONDS)
        self._stop = threading.Event()
        self._stream_lock = threading.Lock()
        """Guards _stream."""
        self._stream: Stream | None = None
        # Only the loop writes these (not _lists_asked). Single references are read without a lock.
        self._version: str | None = None
        self._listed_at = clock.monotonic()
        self._is_served: bool | None = None
        self.is_refused = self.is_forbidden = False
        """No right to read the kind: is_refused if it is needed, is_forbidden if it is optional."""
        self._heard_at = clock.monotonic()
        self._failing_since: float | None = None
        self._left_at = clock.monotonic()
        """When the last list or watch ended."""
        self._opened_at: float | None = None
        """When the stream that is being read was opened."""
        self._lists_asked = 0
        """How often another thread asked for a list. A list answers all requests before it."""
        self._events = self._lists_answered = 0
        self._skipped: LRUCache[Key, str] = LRUCache(_MAX_SKIPPED)
        """The version of each unreadable object that was logged, so that it is logged only once."""
        metrics.watch_age(self.kind, self._age)

    @property
    def has_listed(self) -> bool:
        """Whether the store has got a full list, or the kind is known not to be served."""
        return self._is_served is not None

    @property
    def is_current(self) -> bool:
        """Whether the store is as new as the last `list_again`; True if the kind is not served."""
        return self.has_listed and not (self.is_served and self._is_behind())

    @property
    def is_served(self) -> bool:
        """Whether the API server serves the kind to the operator, as far as is known."""
        return bool(self._is_served)

    @property
    def is_healthy(self) -> bool:
        """Whether the store's copy is being kept up to date."""
        since = self._failing_since
        failing = since is not None and self._clock.monotonic() - since > FAILING_SECONDS
        quiet_since = max(self._heard_at, self._opened_at or self._heard_at)
        is_silent = self.is_served and self._clock.monotonic() - quiet_since > SILENT_SECONDS
        return self.has_listed and not is_silent and (not failing or self._is_steady())

    def run(self) -> None:
        """List and watch until stopped."""
        while not self._stop.is_set():
            pause_seconds = self._attempt()
            if pause_seconds:
                self._clock.wait(self._stop, pause_seconds)

    def list_again(self) -> None:
        """End the watch, which can lag, and list now. Only one thread is allowed to call this."""
        self._lists_asked += 1
        with self._stream_lock:
            if self._stream is not None:
                self._stream.close()

    def stop(self) -> None:
        """End the loop, even during a read."""
        self._stop.set()
        with self._stream_lock:
            if self._stream is not None:
                self._stream.close()

    def _attempt(self) -> float:
        """Do one list or one watch; returns the seconds to pause after it."""
        if self._is_behind() or self._is_away():
            self._version = None
        try:
            return self._list() if self._version is None else self._watch()
        except (Gone, Silent) as error:
            return self._expire(error)
        except ApiError as error:
            if self._shows_absence(error):
                self.is_forbidden = isinstance(error, Forbidden)
                return self._become_absent()
            return self._pause("watch_failed", error)
        except MemoryError:
            self._version = None
            return self._pause("watch_failed", Transient("out of memory"))

    def _expire(self, error: ApiError) -> float:
        """Drop the version, so that a list follows; returns the seconds to pause before it."""
        is_first = self._clock.monotonic() - self._listed_at >= RELIST_SECONDS
        watched, self._version = self._version, None
        return 0.0 if watched and is_first else self._pause("watch_expired", error)

    def _shows_absence(self, error: ApiError) -> bool:
        """Whether the API server says that it has no such kind, or forbids us an optional one."""
        if isinstance(error, Forbidden):
            return self._is_optional
        if error.code != HTTPStatus.NOT_FOUND or not self._resource.group:
            return False
        group, plural = self._resource.api_version, self._resource.plural
        try:
            return isinstance(error, NotFound) or not is_served(self._client, group, plural)
        except ApiError as unanswered:
            return self._is_optional and isinstance(unanswered, Forbidden)

    def _list(self) -> float:
        started, asked = self._clock.monotonic(), self._lists_asked
        entries, version = self._read_list()
        self._handler.replace(entries, version)
        self._metrics.relisted(self.kind)
        seconds = round(self._clock.monotonic() - started, 3)
        self._log.info("listed", objects=len(entries), seconds=seconds)
        self._version = version
        self._listed_at = self._left_at = self._heard_at = self._clock.monotonic()
        self._is_served, self.is_refused, self.is_forbidden = True, False, False
        self._lists_answered = asked
        return 0.0

    def _read_list(self) -> tuple[list[Entry], str]:
        try:
            return self._read_pages(PAGE_SIZE)
        except Gone:
            # Reading the pages took longer than the server keeps a version: ask for all in one.
            return self._read_pages(0)

    def _read_pages(self, limit: int) -> tuple[list[Entry], str]:
        entries: list[Entry] = []
        query, room = self._query, Room()
        while True:
            max_bytes = MAX_PAGE_BYTES if limit > 1 else None
            try:
                asked = query | {"limit": limit}
                page = self._client.get(self._path, asked, self._accept_list, max_bytes)
            except TooLarge:
                limit //= 2
                continue
            # Limited page by page: what the store would not keep is freed at once.
            packed = self._pack_all(page.get("items") or ())
            entries += [room.admit(self._resource, entry) for entry in packed]
            metadata: Raw = page.get("metadata") or {}
            version = str(metadata.get("resourceVersion") or "")
            if not version:
                raise Transient("the answer is not a list: it has no version")
            if self._stop.is_set() or not metadata.get("continue"):
                return entries, version
            query = query | {"continue": str(metadata["continue"])}
            limit = min(2 * limit, PAGE_SIZE)

    def _pack_all(self, items: Any) -> list[Entry]:
        kept = []
        for item in items:
            try:
                kept.append(self._handler.pack(item))
            except Exception as error:  # one malformed object must not end the loop
                self._skip(item, error)
        return kept

    def _skip(self, obj: Any, error: Exception) -> Key:
        """Skip an object; returns its key, if it has one. A MemoryError is raised again."""
        if isinstance(error, MemoryError):
            raise error
        key, version = _place_of(obj)
        self._metrics.skipped(self.kind)
        if self._skipped.get(key) != version:
            self._skipped[key] = version
            place = f"{key.namespace}/{key.name}"
            self._log.warning("object_unreadable", object=place, version=version, error=repr(error))
        return key

    def _watch(self) -> float:
        started, events_before = self._clock.monotonic(), self._events
        stream = self._open()
        try:
            if self._left_at > self._listed_at and self._is_away():
                raise Gone("opening the watch took too long")
            for event in read_events(stream):
                self._take(event)
        finally:
            with self._stream_lock:
                self._stream = None
            stream.release()
            if self._is_steady():
                self._failing_since = None
            if self._is_steady(LASTING_SECONDS):
                self._backoff.reset()
            self._opened_at, self._left_at = None, self._clock.monotonic()
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
        stream = self._client.stream(self._path, query, READ_TIMEOUT_SECONDS, self._accept_watch)
        with self._stream_lock:
            self._stream = stream
            if self._stop.is_set() or self._is_behind():  # since the request was sent
                stream.close()
        self._opened_at = self._clock.monotonic()
        return stream

    def _is_away(self) -> bool:
        return self._clock.monotonic() - self._left_at >= AWAY_SECONDS

    def _is_steady(self, seconds: float = STEADY_SECONDS) -> bool:
        """Whether a stream has been open long enough to count as a success."""
        opened = self._opened_at
        return opened is not None and self._clock.monotonic() - opened >= seconds

    def _take(self, event: Raw) -> None:
        kind, obj = event.get("type"), event.get("object")
        if not isinstance(obj, dict):
            raise Transient(f"a watch event without an object: {kind}")
        if kind == "ERROR":
            raise error_from_status(int(obj.get("code") or 0), obj, None)
        version = _place_of(obj)[1]
        try:
            self._hand_on(str(kind), obj)
        except Exception as error:  # one malformed object must not end the loop
            self._handler.discard(self._skip(obj, error), version)
        self._version = version or self._version
        self._events += 1
        self._hear()

    def _hand_on(self, kind: str, obj: Raw) -> None:
        if kind == "BOOKMARK":
            self._handler.advance(str(obj["metadata"]["resourceVersion"]))
        elif kind == "DELETED":
            self._handler.remove(obj)
        else:
            self._handler.put(obj)

    def _hear(self) -> None:
        self._heard_at = self._clock.monotonic()
        self._failing_since = None
        self.is_refused = False

    def _become_absent(self) -> float:
        was_absent, self._is_served = self._is_served is False, False
        if not was_absent:
            self._log.info("kind_not_served", path=self._path)
            self._handler.replace([], "")  # after _is_served is set: else nodes seem lost
        self._version = None
        self._hear()
        return self._backoff.next_delay()

    def _pause(self, event: str, error: ApiError | None) -> float:
        if self._stop.is_set() or (self._version is not None and self._is_behind()):
            return 0.0  # this process closed the stream
        is_away = isinstance(error, Unreachable)
        self.is_refused = isinstance(error, Forbidden)
        seconds = (self._reconnects if is_away else self._backoff).next_delay()
        if self._failing_since is None:
            self._failing_since = self._clock.monotonic()
        reason = f"{error.reason}: {error.message}" if error else ""
        self._log.warning(event, error=reason, retry_after_seconds=round(seconds, 1))
        return seconds

    def _is_behind(self) -> bool:
        return self._lists_answered != self._lists_asked

    def _age(self) -> float:
        return self._clock.monotonic() - self._heard_at if self.is_served else 0.0


def _place_of(obj: Any) -> tuple[Key, str]:
    """An object's key and version, with empty strings for what it lacks."""
    metadata = obj.get("metadata") if isinstance(obj, dict) else None
    found: Raw = metadata if isinstance(metadata, dict) else {}
    key = Key(str(found.get("namespace") or ""), str(found.get("name") or ""))
    return key, str(found.get("resourceVersion") or "")
