"""A copy of a collection, kept up to date by the rules of `kube.watch`."""

import threading
from collections.abc import Callable
from http import HTTPStatus

from api.objects import Raw, uid_of
from kube.client import Client, Query
from kube.clock import Clock
from kube.errors import ApiError, Throttled, Transient
from kube.watch import ListWatch
from pdj.errors import Problem
from pdj.gather.jobs import check_served

_Entry = tuple[str, Raw]
CLOSE_SECONDS = 1.0
"""How long to wait for a thread that reads. One whose server has not answered yet ends later."""


class Keeper(ListWatch[_Entry]):
    """Keeps the copy in its own thread inside a `with` block; retries during outages.

    It pauses together with the watch `beside` it, so a server on which no watch of a job lasts gets
    at most ten requests in ten seconds.
    """

    _retry_seconds = (2.0, 8.0)

    def __init__(
        self,
        client: Client,
        path: str,
        query: Query,
        changed: threading.Event,
        clock: Clock,
        beside: "Keeper | None" = None,
    ) -> None:
        super().__init__(client, path, query, clock, beside._backoff if beside else None)
        self._changed = changed
        self._objects: dict[str, Raw] = {}
        self._is_synced = False
        self._lock = threading.Lock()
        """Guards _objects, _is_synced and _error."""
        self._error: ApiError | Problem | None = None
        self._trouble: ApiError | None = None
        """The last failure, None after a list."""
        self._thread = threading.Thread(target=self.run, name="watch", daemon=True)

    def __enter__(self) -> "Keeper":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._thread.join(CLOSE_SECONDS)

    def objects(self) -> list[Raw] | None:
        """The current objects; None before the first list. Raises ApiError after a refusal."""
        with self._lock:
            if self._error is not None:
                raise self._error
            return list(self._objects.values()) if self._is_synced else None

    @property
    def trouble(self) -> ApiError | None:
        """The present outage, or None. During an outage the copy can be old."""
        is_failing = self._failing_since is not None and not self._is_steady()
        return self._trouble if is_failing else None

    def run(self) -> None:
        """Keep the copy until stopped, or until the API server refuses."""
        try:
            super().run()
        except (ApiError, Problem) as error:  # Problem: the login could not be renewed
            with self._lock:
                self._error = error
        self._changed.set()

    def _packer(self) -> Callable[[Raw], _Entry]:
        return lambda obj: (uid_of(obj), obj)

    def _replace(self, entries: list[_Entry], version: str) -> None:
        with self._lock:
            self._objects, self._is_synced = dict(entries), True
        self._trouble = None
        self._changed.set()

    def _change(self, kind: str, obj: Raw) -> None:
        uid = uid_of(obj)
        with self._lock:
            if kind == "DELETED":
                self._objects.pop(uid, None)
            else:
                self._objects[uid] = obj
        self._changed.set()

    def _fail(self, error: ApiError) -> float:
        if error.code == HTTPStatus.NOT_FOUND:
            check_served(self._client)
        if not isinstance(error, Transient | Throttled):
            raise error
        self._trouble = error
        return super()._fail(error)
