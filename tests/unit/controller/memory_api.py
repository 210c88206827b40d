"""Objects behind the scripted server: enough of an API server to write to.

Knows: create, get, merge patch, put and delete of single objects; UIDs and one counter of versions;
AlreadyExists, NotFound, Conflict on a version or (but for a status) a UID; the list and the watch
of one namespace's objects of a kind. Does not know: pages, selectors, all namespaces at once,
defaults, validation, graceful deletion, subresources (a status patch changes the object itself).
"""

import threading
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import SplitResult, parse_qs, urlsplit

from controller.cache.store import Store
from controller.client.resources import PADDLE_JOB, POD
from controller.work.applier import Applier
from controller.work.events import EventRecorder
from controller.work.memory import JobMemory
from tests.memory.world import merge
from tests.unit.controller.fakes import Step, reply, status, stream

Raw = dict[str, Any]
Fault = Callable[[str, str], Step | None]


class MemoryApi:
    """A step for the scripted server. `fault` may answer (method, path) in its place."""

    def __init__(self, server: Any) -> None:
        self.objects: dict[str, Raw] = {}
        self.writes: list[tuple[str, str, Raw | None]] = []
        self.fault: Fault = lambda _method, _path: None
        self.is_watch_silent = False
        self._changed = threading.Condition()
        self._version = 100
        self._events: list[tuple[int, str, Raw]] = []
        """Of each change its version, its collection, and what watches tell of it."""
        self._is_over: threading.Event = server.released
        server.steps = [self]

    def put(self, path: str, obj: Raw) -> Raw:
        with self._changed:
            self._version += 1
            metadata = {
                "uid": f"uid-{self._version}",
                **(obj.get("metadata") or {}),
                "resourceVersion": str(self._version),
                "name": path.rpartition("/")[2],
            }
            type_ = "MODIFIED" if path in self.objects else "ADDED"
            self.objects[path] = {**obj, "metadata": metadata}
            self._note(type_, path, self.objects[path])
            return self.objects[path]

    def remove(self, path: str) -> Raw:
        with self._changed:
            self._version += 1
            gone = self.objects.pop(path)
            gone = {**gone, "metadata": {**gone["metadata"], "resourceVersion": str(self._version)}}
            self._note("DELETED", path, gone)
            return gone

    def paths(self, method: str) -> list[str]:
        """What was written with this method, in order of arrival."""
        return [path for verb, path, _ in self.writes if verb == method]

    def __call__(self, handler: Any) -> None:
        method, url = handler.command, urlsplit(handler.path)
        with self._changed:
            body = handler.seen.body
            if method != "GET":
                self.writes.append((method, url.path, body))
            step = self.fault(method, url.path) or self._answer(method, url, body)
        step(handler)

    def _note(self, type_: str, path: str, obj: Raw) -> None:
        event = {"type": type_, "object": obj}
        self._events.append((self._version, path.rpartition("/")[0], event))
        self._changed.notify_all()

    def _answer(self, method: str, url: SplitResult, body: Raw | None) -> Step:
        path = url.path
        if method == "POST":
            return self._create(path, body or {})
        if method == "GET" and _is_collection(path):
            return self._list_or_watch(path, parse_qs(url.query))
        is_status = path.endswith("/status")
        path = path.removesuffix("/status")
        there = self.objects.get(path)
        if there is None:
            return reply(404, status(404, "NotFound", f"{path} not found"))
        if method == "GET":
            return reply(200, there)
        if method == "DELETE":
            return self._delete(path, there, body or {})
        if is_status:
            # As the API server does for a custom resource: no UID is looked at.
            (body or {}).get("metadata", {}).pop("uid", None)
        return self._change(method, path, there, body or {})

    def _list_or_watch(self, collection: str, query: dict[str, list[str]]) -> Step:
        if "watch" in query:
            version = int(query["resourceVersion"][0])
            return stream(more=self._events_after(version, collection))
        items = [o for path, o in self.objects.items() if path.rpartition("/")[0] == collection]
        return reply(200, {"items": items, "metadata": {"resourceVersion": str(self._version)}})

    def _events_after(self, version: int, collection: str) -> Iterator[Raw]:
        """As they come, until the end of the test."""
        told = 0
        while not self._is_over.is_set():
            with self._changed:
                self._changed.wait(0.1 if told == len(self._events) else 0)
                if self.is_watch_silent:
                    continue
                news, told = self._events[told:], len(self._events)
            for at, where, event in news:
                if at > version and where == collection:
                    yield event

    def _create(self, collection: str, body: Raw) -> Step:
        path = f"{collection}/{body['metadata']['name']}"
        if path in self.objects:
            return reply(409, status(409, "AlreadyExists", f"{path} already exists"))
        return reply(201, self.put(path, body))

    def _delete(self, path: str, there: Raw, options: Raw) -> Step:
        wanted = (options.get("preconditions") or {}).get("uid")
        if wanted and wanted != there["metadata"]["uid"]:
            return reply(409, status(409, "Conflict", "another UID"))
        return reply(200, self.remove(path))

    def _change(self, method: str, path: str, there: Raw, body: Raw) -> Step:
        asked = body.get("metadata") or {}
        for field in ("uid", "resourceVersion"):
            if asked.get(field, there["metadata"][field]) != there["metadata"][field]:
                return reply(409, status(409, "Conflict", f"another {field}"))
        changed = body if method == "PUT" else merge(there, body)
        return reply(200, self.put(path, changed))


class Writes:
    """An applier, the API behind it, and the store that its writes have not reached."""

    def __init__(self, client: Any, server: Any, clock: Any, metrics: Any, log: Any) -> None:
        self.api, self.metrics = MemoryApi(server), metrics
        self.store = Store((PADDLE_JOB, POD))
        self.memory = JobMemory(self.store, clock)
        self.recorder = EventRecorder(client, clock, metrics, log)
        self.applier = Applier(client, self.memory, self.recorder, metrics, self.is_backlogged)

    def is_backlogged(self, _namespace: str) -> bool:
        """Whether jobs of the namespace wait for a worker."""
        return False


def _is_collection(path: str) -> bool:
    """`/api/v1/pods` and `/apis/GROUP/VERSION/namespaces/NAME/pods`; an object has a name more."""
    parts = path.strip("/").split("/")
    return len(parts[2 if parts[0] == "api" else 3 :]) in (1, 3)
