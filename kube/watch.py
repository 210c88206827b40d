"""Keeps a copy of one collection up to date: LIST, then WATCH, until stopped.

A list is read in pages and handed on as a whole. A page that is too large is read again with half
as many objects, so that large objects take no more memory. A watch resumes from the last version
seen, bookmarks included. When a watch ends, this follows:

    the server ended it             the next watch, at once
    it ended within a second        the next watch, after a pause that grows until a watch lasts
    nothing came for 70 s           a new list: bookmarks come each minute, so it was dead, or the
                                    server does not know the version: its etcd was restored
    cut, garbage, refused, ERROR    the next watch, after a pause that grows until a watch lasts
    nobody answers                  the next watch, after two seconds at most, for it costs little;
                                    but not if lists are answered
    no watch for 1.5 seconds        a new list: etcd was perhaps restored meanwhile
    410, also as an ERROR event     a new list, at once if the last list is older than 30 s

An object that cannot be read is skipped, as if it did not exist, and the watch goes on. If memory
runs out, the object is not to blame: everything is listed again after a pause.

One thread runs it; any other thread can stop it or ask for a list.
"""

import random
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from api.objects import Raw
from kube.backoff import Backoff
from kube.client import JSON, Client, Query, read_events, version_of
from kube.clock import Clock
from kube.errors import ApiError, Gone, Silent, Transient, Unreachable, error_from_status
from kube.http import Stream

PAGE_SIZE = 250
"""A page of pods is 2 MB, and ten times that while it is parsed."""
MAX_PAGE_BYTES = 4 << 20
WATCH_TIMEOUT_SECONDS = (300, 600)
"""The server is asked to end a watch after a time between these."""
READ_TIMEOUT_SECONDS = 70.0
SHORT_WATCH_SECONDS = 1.0
"""A watch that ends sooner than this counts as failed, whatever it brought."""
RECONNECT_SECONDS = (0.5, 1.0)
"""The first and the longest pause while nobody answers, before jitter is added."""
RETRY_SECONDS = (0.7, 15.0)
"""The first and the longest pause after other failures. The first is always below AWAY_SECONDS."""
AWAY_SECONDS = 1.5
"""After this long without a watch, a list is read again, because etcd was perhaps restored.
Then versions start lower and soon reach the last one seen; a watch from there misses changes. For a
restore the API server restarts, which takes at least 1.8 s (Kubernetes 1.36, idle machine)."""
RELIST_SECONDS = 30.0
"""If a list expires sooner than this, there is a pause before the next one."""
STEADY_SECONDS = 2.0
"""A watch that stays open for this long is a success, even without events."""
LASTING_SECONDS = 10.0
"""The pauses start over after a watch that lasted this long: load balancers cut idle watches."""

Packed = TypeVar("Packed")


