"""Events about pods, written by one thread so that no pod waits for them.

Equal ones are one Event whose count grows. Any thread may record; a full queue drops.
"""

import contextlib
import queue
import threading
from collections import OrderedDict
from dataclasses import dataclass
from itertools import count

from localcluster import clock
from localcluster.node.client import CONNECTION_ERRORS, ApiError, Client, Raw
from localcluster.node.containers import rfc3339

COMPONENT = "kubelet"
KEPT = 2000


@dataclass(frozen=True)
class Event:
    """What is to be told about which pod; equal events are counted."""

    namespace: str
    pod: str
    uid: str
    field_path: str
    kind: str
    reason: str
    message: str


class Recorder(threading.Thread):
    """Writes Events to the API server."""

    def __init__(self, client: Client, node: str) -> None:
        super().__init__(name="events", daemon=True)
        self._client = client
        self._node = node
        self._queue: queue.Queue[Event] = queue.Queue(10_000)
        self._written: OrderedDict[Event, tuple[str, int]] = OrderedDict()
        self._numbers = count(1)

    def record(self, pod: Raw, kind: str, reason: str, message: str, container: str = "") -> None:
        """`kind` is Normal or Warning; `container` a field path, such as spec.containers{x}."""
        metadata = pod["metadata"]
        event = Event(
            metadata["namespace"],
            metadata["name"],
            metadata["uid"],
            container,
            kind,
            reason,
            message,
        )
        with contextlib.suppress(queue.Full):
            self._queue.put_nowait(event)

    def run(self) -> None:
        """Write one Event after the other; one that cannot be written is dropped."""
        while True:
            event = self._queue.get()
            with contextlib.suppress(ApiError, *CONNECTION_ERRORS):
                self._write(event)

    def _write(self, event: Event) -> None:
        path = f"/api/v1/namespaces/{event.namespace}/events"
        now = rfc3339(clock.now())
        name, times = self._written.pop(event, ("", 0))
        if name:
            self._client.patch(f"{path}/{name}", {"count": times + 1, "lastTimestamp": now})
        else:
            name = f"{event.pod[:200]}.{int(clock.now() * 1e6):x}{next(self._numbers):x}"
            self._client.create(path, self._build(event, name, now))
        self._written[event] = (name, times + 1)
        if len(self._written) > KEPT:
            self._written.popitem(last=False)

    def _build(self, event: Event, name: str, now: str) -> Raw:
        subject: Raw = {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": event.namespace,
            "name": event.pod,
            "uid": event.uid,
        }
        if event.field_path:
            subject["fieldPath"] = event.field_path
        return {
            "metadata": {"name": name, "namespace": event.namespace},
            "involvedObject": subject,
            "type": event.kind,
            "reason": event.reason,
            "message": event.message,
            "source": {"component": COMPONENT, "host": self._node},
            "reportingComponent": COMPONENT,
            "reportingInstance": self._node,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
