"""Objects behind the scripted server: enough of an API server to write to.

Knows: create, get, merge patch, put and delete of single objects; UIDs and one counter of versions;
AlreadyExists, NotFound, Conflict on a version or (but for a status) a UID. Does not know: lists,
watches, defaults, validation, graceful deletion, subresources (a status patch changes the object
itself).
"""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import urlsplit

from tests.unit.controller.fakes import Step, reply, status

Raw = dict[str, Any]
Fault = Callable[[str, str], Step | None]


class MemoryApi:
    """A step for the scripted server. `fault` may answer (method, path) in its place."""

    def __init__(self, server: Any) -> None:
        self.objects: dict[str, Raw] = {}
        self.writes: list[tuple[str, str, Raw | None]] = []
        self.fault: Fault = lambda _method, _path: None
        self._lock = threading.Lock()
        self._version = 100
        server.steps = [self]

    def put(self, path: str, obj: Raw) -> Raw:
        """Have an object there."""
        self._version += 1
        metadata = {
            "uid": f"uid-{self._version}",
            **(obj.get("metadata") or {}),
            "resourceVersion": str(self._version),
            "name": path.rpartition("/")[2],
        }
        self.objects[path] = {**obj, "metadata": metadata}
        return self.objects[path]

    def paths(self, method: str) -> list[str]:
        """What was written with this method, in order of arrival."""
        return [path for verb, path, _ in self.writes if verb == method]

    def __call__(self, handler: BaseHTTPRequestHandler) -> None:
        method, path = handler.command, urlsplit(handler.path).path
        with self._lock:
            body = handler.seen.body
            if method != "GET":
                self.writes.append((method, path, body))
            step = self.fault(method, path) or self._answer(method, path, body)
        step(handler)

    def _answer(self, method: str, path: str, body: Raw | None) -> Step:
        if method == "POST":
            return self._create(path, body or {})
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

    def _create(self, collection: str, body: Raw) -> Step:
        path = f"{collection}/{body['metadata']['name']}"
        if path in self.objects:
            return reply(409, status(409, "AlreadyExists", f"{path} already exists"))
        return reply(201, self.put(path, body))

    def _delete(self, path: str, there: Raw, options: Raw) -> Step:
        wanted = (options.get("preconditions") or {}).get("uid")
        if wanted and wanted != there["metadata"]["uid"]:
            return reply(409, status(409, "Conflict", "another UID"))
        return reply(200, self.objects.pop(path))

    def _change(self, method: str, path: str, there: Raw, body: Raw) -> Step:
        asked = body.get("metadata") or {}
        for field in ("uid", "resourceVersion"):
            if asked.get(field, there["metadata"][field]) != there["metadata"][field]:
                return reply(409, status(409, "Conflict", f"another {field}"))
        changed = body if method == "PUT" else _merge(there, body)
        return reply(200, self.put(path, changed))


def _merge(old: Raw, patch: Raw) -> Raw:
    merged: Raw = json.loads(json.dumps(old))
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict):
            merged[key] = _merge(merged.get(key) or {}, value)
        else:
            merged[key] = value
    return merged
