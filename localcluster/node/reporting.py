"""What the node tells the API server of one pod: its status, written when it has changed.

Owned by the pod's worker thread.
"""

from collections.abc import Sequence
from typing import Any

from localcluster import clock
from localcluster.node.client import ApiError, Client, Raw
from localcluster.node.containers import Container, rfc3339
from localcluster.node.env import PodFacts
from localcluster.node.status import build_conditions, decide_phase, keep_times

TERMINAL = ("Succeeded", "Failed")


def pod_path(pod: Raw) -> str:
    """Where the pod is in the API."""
    metadata = pod["metadata"]
    return f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"


def delete_pod(client: Client, pod: Raw) -> None:
    """Take a pod that has ended out of the API server; another of its name stays."""
    body = {"gracePeriodSeconds": 0, "preconditions": {"uid": pod["metadata"]["uid"]}}
    try:
        client.delete(pod_path(pod), body)
    except ApiError as error:
        if error.status not in (404, 409):
            raise


def _only(address: str) -> list[Raw]:
    """A list of one address, also where a merge would add it to an older one."""
    return [{"$patch": "replace"}, {"ip": address}]


class Reporter:
    """The status of one pod. `verdict` overrides what its containers say."""

    def __init__(
        self, client: Client, pod: Raw, inits: Sequence[Container], mains: Sequence[Container]
    ) -> None:
        status = pod.get("status") or {}
        self._client = client
        self._inits = inits
        self._mains = mains
        self._conditions: list[Raw] = status.get("conditions") or []
        self._written: Raw = {}
        self.start_time: str = status.get("startTime") or rfc3339(clock.now())
        self.verdict: Raw = {}

    def publish(self, pod: Raw, facts: PodFacts, is_deleted: bool = False) -> str:
        """Write the status if it has changed; the phase. Raises ApiError, CONNECTION_ERRORS."""
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
            # No restart comes any more, so how the containers ended is how the pod ended.
            phase = "Succeeded" if all(each.exit_code == 0 for each in self._mains) else "Failed"
        if phase in TERMINAL and any(each.is_running for each in self._inits):
            return "Running"  # a sidecar has yet to end
        return str(self.verdict.get("phase", phase))
