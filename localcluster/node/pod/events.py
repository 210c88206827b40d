"""Events about pods, written by one thread so that no pod waits for them.

Repeated events become one Event with a count. Any thread can call `record`.
"""

import contextlib
import json
import queue
import threading
from collections import OrderedDict
from itertools import count

from kube.errors import ApiError
from localcluster.client.rest import Raw, ServerClient
from localcluster.machine import clock
from localcluster.node.pod.containers import rfc3339

COMPONENT = "kubelet"
KEPT = 2000


class Recorder(threading.Thread):
    """Writes Events to the API server."""

    def __init__(self, client: ServerClient, node: str) -> None:
        super().__init__(name="events", daemon=True)
        self._client = client
        self._node = node
        self._queue: queue.Queue[Raw] = queue.Queue(10_000)
        self._written: OrderedDict[str, tuple[str, int]] = OrderedDict()
        self._numbers = count(1)

    def record(self, pod: Raw, kind: str, reason: str, message: str, container: str = "") -> None:
        """Queue an Event of type `kind`, Normal or Warning; drop it if the queue is full.

        `container` is a container's field path, such as spec.containers{x}.
        """
        of = {key: pod["metadata"][key] for key in ("namespace", "name", "uid")}
        event = {
            "involvedObject": {"apiVersion": "v1", "kind": "Pod", "fieldPath": container, **of},
            "type": kind,
            "reason": reason,
            "message": message,
            "source": {"component": COMPONENT, "host": self._node},
            "reportingComponent": COMPONENT,
            "reportingInstance": self._node,
        }
        with contextlib.suppress(queue.Full):
            self._queue.put_nowait(event)

    def run(self) -> None:
        """Write one Event after the other; one that cannot be written is dropped."""
        while True:
            event = self._queue.get()
            with contextlib.suppress(ApiError):
                self._write(event)

    def _write(self, event: Raw) -> None:
        subject, key = event["involvedObject"], json.dumps(event)
        path = f"/api/v1/namespaces/{subject['namespace']}/events"
        now = rfc3339(clock.now())
        name, times = self._written.pop(key, ("", 0))
        if name:
            self._client.patch(f"{path}/{name}", {"count": times + 1, "lastTimestamp": now})
        else:
            name = f"{subject['name'][:200]}.{int(clock.now() * 1e6):x}{next(self._numbers):x}"
            metadata = {"name": name, "namespace": subject["namespace"]}
            written = {"count": 1, "firstTimestamp": now, "lastTimestamp": now}
            self._client.create(path, {"metadata": metadata, **event, **written})
        self._written[key] = (name, times + 1)
        if len(self._written) > KEPT:
            self._written.popitem(last=False)
