"""Ends that are not the program's exit: what a real kubelet shows, and whom the job charges."""

import os
import signal
from pathlib import Path

import pytest

from api.constants import Reason
from tests.e2e.jobs import SLEEP, template
from tests.e2e.node import CONTAINERD, KUBELET, NODE_PATH, PAUSE_IMAGE, RealNode
from tests.live.faulty import SLOW_TO_STOP
from tests.live.history import History
from tests.live.lab import CORE, Lab, Raw, paddle_job


def test_an_empty_dir_over_its_limit_ends_the_job_and_names_the_field(lab: Lab) -> None:
    fill = "dd if=/dev/zero of=/scratch/x bs=1M count=8; sleep 3600"
    worker = template(fill, volumeMounts=[{"name": "scratch", "mountPath": "/scratch"}])
    worker["spec"]["volumes"] = [{"name": "scratch", "emptyDir": {"sizeLimit": "4Mi"}}]
    lab.submit(paddle_job("outgrows", {"worker": (1, worker)}, backoffLimit=1))
    lab.wait_phase("outgrows", "Failed")
    status = lab.status("outgrows")
    assert (status["attempt"], status["failureCount"]) == (2, 1)
    said = lab.condition("outgrows", "Failed")
    assert said["reason"] == Reason.BACKOFF_LIMIT_EXCEEDED
    assert 'EmptyDir volume "scratch" exceeds the limit "4Mi"' in said["message"]
    assert "emptyDir.sizeLimit" in said["message"]


def test_a_pod_that_its_kubelet_rejects_after_a_restart_is_not_charged(
    node: RealNode, lab: Lab
) -> None:
    """Its node's label has changed. The trainer leaves with 0, and has not completed the job, which
    goes on once there is a node again.
    """
    label(node, "a")
    worker = template(SLEEP)
    worker["spec"]["nodeSelector"] = {"zone": "a"}
    lab.submit(paddle_job("moved", {"worker": (1, worker)}))
    lab.wait_phase("moved", "Running")
    label(node, "b")
    node.stop(KUBELET)
    node.start_ready(KUBELET)
    lab.wait(lambda: lab.status("moved").get("attempt") == 2, "the next attempt")
    assert lab.status("moved")["failures"][-1]["reason"] == Reason.POD_EVICTED
    label(node, "a")
    assert not lab.wait_phase("moved", "Running").get("failureCount")


def test_a_container_lost_with_its_runtime_is_not_charged(node: RealNode, lab: Lab) -> None:
    """Under restartPolicy Never; containerd comes back to a container whose end nobody saw."""
    lab.submit(paddle_job("lost", {"worker": (1, template(SLEEP))}))
    lab.wait_phase("lost", "Running")
    (container,) = trainers(node, lab)
    node.stop(CONTAINERD)
    for pid in with_shim(container):
        os.kill(pid, signal.SIGKILL)
    node.start_ready(CONTAINERD)
    lab.wait(lambda: lab.status("lost").get("attempt") == 2, "the next attempt")
    record = lab.status("lost")["failures"][-1]
    assert record["reason"] == Reason.NODE_LOST
    assert "Unknown" in record["message"]
    assert not lab.wait_phase("lost", "Running").get("failureCount")


@pytest.mark.parametrize("sidecar", [None, SLOW_TO_STOP], ids=["alone", "native sidecar"])
def test_a_job_that_ended_well_leaves_its_logs_and_no_process(
    node: RealNode, lab: Lab, sidecar: str | None
) -> None:
    """A kubelet reports a pod's end only when nothing of it runs any more."""
    worker = template("echo trained")
    if sidecar:
        beside = template(sidecar, name="beside", restartPolicy="Always")["spec"]["containers"]
        worker["spec"] |= {"initContainers": beside, "terminationGracePeriodSeconds": 30}
    with History(lab, CORE, "pods") as pods:
        lab.submit(paddle_job("kept", {"ps": (1, template(SLEEP)), "worker": (2, worker)}))
        lab.wait_completed("kept")
        lab.wait(lambda: not trainers(node, lab), "no process runs")
        seen = [thing for _, thing in pods.events("kept-worker")]
    if sidecar:
        late = [pod for pod in seen if has_trained(pod) and pod["status"]["phase"] == "Running"]
        assert late, "the trainer's end is seen before the pod's"
    assert [lab.log(name) for name in lab.pod_names("kept")] == ["trained\n", "trained\n"]


def has_trained(pod: Raw) -> bool:
    statuses = pod["status"].get("containerStatuses") or ()
    return any("terminated" in each["state"] for each in statuses)


def label(node: RealNode, zone: str) -> None:
    node.cluster.client.patch(NODE_PATH, {"metadata": {"labels": {"zone": zone}}})


def trainers(node: RealNode, lab: Lab) -> list[int]:
    """The first process of each trainer of the namespace."""
    of_namespace = f'labels."io.kubernetes.pod.namespace"=={lab.namespace}'
    made = node.ctr("containers", "list", of_namespace).splitlines()
    names = {line.split()[0] for line in made if PAUSE_IMAGE not in line}
    tasks = [line.split() for line in node.ctr("tasks", "list").splitlines()]
    return [int(words[1]) for words in tasks if words[0] in names]


def with_shim(pid: int) -> list[int]:
    """The process that waits for this one, and this one."""
    stat = Path(f"/proc/{pid}/stat").read_text()
    return [int(stat.rpartition(")")[2].split()[1]), pid]
