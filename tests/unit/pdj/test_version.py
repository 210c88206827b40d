"""`version`: this tool's own always, and the operator's where there is a cluster."""

from argparse import Namespace

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
