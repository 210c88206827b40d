"""What a user does with kubectl and a PaddleJob when no operator runs."""

import json
from pathlib import Path

import pytest

from api.objects import Raw
from localcluster import Cluster

pytestmark = pytest.mark.usefixtures("crd")

JOB = """
apiVersion: batch.paddlepaddle.org/v1
kind: PaddleJob
metadata:
  name: mine
spec:
  elastic: 1
  worker:
    replicas: 2
    requests: 1
    limits: 3
    template:
      spec:
        containers:
          - name: paddle
            image: train:1
            resources: {limits: {cpu: 0.5, memory: 1Gi}}
            env: [{name: A, value: "1"}]
            ports: [{containerPort: 80}]
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "job.yaml"
    path.write_text(JOB)
    return str(path)


def test_wide_columns(cluster: Cluster, namespace: str, file: str) -> None:
    cluster.kubectl("create", "-n", namespace, "-f", file)
    status = {
        "phase": "Starting",
        "mode": "Heter",
        "attempt": 2,
        "reason": "ImageError",
        "message": "mine-worker-0: ErrImagePull: no such image",
        "ps": {"replicas": 1, "ready": "0/1"},
        "worker": {"replicas": 1, "ready": "0/1"},
        "heter": {"replicas": 1, "ready": "1/1"},
    }
    write_status(cluster, namespace, status)
    header, line = cluster.kubectl("get", "-n", namespace, "pdj", "-o", "wide").stdout.splitlines()
    added = ["HETER", "ATTEMPT", "REASON", "MESSAGE"]
    assert header.split() == ["NAME", "STATUS", "MODE", "PS", "WORKER", "AGE", *added]
    assert line.split(maxsplit=9)[6:9] == ["1/1", "2", "ImageError"]
    assert line.split(maxsplit=9)[9].strip() == status["message"]


def test_status_is_written_apart_from_the_spec(cluster: Cluster, namespace: str, file: str) -> None:
    cluster.kubectl("create", "-n", namespace, "-f", file)
    patch = json.dumps({"status": {"phase": "Failed"}})
    cluster.kubectl("patch", "-n", namespace, "pdj", "mine", "--type=merge", "-p", patch)
    job = json.loads(cluster.kubectl("get", "-n", namespace, "pdj", "mine", "-o", "json").stdout)
    assert "phase" not in job["status"]


@pytest.mark.parametrize(
    "path",
    ["pdj", "pdj.spec", "pdj.spec.worker", "pdj.spec.podFailurePolicy.rules", "pdj.status.worker"],
)
def test_explain_describes(cluster: Cluster, path: str) -> None:
    said = cluster.kubectl("explain", path).stdout
    assert "DESCRIPTION" in said
    assert "<no description>" not in said


def test_explain_knows_the_template(cluster: Cluster) -> None:
    said = cluster.kubectl("explain", "pdj.spec.worker.template.spec.containers.env").stdout
    assert "valueFrom" in said


def write_status(cluster: Cluster, namespace: str, status: Raw) -> None:
    patch = json.dumps({"status": status})
    cluster.kubectl(
        "patch", "-n", namespace, "pdj", "mine", "--subresource=status", "--type=merge", "-p", patch
    )
