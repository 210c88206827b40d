"""What a user does with kubectl and a PaddleJob when no operator runs."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from localcluster import Cluster

Raw = dict[str, Any]
ROOT = Path(__file__).parents[3]
EXAMPLES = sorted(
    path for path in (ROOT / "examples").glob("*.yaml") if "kind: PaddleJob" in path.read_text()
)
MAX_CRD_BYTES = 240_000
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
    """The job in a file."""
    path = tmp_path / "job.yaml"
    path.write_text(JOB)
    return str(path)


def test_create_takes_a_file(cluster: Cluster, namespace: str, file: str) -> None:
    assert "created" in cluster.kubectl("create", "-n", namespace, "-f", file).stdout


@pytest.mark.parametrize("options", [(), ("--server-side",)], ids=["client", "server-side"])
def test_second_apply_and_diff_say_nothing(
    cluster: Cluster, namespace: str, file: str, options: tuple[str, ...]
) -> None:
    apply = ("apply", "-n", namespace, "-f", file, *options)
    cluster.kubectl(*apply)
    before = cluster.kubectl("get", "-n", namespace, "pdj", "mine", "-o", "json").stdout
    second = cluster.kubectl(*apply)
    assert "unchanged" in second.stdout or "serverside-applied" in second.stdout
    assert cluster.kubectl("get", "-n", namespace, "pdj", "mine", "-o", "json").stdout == before
    assert cluster.kubectl("diff", "-n", namespace, "-f", file, *options).stdout == ""


def test_server_side_dry_run_stores_nothing(cluster: Cluster, namespace: str, file: str) -> None:
    cluster.kubectl("apply", "-n", namespace, "-f", file, "--dry-run=server")
    assert cluster.kubectl("get", "-n", namespace, "pdj", "-o", "name").stdout == ""


def test_columns(cluster: Cluster, namespace: str, file: str) -> None:
    cluster.kubectl("create", "-n", namespace, "-f", file)
    status = {
        "phase": "Completed",
        "mode": "PS",
        "ps": {"replicas": 2, "running": 2, "ready": "2/2"},
        "worker": {"replicas": 2, "succeeded": 2, "ready": "0/2"},
    }
    write_status(cluster, namespace, status)
    header, line = cluster.kubectl("get", "-n", namespace, "pdj").stdout.splitlines()
    assert header.split() == ["NAME", "STATUS", "MODE", "PS", "WORKER", "AGE"]
    assert re.fullmatch(r"mine +Completed +PS +2/2 +0/2 +\d+s *", line)


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


def test_get_all_lists_jobs(cluster: Cluster, namespace: str, file: str) -> None:
    cluster.kubectl("create", "-n", namespace, "-f", file)
    assert "paddlejob.batch.paddlepaddle.org/mine" in (
        cluster.kubectl("get", "-n", namespace, "all", "-o", "name").stdout
    )


def test_scale_changes_the_workers(cluster: Cluster, namespace: str, file: str) -> None:
    cluster.kubectl("create", "-n", namespace, "-f", file)
    write_status(cluster, namespace, {"replicas": 2, "selector": "a=b"})
    cluster.kubectl("scale", "-n", namespace, "pdj", "mine", "--replicas=3")
    path = f"/apis/batch.paddlepaddle.org/v1/namespaces/{namespace}/paddlejobs/mine/scale"
    scale = json.loads(cluster.kubectl("get", "--raw", path).stdout)
    assert scale["spec"] == {"replicas": 3}
    assert scale["status"] == {"replicas": 2, "selector": "a=b"}


def test_status_is_written_apart_from_the_spec(cluster: Cluster, namespace: str, file: str) -> None:
    cluster.kubectl("create", "-n", namespace, "-f", file)
    patch = json.dumps({"status": {"phase": "Failed"}})
    cluster.kubectl("patch", "-n", namespace, "pdj", "mine", "--type=merge", "-p", patch)
    job = json.loads(cluster.kubectl("get", "-n", namespace, "pdj", "mine", "-o", "json").stdout)
    assert "status" not in job


def test_unknown_status_words_are_kept(cluster: Cluster, namespace: str, file: str) -> None:
    """A newer operator's phase must pass an older CRD."""
    cluster.kubectl("create", "-n", namespace, "-f", file)
    write_status(cluster, namespace, {"phase": "Hibernating"})
    phase = cluster.kubectl(
        "get", "-n", namespace, "pdj", "mine", "-o", "jsonpath={.status.phase}"
    ).stdout
    assert phase == "Hibernating"


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


def test_crd_fits_in_an_annotation(cluster: Cluster) -> None:
    crd = json.loads(
        cluster.kubectl(
            "get", "crd", "paddlejobs.batch.paddlepaddle.org", "--show-managed-fields=false",
            "-o", "json",
        ).stdout
    )  # fmt: skip
    applied = crd["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"]
    assert len(applied.encode()) < MAX_CRD_BYTES


def test_crd_applied_again_is_unchanged(cluster: Cluster) -> None:
    path = str(ROOT / "deploy" / "v1" / "crd.yaml")
    cluster.kubectl("apply", "-f", path)
    assert "unchanged" in cluster.kubectl("apply", "-f", path).stdout


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_are_admitted(cluster: Cluster, namespace: str, path: Path) -> None:
    jobs = [doc for doc in yaml.safe_load_all(path.read_text()) if doc["kind"] == "PaddleJob"]
    assert jobs
    for job in jobs:
        arguments = ("create", "--dry-run=server", "-n", namespace, "-f", "-")
        assert "created" in cluster.kubectl(*arguments, stdin=yaml.safe_dump(job)).stdout


def write_status(cluster: Cluster, namespace: str, status: Raw) -> None:
    """What the operator would write."""
    patch = json.dumps({"status": status})
    cluster.kubectl(
        "patch", "-n", namespace, "pdj", "mine", "--subresource=status", "--type=merge", "-p", patch
    )
