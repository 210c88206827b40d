"""An API server in memory, as the tools ask it."""

import copy
import itertools
from collections.abc import Callable
from typing import Any

from api.constants import API_VERSION
from api.objects import Raw, name_of, uid_of
from kube.client import Client
from kube.errors import AlreadyExists, NotFound
from pdj.act.submit import SELF_REVIEWS
from pdj.facts.picture import JobPicture
from pdj.gather.jobs import Handle
from pdj.gather.live import LiveJob
from tests.memory.builders import a_job

JOBS = f"/apis/{API_VERSION}/namespaces/default/paddlejobs"
SERVED: dict[str, Raw] = {
    "/apis": {"groups": [{"versions": [{"groupVersion": API_VERSION}]}], "kind": "APIGroupList"},
    f"/apis/{API_VERSION}": {"resources": [{"name": "paddlejobs"}], "kind": "APIResourceList"},
}


def placed(name: str = "mine", **metadata: Any) -> Raw:
    """A job of the namespace of `JOBS`."""
    job = a_job(name).with_workers(1).build()
    return job | {"metadata": {"name": name, "namespace": "default", **metadata}}


class Cluster(Client):
    """Objects by path, lists by the end of theirs, logs by pod; an error among them is raised.

    It stops after some writes, as a killed command does.
    """

    def __init__(self, writes: int = 99, logs: Raw | None = None, **lists: Any) -> None:
        self.objects: dict[str, Any] = {**SERVED}
        self.logs, self.lists = logs or {}, lists
        self.writes = writes
        self.uids = itertools.count(1)
        self.changed: list[str] = []

    def get(self, path: str, query: Raw | None = None, *_: Any, **__: Any) -> Raw:
        if query and "limit" in query:
            wanted = [each.split("=") for each in query.get("fieldSelector", "").split(",") if each]
            return {
                "items": [
                    each
                    for each in self.list(path)[0]
                    if all(_value(each, field) == value for field, value in wanted)
                ]
            }
        return copy.deepcopy(self._found(self.objects, path))

    def list(self, path: str, *_: Any) -> tuple[list[Raw], str]:
        kind = path.rpartition("/")[2]
        if kind in self.lists:
            return self._found(self.lists, kind), ""
        return [each for at, each in self.objects.items() if at.startswith(path)], ""

    def text(self, path: str, *_: Any) -> str:
        return str(self._found(self.logs, path.split("/")[-2]))

    def read_log(self, path: str, query: Raw, *_: Any) -> bytes:
        return self.text(path, query).encode()

    def create(self, path: str, body: Raw, query: Raw | None = None) -> Raw:
        if path == SELF_REVIEWS:
            return self.get(path)
        if "dryRun" in (query or {}):
            return body
        path = f"{path}/{name_of(body)}"
        self._write()
        if path in self.objects:
            self.get(path)
            raise AlreadyExists(path)
        self.objects[path] = copy.deepcopy(body)
        self.objects[path]["metadata"]["uid"] = str(next(self.uids))
        self.changed.append(name_of(body))
        return self.get(path)

    def merge_patch(self, path: str, body: Raw) -> Raw:
        self._write()
        assert uid_of(self.get(path)) == uid_of(body)
        self.objects[path]["metadata"] |= body["metadata"]
        self.changed.append(name_of(self.objects[path]))
        return self.get(path)

    def delete(self, path: str, uid: str | None = None, grace_seconds: int | None = None) -> Raw:
        self._write()
        assert uid_of(self.get(path)) == uid
        self.changed.append(name_of(self.objects[path]))
        return self.objects.pop(path)

    def _write(self) -> None:
        if self.writes == 0:
            raise KeyboardInterrupt
        self.writes -= 1

    def _found(self, there: Raw, name: str) -> Any:
        found = there.get(name, NotFound(name))
        if isinstance(found, Exception):
            raise found
        return found


def _value(obj: Raw, field: str) -> Any:
    value: Any = obj
    for name in field.split("."):
        value = (value or {}).get(name)
    return value


class Watched(LiveJob):
    """What is watched of a job, in place of a LiveJob."""

    is_known = True

    def __init__(
        self, picture: Callable[[], JobPicture | None], handle: Handle, with_pods: bool = True
    ) -> None:
        super().__init__(handle, with_pods)
        self._picture = picture

    def picture(self) -> JobPicture | None:
        return self._picture()

    def __enter__(self) -> "Watched":
        return self

    def __exit__(self, *_: object) -> None: ...
