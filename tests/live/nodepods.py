"""Pods for the tests of the node: made, waited for, asked, and seen to be gone."""

import contextlib
import os
import signal
from pathlib import Path
from typing import Any

from kube.errors import ApiError, NotFound
from localcluster import Cluster
from localcluster.machine import clock
from tests.e2e.images import PYTHON
from tests.e2e.world import is_inside
from tests.live import patience
from tests.live.processes import command_line, descendants, with_variables

Raw = dict[str, Any]
BACKOFF_SECONDS = 10.0 if is_inside() else 1.0
"""The first back-off of a container: a kubelet's own, or that of the tests' local node."""
NODES = ("node-0", "node-1")
IMAGE = PYTHON
"""On both nodes it has a shell, Debian's tools and Python."""
# The spawner, which is two processes: the first of the PID namespace, and its parent outside.
PROCESSES_OF_AN_IDLE_NODE = 2


MOUNT: Raw = {"volumeMounts": [{"name": "v", "mountPath": "/v"}]}
"""What a container says to have its pod's volume at /v."""
EMPTY: Raw = {"volumes": [{"name": "v", "emptyDir": {}}]}


class Pods:
    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self.cluster = cluster
        self.client = cluster.client
        self.namespace = namespace
        self.path = f"/api/v1/namespaces/{namespace}/pods"

    def create(
        self, name: str, *containers: Raw, labels: Any = None, annotations: Any = None, **spec: Any
    ) -> None:
        """A pod of these containers, by default one that is not restarted and stops fast."""
        defaults = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1}
        metadata = {"name": name, "labels": labels or {}, "annotations": annotations or {}}
        body = {"metadata": metadata, "spec": defaults | spec | {"containers": list(containers)}}
        self.client.create(self.path, body)

    def run(self, main: str | Raw, name: str = "", **spec: Any) -> str:
        """The output of a container, or of a shell script, that runs to its successful end."""
        name = name or f"run-{len(self.all())}"
        self.create(name, shell(main) if isinstance(main, str) else main, **spec)
        pod = self.wait_phase(name, "Succeeded", "Failed")
        log = self.log(name)
        assert pod["status"]["phase"] == "Succeeded", log
        return log

    def get(self, name: str) -> Raw:
        return self.client.get(f"{self.path}/{name}")

    def all(self) -> list[Raw]:
        items: list[Raw] = self.client.get(self.path)["items"]
        return items

    def wait(self, name: str, condition: Any) -> Raw:
        found: list[Raw] = []

        def holds() -> bool:
            found[:] = [self.get(name)]
            return bool(condition(found[0]))

        assert clock.wait_until(holds, patience.SECONDS), found[0]["status"]
        return found[0]

    def wait_phase(self, name: str, *phases: str) -> Raw:
        return self.wait(name, lambda pod: pod["status"]["phase"] in phases)

    def wait_state(self, name: str, state: str, reason: str = "") -> Raw:
        """The pod, once its first container is in that state."""

        def holds(pod: Raw) -> bool:
            found = container_status(pod).get("state", {}).get(state)
            return found is not None and found.get("reason", "") == (
                reason or found.get("reason", "")
            )

        return self.wait(name, holds)

    def wait_ready(self, name: str) -> Raw:
        return self.wait(name, lambda pod: condition(pod, "Ready") == "True")

    def create_config_map(self, name: str, **data: str) -> None:
        path = f"/api/v1/namespaces/{self.namespace}/configmaps"
        self.client.create(path, {"metadata": {"name": name}, "data": data})

    def log(self, name: str, **query: str) -> str:
        """What `kubectl logs` would print, which takes a hundred times as long."""
        return self.client.text(f"{self.path}/{name}/log", query or None)

    def wait_log(self, name: str, text: str, **query: str) -> str:
        """The log, once it holds the text; there is none before the container has started."""
        found = [""]

        def holds() -> bool:
            with contextlib.suppress(ApiError):
                found[0] = self.log(name, **query)
            return text in found[0]

        assert clock.wait_until(holds, patience.SECONDS), found[0]
        return found[0]

    def delete(self, name: str, grace_seconds: int | None = None) -> None:
        self.client.delete(f"{self.path}/{name}", grace_seconds=grace_seconds)

    def wait_gone(self, name: str) -> None:
        assert clock.wait_until(lambda: not self.exists(name), patience.SECONDS)

    def exists(self, name: str) -> bool:
        return self.client.find(f"{self.path}/{name}") is not None

    def events(self, reason: str) -> list[str]:
        found = self.client.get(f"/api/v1/namespaces/{self.namespace}/events")["items"]
        return [each["message"] for each in found if each["reason"] == reason]

    def wait_event(self, reason: str) -> str:
        assert clock.wait_until(lambda: bool(self.events(reason)), patience.SECONDS)
        return self.events(reason)[0]

    def delete_all(self) -> None:
        for pod in self.all():
            with contextlib.suppress(NotFound):  # the node has ended it meanwhile
                self.delete(pod["metadata"]["name"])
        assert clock.wait_until(lambda: not self.all(), patience.SECONDS)


def container_processes(cluster: Cluster) -> list[str]:
    """The command lines of everything that runs below the nodes, but for their spawners."""
    lines: list[str] = []
    for name in NODES:
        if name in cluster.dead():
            continue
        below = descendants(cluster.process(name).pid)
        lines += [command_line(process) for process in below[PROCESSES_OF_AN_IDLE_NODE:]]
    return lines


def kill_processes(cluster: Cluster, pod: Raw) -> None:
    """kill -9 of all that runs in a pod: another cluster's pods may have the same address."""
    node = cluster.process(pod["spec"]["nodeName"])
    for process in {*with_variables(f"POD_IP={pod['status']['podIP']}")} & {*descendants(node.pid)}:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def shell(script: str, container: str = "main", /, **fields: Any) -> Raw:
    return {"name": container, "image": IMAGE, "command": ["sh", "-c", script]} | fields


def python(script: str, container: str = "main", /, **fields: Any) -> Raw:
    return {"name": container, "image": IMAGE, "command": ["python", "-c", script]} | fields


def host_folder(folders: Path, name: str) -> tuple[Raw, Path]:
    """The source of a volume that is a folder of the test, and the folder.

    The local node has a root of its own for such paths.
    """
    folder = folders / "host" / name
    folder.mkdir(parents=True)
    return {"hostPath": {"path": str(folder) if is_inside() else f"/{name}"}}, folder


def volume(**source: Any) -> Raw:
    """What a pod says to have the volume of MOUNT from this source."""
    return {"volumes": [{"name": "v"} | source]}


def container_status(pod: Raw, name: str = "") -> Raw:
    """The status of a container, the first one by default; {} while there is none."""
    status = pod.get("status", {})
    found = [*status.get("containerStatuses", []), *status.get("initContainerStatuses", [])]
    return next((each for each in found if name in ("", each["name"])), {})


def condition(pod: Raw, kind: str) -> str:
    """True, False, or nothing while the pod has no such condition."""
    conditions = pod.get("status", {}).get("conditions", [])
    return next((each["status"] for each in conditions if each["type"] == kind), "")
