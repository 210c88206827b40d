"""A pod's status: computed from the state of its containers as a kubelet does, and written.

Most functions are pure; only the pod's worker thread uses the writer.
"""

import contextlib
from collections.abc import Sequence
from typing import Any

from kube.errors import Conflict, NotFound
from localcluster.client.rest import Raw, ServerClient
from localcluster.machine import clock
from localcluster.node.pod.containers import Container, rfc3339
from localcluster.node.spec.env import PodFacts

CONDITIONS = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")
TERMINAL = ("Succeeded", "Failed")


def decide_phase(inits: Sequence[Container], mains: Sequence[Container], policy: str) -> str:
    """The pod's phase: Pending, Running, Succeeded or Failed."""
    for init in inits:
        if init.role == "init" and init.exit_code != 0:
            return "Failed" if init.is_over(policy) else "Pending"
        if init.role == "sidecar" and not init.has_started_ever:
            return "Pending"
    if any(not main.has_started_ever for main in mains):
        return "Pending"
    if all(main.is_over(policy) for main in mains):
        return "Succeeded" if all(main.exit_code == 0 for main in mains) else "Failed"
    return "Running"


def build_conditions(
    inits: Sequence[Container], mains: Sequence[Container], phase: str
) -> list[Raw]:
    """The conditions that a kubelet sets, without times."""
    uninitialized = [each.name for each in inits if not _is_initialized(each)]
    watched = [*mains, *(each for each in inits if each.role == "sidecar")]
    unready = [each.name for each in watched if not each.ready]
    if phase == "Succeeded":
        ready: Raw = {"status": "False", "reason": "PodCompleted"}
    elif phase == "Failed":
        ready = {"status": "False", "reason": "PodFailed"}
    else:
        ready = _condition("ContainersNotReady", "containers with unready status", unready)
    initialized = _condition("ContainersNotInitialized", "containers with incomplete status",
                             uninitialized)  # fmt: skip
    if phase == "Succeeded":
        initialized = {"status": "True", "reason": "PodCompleted"}
    sandbox = {"status": "False" if phase in ("Succeeded", "Failed") else "True"}
    values = (sandbox, initialized, ready, ready)
    return [{"type": kind} | value for kind, value in zip(CONDITIONS, values, strict=True)]


def _is_initialized(container: Container) -> bool:
    if container.role == "sidecar":
        return container.started or container.has_started_ever
    return container.exit_code == 0


def _condition(reason: str, message: str, names: list[str]) -> Raw:
    if not names:
        return {"status": "True"}
    listed = f"{message}: [{' '.join(names)}]"
    return {"status": "False", "reason": reason, "message": listed}


def keep_times(conditions: list[Raw], before: Sequence[Raw], now: str) -> list[Raw]:
    """Set each condition's transition time; keep the old one if the status is unchanged."""
    old = {each["type"]: each for each in before}
    timed = []
    for condition in conditions:
        previous = old.get(condition["type"])
        same = previous is not None and previous["status"] == condition["status"]
        since = previous.get("lastTransitionTime", now) if previous is not None and same else now
        # A merge patch keeps fields that it does not name, so None removes an old reason.
        blank = {"reason": None, "message": None, "lastProbeTime": None}
        timed.append(blank | condition | {"lastTransitionTime": since})
    return timed


def _only(address: str) -> list[Raw]:
    """A list with just this address, in a form that replaces the old list in a patch."""
    return [{"$patch": "replace"}, {"ip": address}]


class StatusWriter:
    """Writes the status of one pod. Fields in `verdict` override those computed from containers."""

    def __init__(
        self, client: ServerClient, pod: Raw, inits: Sequence[Container], mains: Sequence[Container]
    ) -> None:
        status = pod.get("status") or {}
        self._client = client
        self._inits = inits
        self._mains = mains
        self._conditions: list[Raw] = status.get("conditions") or []
        self._written: Raw = {}
        self.start_time: str = status.get("startTime") or rfc3339(clock.now())
        self.verdict: Raw = {}

    def write(self, pod: Raw, facts: PodFacts, is_deleted: bool = False) -> str:
        """Write the status if it has changed; return the phase. Raises ApiError."""
        status = self._build(pod, facts, is_deleted)
        if status != self._written:
            body = {"metadata": {"uid": pod["metadata"]["uid"]}, "status": status}
            self._client.patch(f"{pod_path(pod)}/status", body)
            self._written = status
        return str(status["phase"])

    def _build(self, pod: Raw, facts: PodFacts, is_deleted: bool) -> Raw:
        phase = self._phase(pod, is_deleted)
        conditions = build_conditions(self._inits, self._mains, phase)
        self._conditions = keep_times(conditions, self._conditions, rfc3339(clock.now()))
        status: dict[str, Any] = {
            "phase": phase,
            "conditions": self._conditions,
            "startTime": self.start_time,
            "hostIP": facts.host_ip,
            "hostIPs": _only(facts.host_ip),
            "podIP": facts.pod_ip,
            "podIPs": _only(facts.pod_ip),
            "containerStatuses": [each.status() for each in self._mains],
        }
        if self._inits:
            status["initContainerStatuses"] = [each.status() for each in self._inits]
        if generation := pod["metadata"].get("generation"):
            status["observedGeneration"] = generation
        return status | self.verdict

    def _phase(self, pod: Raw, is_deleted: bool) -> str:
        phase = decide_phase(self._inits, self._mains, pod["spec"].get("restartPolicy", "Always"))
        if is_deleted and all(each.exit_code is not None for each in self._mains):
            # Nothing is restarted any more, so the containers' exit codes decide.
            phase = "Succeeded" if all(each.exit_code == 0 for each in self._mains) else "Failed"
        if phase in TERMINAL and any(each.is_running for each in self._inits):
            return "Running"  # a sidecar has yet to end
        return str(self.verdict.get("phase", phase))


def pod_path(pod: Raw) -> str:
    """The pod's path in the API."""
    metadata = pod["metadata"]
    return f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"


def delete_pod(client: ServerClient, pod: Raw) -> None:
    """Delete an ended pod from the API server, but not a newer pod of the same name."""
    with contextlib.suppress(NotFound, Conflict):
        client.delete(pod_path(pod), pod["metadata"]["uid"], grace_seconds=0)
