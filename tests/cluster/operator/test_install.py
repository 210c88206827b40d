"""From install to uninstall with the commands of the operator's manual, the operator in a pod."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from localcluster import Cluster, ClusterConfig
from localcluster.machine import clock
from tests.live.lab import SERVER, Lab, paddle_job, shell
from tests.live.operated import CHECKOUT, CRD, DEPLOYMENT, NAMESPACE

pytestmark = pytest.mark.timeout(400)

DEPLOY = CHECKOUT / "deploy" / "v1"
GONE_SECONDS = 150.0


@pytest.fixture(scope="module")
def installed() -> Iterator[Lab]:
    """The operator for one namespace, as printed: CRD first, then the rest."""
    with Cluster(ClusterConfig()) as cluster:
        cluster.kubectl("create", "-f", str(DEPLOY / "crd.yaml"))
        cluster.kubectl("create", "-f", str(DEPLOY / "operator.yaml"))
        yield Lab(cluster, NAMESPACE)


def test_operator_runs_as_its_deployments_pod(installed: Lab) -> None:
    rollout = ("rollout", "status", f"deployment/{DEPLOYMENT}", "--timeout=120s")
    installed.kubectl(*rollout, timeout_seconds=130)
    pods = installed.kubectl("get", "pods").splitlines()[1:]
    assert [line.split()[1:3] for line in pods] == [["1/1", "Running"]]


def test_jobs_run(installed: Lab) -> None:
    roles = {"ps": (2, SERVER), "worker": (2, shell("exit 0"))}
    installed.submit(paddle_job("done", roles, cleanPodPolicy="Never"))
    installed.wait_completed("done")
    installed.wait_printed("done", "Completed", "PS", "2/2", "0/2")


def test_lease_carries_the_scope(installed: Lab) -> None:
    lease = f"lease.coordination.k8s.io/paddlejob-operator-{NAMESPACE}"
    installed.wait(lambda: lease in installed.kubectl("get", "leases", "-o", "name"), lease)


def test_nothing_is_left_after_delete_with_jobs_running(installed: Lab) -> None:
    installed.submit(paddle_job("running", {"worker": (2, SERVER)}))
    installed.wait_phase("running", "Running")
    files = ("-f", str(DEPLOY / "crd.yaml"), "-f", str(DEPLOY / "operator.yaml"))
    installed.cluster.kubectl("delete", *files, timeout_seconds=GONE_SECONDS)
    cluster = installed.cluster
    assert cluster.kubectl("get", "crd", CRD, check=False).returncode
    assert cluster.kubectl("get", "namespace", NAMESPACE, check=False).returncode
    assert clock.wait_until(lambda: not cluster.get("/api/v1/pods")["items"], GONE_SECONDS)


def test_links_lead_to_the_printed_paths() -> None:
    deploy = Path(DEPLOY).parent
    for name, target in (("v1", "manifests/v1"), ("v1beta1", "manifests/v1beta1")):
        assert (deploy / name).resolve() == CHECKOUT / target
    assert (deploy / "examples").resolve() == CHECKOUT / "examples"
