"""`version`: this tool's own always, and the operator's where there is a cluster."""

from argparse import Namespace
from typing import Any

from api.objects import Raw
from kube.errors import Forbidden
from pdj.commands import version
from pdj.session import Session


def test_version_without_a_cluster_is_the_tools(capsys):
    options = Namespace(client=False, kubeconfig="/nowhere", context=None)
    assert version.run(Session(options)) == 0
    own, kubernetes = capsys.readouterr().out.splitlines()
    assert own.startswith("kubectl-pdj ")
    assert kubernetes.startswith("Kubernetes    not seen: cannot read the kubeconfig /nowhere")


class Cluster:
    """An API server that serves PaddleJobs and shows its operator's Deployment."""

    def get(self, path: str) -> Raw:
        if path.startswith("/apis/apiextensions"):
            raise Forbidden("no", code=403)
        if path.endswith("/v1"):
            return {"kind": "APIResourceList", "resources": [{"name": "paddlejobs"}]}
        served = [{"groupVersion": "batch.paddlepaddle.org/v1"}]
        return {"kind": "APIGroupList", "groups": [{"versions": served}], "gitVersion": "v1.36.3"}

    def list(self, _path: str, _query: Raw) -> tuple[list[Any], str]:
        pod = {"containers": [{"image": "registry.local/operator:2.0"}]}
        return [{"spec": {"template": {"spec": pod}}}], ""


def test_version_with_a_cluster_is_the_operators_too(capsys):
    session = Session(Namespace(client=False))
    session.__dict__["client"] = Cluster()
    assert version.run(session) == 0
    assert "Operator      registry.local/operator:2.0" in capsys.readouterr().out.splitlines()
