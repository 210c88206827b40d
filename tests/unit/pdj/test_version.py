"""`version`: this tool's own always, and the operator's where there is a cluster."""

from argparse import Namespace

import pytest

from api.objects import Raw
from pdj.commands import version
from pdj.session import Session
from tests.unit.pdj.cluster import Cluster


def test_version_without_a_cluster_is_the_tools(capsys):
    options = Namespace(client=False, kubeconfig="/nowhere", context=None)
    assert version.run(Session(options)) == 0
    own, kubernetes = capsys.readouterr().out.splitlines()
    assert own.startswith("kubectl-pdj ")
    assert kubernetes.startswith("Kubernetes    no answer: cannot read the kubeconfig /nowhere")


def test_version_with_a_cluster_is_the_operators_too(capsys):
    pod = {"containers": [{"image": "registry.local/operator:2.0"}]}
    cluster = Cluster(deployments=[{"spec": {"template": {"spec": pod}}}])
    cluster.objects["/version"] = {"gitVersion": "v1.36.3"}
    session = Session(Namespace(client=False))
    session.__dict__["client"] = cluster
    assert version.run(session) == 0
    assert "Operator      registry.local/operator:2.0" in capsys.readouterr().out.splitlines()


def a_held_lease(namespace: str, renewed: str, holder: str = "pod-1") -> Raw:
    metadata = {"namespace": namespace, "name": "paddlejob-operator-all"}
    spec = {"holderIdentity": holder, "renewTime": f"2026-01-02T03:{renewed}.000000Z"}
    return {"metadata": metadata, "spec": spec}


@pytest.mark.parametrize(
    ("other", "rc"),
    [
        (a_held_lease("second", "04:05"), 1),
        (a_held_lease("second", "01:00"), 0),
        (a_held_lease("second", "04:05", ""), 0),
        (a_held_lease("second", "no time"), 0),
    ],
    ids=["two lead", "one has died", "one has released it", "one has no time"],
)
def test_two_operators_that_lead_at_once_are_an_error(capsys, other, rc):
    cluster = Cluster(leases=[a_held_lease("first", "04:07"), other])
    cluster.objects["/version"] = {"gitVersion": "v1.36.3"}
    session = Session(Namespace(client=False))
    session.__dict__["client"] = cluster
    assert version.run(session) == rc
    lines = capsys.readouterr().out.splitlines()
    leads = [line for line in lines if line.startswith("Leads ")]
    assert leads[0] == "Leads         first/paddlejob-operator-all pod-1"
    assert len(leads) == 1 + rc
    assert (version.COMPETE in lines) == bool(rc)