class ListWatch(Generic[Packed]):
    """Lists and watches one collection. A subclass keeps the copy; the loop's thread calls it.

    `accept` has the formats that are asked for in lists and watches. With one `backoff`, several
    watches of a server that fails pause together; without, it has the pauses of `_retry_seconds`.
    """

    _retry_seconds = RETRY_SECONDS
    _read_events = staticmethod(read_events)

    def __init__(
        self,
        client: Client,
        path: str,
        query: Query,
        clock: Clock,
        backoff: Backoff | None = None,
        accept: tuple[str, str] = (JSON, JSON),
    ) -> None:
        self._client = client
        self._path = path
        self._query = query
        self._clock = clock
        self._accept_list, self._accept_watch = accept
        self._backoff = backoff or Backoff(clock, *self._retry_seconds)
        self._reconnects = Backoff(clock, *RECONNECT_SECONDS)
        self._stop = threading.Event()
        self._stream_lock = threading.Lock()
        """Guards _stream."""
        self._stream: Stream | None = None
        # Only the loop writes these (not _lists_asked). Single references are read without a lock.
        self._version: str | None = None
        self._listed_at = self._heard_at = self._began_at = self._left_at = clock.monotonic()
        """_began_at: when the present list or watch began. _left_at: when the last one ended."""
        self._failing_since: float | None = None
        self._opened_at: float | None = None
        """When the stream that is being read was opened."""
        self._lists_asked = 0
        """How often another thread asked for a list. A list answers all requests before it."""
        self._lists_answered = 0

    # For the subclass

    def _packer(self) -> Callable[[Raw], Packed]:
        """A function for one list, which packs each of its objects as they are to be kept."""
        raise NotImplementedError

    def _replace(self, entries: list[Packed], version: str) -> None:
        """Take a full list. Objects that vanished meanwhile are not in it."""
        raise NotImplementedError

    def _change(self, kind: str, obj: Raw) -> None:
        """Take a change: ADDED, MODIFIED or DELETED."""
        raise NotImplementedError

    def _advance(self, version: str) -> None:
        """Note that every change up to this version has been seen."""

    def _skip(self, obj: Any, error: Exception, is_change: bool) -> None:
        """Note that an object of a list, or a change, could not be packed or taken."""

    def _fail(self, error: ApiError) -> float:
        """Return the seconds to pause after a list or watch that failed, or raise to end."""
        return self._pause("watch_failed", error)

    def run(self) -> None:
        """List and watch until stopped."""
        while not self._stop.is_set():
            pause_seconds = self._attempt()
            if pause_seconds:
                self._clock.wait(self._stop, pause_seconds)

    def list_again(self) -> None:
        """End the watch, which can lag, and list now. Only one thread is allowed to call this."""
        self._lists_asked += 1
        self._close_stream()

    def stop(self) -> None:
        """End the loop, even during a read."""
        self._stop.set()
        self._close_stream()

    def _close_stream(self) -> None:
        with self._stream_lock:
            if self._stream is not None:
                self._stream.close()

    def _attempt(self) -> float:
        """Do one list or one watch; returns the seconds to pause after it."""
        if self._is_behind() or self._is_away():
            self._version = None
        self._began_at = self._clock.monotonic()
        try:
            return self._list() if self._version is None else self._watch(self._version)
        except (Gone, Silent) as error:
            return self._expire(error)
        except ApiError as error:
            return self._fail(error)
        except MemoryError:
            self._version = None
            return self._fail(Transient("out of memory"))

    def _expire(self, error: ApiError) -> float:
        """Drop the version, so that a list follows; returns the seconds to pause before it."""
        is_first = self._clock.monotonic() - self._listed_at >= RELIST_SECONDS
        watched, self._version = self._version, None
        return 0.0 if watched and is_first else self._pause("watch_expired", error)

    def _list(self) -> float:
        asked = self._lists_asked
        try:
            entries, version = self._read_pages(PAGE_SIZE)
        except Gone:
            # Reading the pages took longer than the server keeps a version: ask for all in one.
            entries, version = self._read_pages(0)
        self._replace(entries, version)
        self._version = version
        self._listed_at = self._left_at = self._heard_at = self._clock.monotonic()
        self._lists_answered = asked
        return 0.0

    def _read_pages(self, limit: int) -> tuple[list[Packed], str]:
        entries: list[Packed] = []
        pack, version = self._packer(), ""
        where = self._path, self._query
        for page in self._client.pages(*where, limit, MAX_PAGE_BYTES, self._accept_list):
            if "items" not in page:
                raise Transient("the answer is not a list")
            # Page by page: what is not kept is freed at once.
            entries += self._pack_all(pack, page["items"] or ())
            version = version_of(page)
            if self._stop.is_set():
                break
        return entries, version

    def _pack_all(self, pack: Callable[[Raw], Packed], items: Any) -> list[Packed]:
        kept = []
        for item in items:
            try:
                kept.append(pack(item))
            except MemoryError:
                raise
            except Exception as error:  # one malformed object must not end the loop
                self._skip(item, error, is_change=False)
        return kept

    def _watch(self, version: str) -> float:
        stream = self._open(version)
        try:
            if self._left_at > self._listed_at and self._is_away():
                raise Gone("opening the watch took too long")
            for event in self._read_events(stream):
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
        if self._left_at - self._began_at < SHORT_WATCH_SECONDS:
            return self._pause("watch_ended_at_once", None)
        return 0.0

    def _open(self, version: str) -> Stream:
        query = self._query | {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": random.randint(*WATCH_TIMEOUT_SECONDS),
        }
        stream = self._client.stream(self._path, query, READ_TIMEOUT_SECONDS, self._accept_watch)
        with self._stream_lock:
            self._stream = stream
            if self._stop.is_set() or self._is_behind():  # since the request was sent
                stream.close()
        self._opened_at = self._clock.monotonic()
        return stream

    def _take(self, event: Raw) -> None:
        kind, obj = event.get("type"), event.get("object")
        if not isinstance(obj, dict):
            raise Transient(f"a watch event without an object: {kind}")
        if kind == "ERROR":
            code = obj.get("code")
            raise error_from_status(code if isinstance(code, int) else 0, obj, None)
        version = version_of(obj)
        try:
            if kind == "BOOKMARK":
                self._advance(version)
            else:
                self._change(str(kind), obj)
        except MemoryError:
            raise
        except Exception as error:  # one malformed object must not end the loop
            self._skip(obj, error, is_change=True)
        self._version = version or self._version
        self._hear()

    def _hear(self) -> None:
        self._heard_at = self._clock.monotonic()
        self._failing_since = None

    def _pause(self, event: str, error: ApiError | None) -> float:
        """Note a failure; returns the seconds to pause. The event is its name in the log."""
        if self._stop.is_set() or (self._version is not None and self._is_behind()):
            return 0.0  # this process closed the stream
        is_listed = self._version is not None and self._left_at == self._listed_at
        is_away = isinstance(error, Unreachable) and not is_listed
        if self._failing_since is None:
            self._failing_since = self._clock.monotonic()
        return (self._reconnects if is_away else self._backoff).next_delay()

    def _is_away(self) -> bool:
        return self._clock.monotonic() - self._left_at >= AWAY_SECONDS

    def _is_steady(self, seconds: float = STEADY_SECONDS) -> bool:
        """Whether a stream has been open long enough to count as a success."""
        opened = self._opened_at
        return opened is not None and self._clock.monotonic() - opened >= seconds

    def _is_behind(self) -> bool:
        return self._lists_answered != self._lists_asked
