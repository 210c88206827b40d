"""A namespace of a real API server as a world: the same steps, with the real thing below.

What is written goes to the API server, what exists is what its watches tell. Nothing moves by
itself: neither controllers nor a scheduler run, so that a sequence of steps plays as it did in
memory. Only the API server's timestamps are its own; the world's clock begins with them.
"""

import contextlib
import threading
from collections import defaultdict
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from api.objects import Raw, name_of, uid_of
from controller.client.api import ApiClient, read_events
from controller.client.resources import PADDLE_JOB, POD, Resource
from kube.errors import NotFound, Transient
from kube.http import Stream
from tests.memory.builders import JobBuilder
from tests.memory.client import RESOURCES, Client, place_of
from tests.memory.world import Change, World

SEEN_SECONDS = 120.0
"""For which a change may take to come by the watch."""
READ_SECONDS = 3600.0
HEADLESS = {"clusterIP": "None"}

Told = dict[str, Any]
"""An event of a watch: type and object."""


class Feed:
    """One watch of each kind, of all namespaces; each namespace's events wait to be taken."""

    def __init__(self, client: ApiClient) -> None:
        self._condition = threading.Condition()
        """Guards _events."""
        self._events: dict[str, list[Told]] = defaultdict(list)
        self._streams = [self._open(client, resource) for resource in RESOURCES.values()]
        self._threads = [
            threading.Thread(target=self._read, args=(stream,), name="feed")
            for stream in self._streams
        ]
        for thread in self._threads:
            thread.start()

    def take(self, namespace: str) -> list[Told]:
        with self._condition:
            has_some = self._condition.wait_for(lambda: self._events[namespace], SEEN_SECONDS)
            assert has_some, f"nothing happened in {namespace}"
            return self._events.pop(namespace)

    def close(self) -> None:
        for stream in self._streams:
            stream.close()
        for thread in self._threads:
            thread.join()

    def _open(self, client: ApiClient, resource: Resource) -> Stream:
        version = client.get(resource.path(), {"limit": 1})["metadata"]["resourceVersion"]
        query = {"watch": "true", "resourceVersion": version}
        return client.stream(resource.path(), query, READ_SECONDS)

    def _read(self, stream: Stream) -> None:
        with contextlib.suppress(Transient):
            for event in read_events(stream):
                with self._condition:
                    self._events[event["object"]["metadata"]["namespace"]].append(event)
                    self._condition.notify_all()
        stream.release()


