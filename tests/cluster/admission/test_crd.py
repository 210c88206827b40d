"""What a user does with kubectl and a PaddleJob when no operator runs."""

import pytest

from localcluster import Cluster
from localcluster.machine import clock
from tests.live import patience
from tests.live.lab import PADDLE_JOBS, Lab, paddle_job, shell

pytestmark = pytest.mark.usefixtures("crd")


@pytest.fixture
def lab(cluster: Cluster, namespace: str) -> Lab:
    """With a job that nobody runs."""
    lab = Lab(cluster, namespace)
    lab.submit(paddle_job("mine", {"worker": (1, shell("true"))}))
    return lab


def test_wide_columns(lab: Lab) -> None:
    status = {
        "phase": "Starting",
        "mode": "Heter",
        "attempt": 2,
        "restartCount": 1,
        "reason": "ImageError",
        "message": "mine-worker-0: ErrImagePull: no such image",
        "ps": {"replicas": 1, "ready": "0/1"},
        "worker": {"replicas": 1, "ready": "0/1"},
        "heter": {"replicas": 1, "ready": "1/1"},
    }
    lab.patch(PADDLE_JOBS, "paddlejobs/mine/status", status=status)
    header, line = lab.kubectl("get", "pdj", "-o", "wide").splitlines()
    added = ["HETER", "ATTEMPT", "RESTARTS", "REASON", "MESSAGE"]
    assert header.split() == ["NAME", "STATUS", "MODE", "PS", "WORKER", "AGE", *added]
    assert line.split(maxsplit=10)[6:10] == ["1/1", "2", "1", "ImageError"]
    assert line.split(maxsplit=10)[10].strip() == status["message"]


def test_status_is_written_apart_from_the_spec(lab: Lab) -> None:
    lab.patch(PADDLE_JOBS, "paddlejobs/mine", status={"phase": "Failed"})
    assert "phase" not in lab.status("mine")


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("pdj", "DESCRIPTION"),
        ("pdj.spec", "DESCRIPTION"),
        ("pdj.spec.worker", "DESCRIPTION"),
        ("pdj.spec.podFailurePolicy.rules", "DESCRIPTION"),
        ("pdj.status.worker", "DESCRIPTION"),
        ("pdj.spec.worker.template.spec.containers.env", "valueFrom"),
    ],
)
def test_explain_describes(cluster: Cluster, path: str, word: str) -> None:
    def said() -> str:
        """Nothing as long as the API server does not publish the schema, a moment after the CRD."""
        return cluster.kubectl("explain", path, check=False).stdout

    assert clock.wait_until(lambda: word in said(), patience.SECONDS), said()
    assert word == "valueFrom" or "<no description>" not in said()
