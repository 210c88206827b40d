"""A pod whose kubelet sleeps until it tries again is woken once its ConfigMap exists."""

from api.constants import ANNOTATION_WOKEN
from api.objects import Raw
from tests.live.lab import CORE, SERVER, Lab, paddle_job, shell


def test_a_pod_that_waits_for_its_peer_starts_when_the_peer_has_its_address(lab: Lab) -> None:
    gated = shell("sleep 3600")
    gated["spec"]["schedulingGates"] = [{"name": "example.com/gate"}]
    lab.submit(paddle_job("gated", {"ps": (1, SERVER), "worker": (1, gated)}))

    def server() -> Raw:
        """The state of its container."""
        found = lab.get(CORE, "pods/gated-ps-0") or {"status": {}}
        (status,) = found["status"].get("containerStatuses") or [{"state": {}}]
        return dict(status["state"])

    def waits() -> bool:
        return server().get("waiting", {}).get("reason") == "CreateContainerConfigError"

    lab.wait(waits, "the server waits")
    lab.patch(CORE, "pods/gated-worker-0", spec={"schedulingGates": None})
    lab.wait_phase("gated", "Running")
    annotations = lab.get(CORE, "pods/gated-ps-0")["metadata"]["annotations"]
    assert annotations[ANNOTATION_WOKEN].startswith("attempt=1,call=")
