"""Operators with other settings than the default ones, each for a namespace of its own.

In their cluster Volcano comes late, and a node has three CPUs.
"""

from collections.abc import Iterator

import pytest

from api.constants import Reason
from localcluster import Cluster, ClusterConfig
from tests.live import volcano
from tests.live.lab import CORE, SERVER, Lab, paddle_job, shell
from tests.live.operated import install_without_deployment, run_operator
from tests.live.pdj import assert_explained

pytestmark = pytest.mark.usefixtures("told_before_volcano")

KUBERNETES_GANG = "/apis/scheduling.k8s.io/v1alpha2"
FLAGS = {
    "kubernetes-gang": ["--scheduling=kubernetes"],
    "volcano-gang": ["--scheduling=volcano"],
    "narrow": ["--host-port-range=40000-40019"],
}


@pytest.fixture(scope="module")
def labs() -> Iterator[dict[str, Lab]]:
    """A lab for each set of flags."""
    config = ClusterConfig(nodes=1, node_capacity={"cpu": "3", "memory": "8Gi"})
    with Cluster(config) as cluster:
        install_without_deployment(cluster)
        for namespace, flags in FLAGS.items():
            cluster.kubectl("create", "namespace", namespace)
            run_operator(cluster, namespace, *flags)
        yield {namespace: Lab(cluster, namespace) for namespace in FLAGS}


@pytest.fixture(scope="module")
def told_before_volcano(labs: dict[str, Lab], tmp_path_factory: pytest.TempPathFactory) -> str:
    """What a gang of Volcano's said before that came; first, for it goes on as others wait."""
    lab = labs["volcano-gang"]
    lab.submit(paddle_job("early", {"worker": (2, shell("exit 0"))}, cleanPodPolicy="Never"))
    lab.wait(lambda: lab.condition("early", "Pending").get("reason") == "PodGroupUnavailable", "")
    told = says(lab, "early")
    assert not lab.pods("early")
    volcano.install_pod_groups(lab.cluster)
    volcano.start_scheduler(lab.cluster, tmp_path_factory.mktemp("volcano"))
    return told


def test_kubernetes_gang_is_bound_whole_or_not_at_all(labs: dict[str, Lab]) -> None:
    lab = labs["kubernetes-gang"]
    template = shell("exec sleep 3600", resources={"requests": {"cpu": "1"}})
    lab.submit(paddle_job("four", {"worker": (4, template)}))
    group = lab.wait(lambda: lab.items(KUBERNETES_GANG, "podgroups"), "a PodGroup")[0]
    assert group["spec"]["schedulingPolicy"]["gang"]["minCount"] == 4
    name = group["metadata"]["name"]

    def is_refused() -> bool:
        found = lab.get(KUBERNETES_GANG, f"podgroups/{name}")
        conditions = (found.get("status") or {}).get("conditions") or ()
        return ("PodGroupScheduled", "False") in [(c["type"], c["status"]) for c in conditions]

    lab.wait(is_refused, "PodGroupScheduled=False")
    pods = lab.pods("four")
    assert {pod["spec"]["schedulingGroup"]["podGroupName"] for pod in pods} == {name}
    assert not [pod["spec"]["nodeName"] for pod in pods if "nodeName" in pod["spec"]]
    lab.wait(lambda: "PodGroup not scheduled" in says(lab, "four"), "told")
    lab.cluster.start_component("node-1")
    lab.wait_phase("four", "Running")
    lab.kubectl("delete", "pdj", "four")
    lab.wait(lambda: not lab.items(KUBERNETES_GANG, "podgroups"), "no PodGroup")


def says(lab: Lab, job: str) -> str:
    """What the job says that it waits for."""
    return str(lab.condition(job, "Pending").get("message"))


def test_volcano_not_installed_is_told_and_the_job_goes_on_when_it_is(
    labs: dict[str, Lab], told_before_volcano: str
) -> None:
    assert "Volcano is not installed" in told_before_volcano
    labs["volcano-gang"].wait_completed("early")


def test_no_free_port_range_is_told_and_nothing_is_started(labs: dict[str, Lab]) -> None:
    lab = labs["narrow"]
    roles = {"ps": (1, SERVER), "worker": (1, shell("exit 0"))}
    lab.submit(paddle_job("wide", roles, intranet="Host"))
    lab.wait(lambda: lab.condition("wide", "Pending").get("reason") == "NoFreePorts", "told")
    assert "40000-40019" in lab.condition("wide", "Pending")["message"]
    assert not lab.pods("wide")
    assert not lab.get(CORE, "configmaps/wide")
    assert_explained(lab, "wide", Reason.NO_FREE_PORTS)
