"""Keeps the store's copy of one kind up to date, by the rules of `kube.watch`.

The store is never half replaced, and objects that vanished between two lists are treated as
deleted. One more case follows a list or watch that has failed:

    404 of a kind that discovery    the kind is not served: its table is emptied, and the list is
    does not name either            tried again

One thread runs it; any other thread can read its state or stop it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import structlog
from cachetools import LRUCache

from api.objects import Raw
from api.ownership import Key
from controller.cache.event_handler import EventHandler
from controller.cache.store import Entry, Room
from controller.client import protobuf
from controller.client.api import ApiClient, read_events
from kube.client import JSON, is_served, version_of
from kube.clock import Clock
from kube.errors import ApiError, Forbidden, NotFound, Transient
from kube.watch import ListWatch
from metrics.runtime import ClientMetrics

SILENT_SECONDS = 120.0
"""A kind whose watch has brought nothing for this long is not healthy."""
FAILING_SECONDS = 10.0
"""A reflector that has failed for this long, and brought nothing meanwhile, is not healthy."""
_MAX_SKIPPED = 1000


@dataclass(frozen=True, slots=True)
class Scope:
    """Which objects to watch. An empty field means all namespaces, or any labels.

    If `is_optional`, a kind that the operator has no right to read counts as not served.
    """

    namespace: str = ""
    label_selector: str = ""
    is_optional: bool = False


class Reflector(ListWatch[Entry]):
    """Lists and watches one kind."""

    _read_events = staticmethod(read_events)

    def __init__(
        self,
        client: ApiClient,
        handler: EventHandler,
        scope: Scope,
        clock: Clock,
        metrics: ClientMetrics,
        log: structlog.typing.FilteringBoundLogger,
    ) -> None:
        resource, is_packed = handler.resource, handler.resource.kind in protobuf.KINDS
        super().__init__(
            client,
            resource.path(scope.namespace),
            {"labelSelector": scope.label_selector} if scope.label_selector else {},
            clock,
            accept=(protobuf.ANSWERS, protobuf.EVENTS) if is_packed else (JSON, JSON),
        )
        self.kind = f"{resource.plural}.{resource.api_version}"
        self.namespace = scope.namespace
        self._handler = handler
        self._resource = resource
        self._is_optional = scope.is_optional
        self._metrics = metrics
        where = {"namespace": scope.namespace} if scope.namespace else {}
        self._log = log.bind(kind=self.kind, **where)
        # Only the loop writes these.
        self._is_served: bool | None = None
        self.is_refused = self.is_forbidden = False
        """No right to read the kind: is_refused if it is needed, is_forbidden if it is optional."""
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

    def _packer(self) -> Callable[[Raw], Entry]:
        room = Room()
        return lambda obj: room.admit(self._resource, self._handler.pack(obj))

    def _replace(self, entries: list[Entry], version: str) -> None:
        if not version:
            raise Transient("the list has no version")
        self._handler.replace(entries, version)
        self._metrics.relisted(self.kind)
        seconds = round(self._clock.monotonic() - self._began_at, 3)
        self._log.info("listed", objects=len(entries), seconds=seconds)
        self._is_served, self.is_refused, self.is_forbidden = True, False, False

    def _change(self, kind: str, obj: Raw) -> None:
        self.is_refused = False
        if kind == "DELETED":
            self._handler.remove(obj)
        else:
            self._handler.put(obj)

    def _advance(self, version: str) -> None:
        self.is_refused = False
        self._handler.advance(version)

    def _skip(self, obj: Any, error: Exception, is_change: bool) -> None:
        key, version = _key_of(obj), version_of(obj)
        self._metrics.skipped(self.kind)
        if self._skipped.get(key) != version:
            self._skipped[key] = version
            place = f"{key.namespace}/{key.name}"
            self._log.warning("object_unreadable", object=place, version=version, error=repr(error))
        if is_change:
            self._handler.discard(key, version)

    def _fail(self, error: ApiError) -> float:
        if not self._shows_absence(error):
            return super()._fail(error)
        self.is_forbidden = isinstance(error, Forbidden)
        was_absent, self._is_served = self._is_served is False, False
        if not was_absent:
            self._log.info("kind_not_served", path=self._path)
            self._handler.replace([], "")  # after _is_served is set: else nodes seem lost
        self._version, self.is_refused = None, False
        self._hear()
        return self._backoff.next_delay()

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

    def _pause(self, event: str, error: ApiError | None) -> float:
        seconds = super()._pause(event, error)
        if seconds:
            self.is_refused = isinstance(error, Forbidden)
            reason = f"{error.reason}: {error.message}" if error else ""
            self._log.warning(event, error=reason, retry_after_seconds=round(seconds, 1))
        return seconds

    def _age(self) -> float:
        return self._clock.monotonic() - self._heard_at if self.is_served else 0.0


def _key_of(obj: Any) -> Key:
    """An object's key, with empty strings for what it lacks."""
    metadata = obj.get("metadata") if isinstance(obj, dict) else None
    found: Raw = metadata if isinstance(metadata, dict) else {}
    return Key(str(found.get("namespace") or ""), str(found.get("name") or ""))
