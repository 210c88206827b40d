"""Operators with other settings than the default ones, each for a namespace of its own.

In their cluster Volcano comes late, and each of four nodes has four GPUs.
"""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from api.constants import Reason
from localcluster import Cluster
from tests.conftest import new_namespace
from tests.live import volcano
from tests.live.lab import CORE, SERVER, Lab, paddle_job, shell
from tests.live.operated import operator_beside
from tests.live.pdj import assert_explained

pytestmark = pytest.mark.usefixtures("told_before_volcano")

KUBERNETES_GANG = "/apis/scheduling.k8s.io/v1alpha2"
FIFTH = "node-4"
FLAGS = {
    "kubernetes-gang": ["--scheduling=kubernetes"],
    "volcano-gang": ["--scheduling=volcano"],
    "narrow": ["--host-port-range=40000-40019"],
}


@pytest.fixture(scope="module")
def labs(unattended: Cluster) -> Iterator[dict[str, Lab]]:
    with ExitStack() as stack:
        made = {}
        for name, flags in FLAGS.items():
            made[name] = Lab(unattended, stack.enter_context(new_namespace(unattended)))
            stack.enter_context(operator_beside(unattended, made[name].namespace, *flags))
        yield made


@pytest.fixture(scope="module")
def told_before_volcano(
    labs: dict[str, Lab], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """What a gang of Volcano's said before that came; first, for it goes on as others wait."""
    lab = labs["volcano-gang"]
    lab.submit(paddle_job("early", {"worker": (2, shell("exit 0"))}, cleanPodPolicy="Never"))
    lab.wait(lambda: lab.condition("early", "Pending").get("reason") == "PodGroupUnavailable", "")
    told = says(lab, "early")
    assert not lab.pods("early")
    volcano.install_pod_groups(lab.cluster)
    volcano.start_scheduler(lab.cluster, tmp_path_factory.mktemp("volcano"))
    yield told
    lab.cluster.stop(volcano.SCHEDULER)
    lab.cluster.kubectl("delete", "-f", str(volcano.CRD))


def test_kubernetes_gang_is_bound_whole_or_not_at_all(labs: dict[str, Lab]) -> None:
    lab = labs["kubernetes-gang"]
    template = shell("exec sleep 3600", resources={"limits": {"nvidia.com/gpu": "4"}})
    lab.submit(paddle_job("five", {"worker": (5, template)}))
    group = lab.wait(lambda: lab.items(KUBERNETES_GANG, "podgroups"), "a PodGroup")[0]
    assert group["spec"]["schedulingPolicy"]["gang"]["minCount"] == 5
    name = group["metadata"]["name"]

    def is_refused() -> bool:
        found = lab.get(KUBERNETES_GANG, f"podgroups/{name}")
        conditions = (found.get("status") or {}).get("conditions") or ()
        return ("PodGroupScheduled", "False") in [(c["type"], c["status"]) for c in conditions]

    lab.wait(is_refused, "PodGroupScheduled=False")
    pods = lab.pods("five")
    assert {pod["spec"]["schedulingGroup"]["podGroupName"] for pod in pods} == {name}
    assert not [pod["spec"]["nodeName"] for pod in pods if "nodeName" in pod["spec"]]
    lab.wait(lambda: "PodGroup not scheduled" in says(lab, "five"), "told")
    lab.cluster.start_component(FIFTH)
    lab.wait_phase("five", "Running")
    lab.kubectl("delete", "pdj", "five")
    lab.wait(lambda: not lab.items(KUBERNETES_GANG, "podgroups"), "no PodGroup")
    lab.cluster.stop(FIFTH)
    lab.kubectl("delete", "node", FIFTH)


def says(lab: Lab, job: str) -> str:
    return str(lab.condition(job, "Pending").get("message"))


def test_volcano_not_installed_is_told_and_the_job_goes_on_when_it_is(labs, told_before_volcano):
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
