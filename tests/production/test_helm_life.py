"""A job lives through upgrade, rollback, uninstall and install of the operator under Helm."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from localcluster import Cluster, ClusterConfig
from tests.live import nextversion, patience
from tests.live.gate import gated, open_gate
from tests.live.history import History
from tests.live.installers import CHART, CHECKOUT, NAMESPACE, RELEASE, Helm
from tests.live.lab import Lab, Raw, paddle_job, shell
from tests.live.operated import CRD, DEPLOYMENT
from tests.live.scrape import scrape

pytestmark = [pytest.mark.cluster]

COORDINATION = "/apis/coordination.k8s.io/v1"
LEASE = "paddlejob-operator-all"
PATIENT = patience.IN_KUBECTL
TWO = "--set=replicas=2"


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("host")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, host: Path) -> Iterator[Cluster]:
    """A cluster that has the image of the next version too."""
    images = nextversion.write_images(tmp_path_factory.mktemp("next"))
    config = ClusterConfig(nodes=1, images=[images], host_path_root=host)
    with Cluster(config) as running:
        yield running


def printed(verb: str) -> list[str]:
    """The words of the command that docs/production.md prints, after `helm`."""
    page = (CHECKOUT / "docs" / "production.md").read_text()
    (line,) = (line for line in page.splitlines() if line.startswith(f"helm {verb} "))
    return line.split()[1:]


def state(lab: Lab, job: str) -> dict[str, tuple[str, str]]:
    status = lab.status(job)
    assert (status.get("restartCount", 0), status.get("failureCount", 0)) == (0, 0)
    return {
        pod["metadata"]["name"]: (pod["metadata"]["uid"], status.get("attempt"))
        for pod in lab.pods(job)
        if pod["status"]["phase"] == "Running"
    }


def known_fields(cluster: Cluster) -> set[str]:
    crd = cluster.get(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{CRD}")
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return set(schema["properties"]["spec"]["properties"])


def changes(versions: list[Raw]) -> list[tuple[str, str]]:
    """Whom each new leader found in the Lease: nobody, where the last one has released it."""
    holders = [str(version["spec"]["holderIdentity"]) for version in versions]
    return [(old, new) for old, new in itertools.pairwise(holders) if new not in ("", old)]


def test_a_job_lives_through_upgrade_rollback_and_uninstall(cluster, host, tmp_path):
    helm, lab = Helm(cluster), Lab(cluster, "default")
    helm.run(*printed("install"), TWO, PATIENT)
    lab.submit(paddle_job("train", {"worker": (2, gated())}))
    lab.wait_phase("train", "Running")
    before = state(lab, "train")
    assert len(before) == 2

    with History(Lab(cluster, NAMESPACE), COORDINATION, "leases") as history:
        chart = nextversion.write_chart(tmp_path)
        upgrade = [str(chart) if CHART.name in word else word for word in printed("upgrade")]
        helm.run(*upgrade, PATIENT)
        assert nextversion.FIELD in known_fields(cluster)
        lab.submit(paddle_job("new", {"worker": (1, shell("exit 0"))}, cleanPodPolicy="Never"))
        lab.wait_completed("new")
        (made,) = lab.pods("new")
        assert made["metadata"]["labels"][nextversion.LABEL] == nextversion.TAG
        assert state(lab, "train") == before

        helm.run(*printed("rollback"), PATIENT)
        assert nextversion.FIELD not in known_fields(cluster)
        lab.submit(paddle_job("old", {"worker": (1, shell("exit 0"))}, cleanPodPolicy="Never"))
        lab.wait_completed("old")
        assert state(lab, "train") == before
        leases = history.versions(LEASE)
    assert changes(leases), "no other has led"
    assert not any(old for old, _ in changes(leases)), "each found the Lease released"

    helm.run(*printed("test"))
    helm.run(*printed("uninstall"), PATIENT)
    operators = Lab(cluster, NAMESPACE)
    operators.wait(lambda: not operators.items("/api/v1", "pods"), "the operator's pods are gone")
    assert state(lab, "train") == before
    assert lab.status("train")["phase"] == "Running"

    helm.run(*printed("install"), PATIENT)
    lab.wait(lambda: is_leading(cluster), "somebody leads")
    assert state(lab, "train") == before
    open_gate(host)
    lab.wait_completed("train")
    assert lab.status("train").get("restartCount", 0) == 0


def is_leading(cluster: Cluster) -> bool:
    (pod,) = cluster.get(f"/api/v1/namespaces/{NAMESPACE}/pods")["items"]
    text = scrape(f"{pod['status']['podIP']}:8080", cluster.plane.token)[1]
    return f'leader_election_master_status{{name="{LEASE}"}} 1.0' in text


def test_crd_goes_when_it_is_not_to_be_kept(cluster: Cluster) -> None:
    helm = Helm(cluster)
    helm.run("upgrade", RELEASE, str(CHART), "--set=crds.keep=false", "--wait", PATIENT)
    helm.run(*printed("uninstall"), PATIENT)
    assert cluster.kubectl("get", "crd", CRD, check=False).returncode
    assert DEPLOYMENT not in cluster.kubectl("-n", NAMESPACE, "get", "deployments").stdout
