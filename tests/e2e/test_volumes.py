"""A volume that a real kubelet cannot mount: only Events say why, and no container waits yet."""

from tests.e2e.jobs import SLEEP, template
from tests.live.lab import Lab, paddle_job


def test_volume_that_is_not_there_is_named_and_the_job_goes_on_with_it(lab: Lab) -> None:
    volume = {"name": "settings", "configMap": {"name": "not-yet"}}
    worker = template(SLEEP, volumeMounts=[{"name": "settings", "mountPath": "/settings"}])
    worker["spec"]["volumes"] = [volume]
    lab.submit(paddle_job("mounts", {"ps": (1, template(SLEEP)), "worker": (1, worker)}))
    lab.wait(
        lambda: "a volume (settings)" in lab.condition("mounts", "Pending").get("message", ""),
        "the volume is named, two minutes after the pod got its node",
    )
    said = lab.condition("mounts", "Pending")
    assert said["reason"] == "WaitingForPods"
    assert f"kubectl describe pod mounts-worker-0 -n {lab.namespace}" in said["message"]
    lab.kubectl("create", "configmap", "not-yet", "--from-literal=a=b")
    lab.wait(lambda: lab.status("mounts").get("phase") == "Running", "it goes on")
    assert lab.status("mounts")["attempt"] == 1
