"""A pod whose kubelet sleeps until it tries again is woken once its ConfigMap exists."""

import json

from api.constants import ANNOTATION_WOKEN
from api.objects import Raw, parse_time
from localcluster.cluster.config import CONFIG_RETRY_SECONDS
from tests.live.lab import CORE, SERVER, Lab, paddle_job, shell


def gated() -> Raw:
    template = shell("sleep 3600")
    template["spec"]["schedulingGates"] = [{"name": "example.com/gate"}]
    return template


def open_gate(lab: Lab, pod: str) -> None:
    patch = json.dumps({"spec": {"schedulingGates": None}})
    lab.kubectl("patch", "pod", pod, "--type=merge", "-p", patch)


def waiting_reason(pod: Raw) -> str:
    states = [each["state"] for each in pod["status"].get("containerStatuses", ())]
    return "".join(state.get("waiting", {}).get("reason", "") for state in states)


def seconds_asleep(lab: Lab, pod: str, config_map: str) -> float:
    """How long a pod's container started after the ConfigMap was made."""
    (status,) = lab.get(CORE, f"pods/{pod}")["status"]["containerStatuses"]
    started = parse_time(status["state"]["running"]["startedAt"])
    made = lab.get(CORE, f"configmaps/{config_map}")["metadata"]["creationTimestamp"]
    assert started
    return (started - parse_time(made)).total_seconds()  # type: ignore[operator]


def test_a_pod_that_waits_for_its_peer_starts_when_the_peer_has_its_address(lab: Lab) -> None:
    lab.submit(paddle_job("gated", {"ps": (1, SERVER), "worker": (1, gated())}))

    def reason() -> str:
        return waiting_reason(lab.get(CORE, "pods/gated-ps-0") or {"status": {}})

    lab.wait(lambda: reason() == "CreateContainerConfigError", "the server waits")
    open_gate(lab, "gated-worker-0")
    lab.wait_phase("gated", "Running")
    assert seconds_asleep(lab, "gated-ps-0", "gated") < CONFIG_RETRY_SECONDS / 2
    annotations = lab.get(CORE, "pods/gated-ps-0")["metadata"]["annotations"]
    assert annotations[ANNOTATION_WOKEN].startswith("attempt=1,call=")
