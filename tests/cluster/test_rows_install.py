from tests.lab import Lab


def test_a(lab: Lab) -> None:
    pod = {"spec": {"containers": [{"name": "paddle", "image": "busybox", "command": ["sh","-c","env"]}]}}
    lab.submit({"apiVersion": "batch.paddlepaddle.org/v1", "kind": "PaddleJob", "metadata": {"name": "a"}, "spec": {"cleanPodPolicy": "Never", "worker": {"replicas": 2, "template": pod}}})
    lab.wait_completed("a")
    print(lab.log("a-worker-0"))
    print(lab.kubectl("get","pdj"))
    print(lab.kubectl("describe","pdj"))
    print(lab.cluster.kubectl("-n","paddle-system","logs","deploy/paddle-controller-manager").stdout)