@dataclass
class LiveWorld(World):
    """One namespace. One thread's; `client` and `feed` are shared."""

    client: ApiClient = field(kw_only=True)
    feed: Feed = field(kw_only=True)

    def __post_init__(self) -> None:
        self.now = datetime.now(UTC).replace(microsecond=0)
        self.client.create("/api/v1/namespaces", {"metadata": {"name": self.namespace}})
        account = {"metadata": {"name": "default"}}  # or admission refuses pods
        self.client.create(f"/api/v1/namespaces/{self.namespace}/serviceaccounts", account)

    def operators_client(self) -> Client:
        """A client of the operator's that returns once the watch has told what it wrote."""
        return _Synced(self)

    # The API server

    def put(self, obj: Raw) -> Raw:
        if obj["kind"] == "Service":
            obj = obj | {"spec": HEADLESS}
        made = self.client.create(self.path(obj["kind"]), obj)
        return self.await_version((obj["kind"], name_of(obj)), made)

    def forget(self, kind: str, name: str) -> None:
        """The object is gone at once; there is no collector for what it controls."""
        self._delete_now(kind, name, grace=0)

    remove = forget

    def delete(self, kind: str, name: str, uid: str = "", grace: float | None = None) -> None:
        """A delete as a user sends it."""
        if (kind, name) in self.objects:
            self._delete_now(kind, name, None if grace is None else int(grace))

    def change(self, kind: str, name: str, edit: Callable[[Raw], object]) -> Raw:
        before = self.get(kind, name)
        after = deepcopy(before)
        edit(after)
        if after["spec"].get("nodeName") != before["spec"].get("nodeName"):
            target = {"target": {"kind": "Node", "name": after["spec"]["nodeName"]}}
            binding = {"metadata": {"name": name}, **target}
            self.client.create(POD.path(self.namespace, name, "binding"), binding)
        body = {"status": after.get("status") or {}}
        done = self.client.merge_patch(POD.path(self.namespace, name, "status"), body)
        return self.await_version((kind, name), done)

    # Users

    def submit(self, job: JobBuilder | Raw) -> Raw:
        """Create a job; the API server says when, and who it is."""
        raw = job.build() if isinstance(job, JobBuilder) else job
        metadata = {"name": name_of(raw), "namespace": self.namespace}
        return self.put({**raw, "metadata": metadata, "status": None})

    def edit_spec(self, name: str = "train", /, **fields: object) -> Raw:
        path = PADDLE_JOB.path(self.namespace, name)
        done = self.client.merge_patch(path, {"spec": fields})
        return self.await_version(("PaddleJob", name), done)

    # The watches

    def path(self, kind: str, name: str = "") -> str:
        return RESOURCES[kind].path(self.namespace, name)

    def await_version(self, place: tuple[str, str], obj: Raw) -> Raw:
        """The object, once the watch has told of it as it was written, or as it is later."""
        written = int(obj["metadata"]["resourceVersion"])
        self._read_until(lambda: self._version_of(place) >= written)
        return self.objects[place]

    def await_deletion(self, place: tuple[str, str], uid: str) -> None:
        """Return once the watch has told what became of an object that was deleted."""
        try:
            left = self.client.get(self.path(*place))
        except NotFound:
            left = {"metadata": {"uid": ""}}
        if uid_of(left) == uid:
            self.await_version(place, left)
        else:
            self._read_until(lambda: uid_of(self.objects.get(place, left)) != uid)

    def is_true_to_the_server(self) -> bool:
        """Whether this world holds what the API server lists, as it is there."""
        listed = {}
        for kind in RESOURCES:
            for obj in self.client.get(self.path(kind))["items"]:
                listed[(kind, name_of(obj))] = obj["metadata"]["resourceVersion"]
        return listed == {p: o["metadata"]["resourceVersion"] for p, o in self.objects.items()}

    def _delete_now(self, kind: str, name: str, grace: int | None) -> None:
        uid = uid_of(self.get(kind, name))
        self.client.delete(self.path(kind, name), uid, grace)
        self.await_deletion((kind, name), uid)

    def _version_of(self, place: tuple[str, str]) -> int:
        obj = self.objects.get(place)
        return int(obj["metadata"]["resourceVersion"]) if obj else 0

    def _read_until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            for event in self.feed.take(self.namespace):
                self._note(event["type"], event["object"])

    def _note(self, type_: str, obj: Raw) -> None:
        place = (obj["kind"], name_of(obj))
        if place == ("ConfigMap", "kube-root-ca.crt"):
            return
        self._number = max(self._number, int(obj["metadata"]["resourceVersion"]))
        if type_ == "DELETED":
            del self.objects[place]
        else:
            self.objects[place] = obj
        self.changes.append(Change(self._number, place, None if type_ == "DELETED" else obj))


class _Synced:
    """The operator's own client; the world hears of each write before it returns."""

    def __init__(self, world: LiveWorld) -> None:
        self._world = world

    def get(self, path: str, query: Any = None) -> Raw:
        return self._world.client.get(path, query)

    def create(self, path: str, body: Raw) -> Raw:
        made = self._world.client.create(path, body)
        self._world.await_version((body["kind"], name_of(body)), made)
        return made

    def merge_patch(self, path: str, body: Raw) -> Raw:
        done = self._world.client.merge_patch(path, body)
        self._world.await_version(place_of(path), done)
        return done

    def delete(self, path: str, uid: str, grace_seconds: int | None = None) -> Raw:
        done = self._world.client.delete(path, uid, grace_seconds)
        self._world.await_deletion(place_of(path), uid)
        return done
