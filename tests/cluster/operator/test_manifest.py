"""The operator's own objects are legal, and its pod passes the strictest pod security."""

from pathlib import Path

import pytest

from localcluster import Cluster
from manifests.operator import Variant, build_operator
from tests.live.apiserver import DRY_RUN, ApiServer
from tests.live.faulty import restrict
from tests.live.lab import Lab

VARIANTS = {"one-namespace": Variant(), "all-namespaces": Variant(all_namespaces=True)}


@pytest.fixture
def server(cluster: Cluster) -> ApiServer:
    return ApiServer(cluster)


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_pod_passes_restricted_pod_security(cluster, namespace, server, variant):
    restrict(Lab(cluster, namespace))
    pods = f"/api/v1/namespaces/{namespace}/pods"
    (deployment,) = (obj for obj in build_operator(variant) if obj["kind"] == "Deployment")
    spec = deployment["spec"]["template"]["spec"] | {"serviceAccountName": "default"}
    pod = {"metadata": {"name": "operator"}, "spec": spec}
    assert server.create(pods, pod, DRY_RUN).message == ""
    loose = {"metadata": {"name": "loose"}, "spec": spec | {"hostNetwork": True}}
    assert "PodSecurity" in server.create(pods, loose, DRY_RUN).message


def test_image_holds_what_the_operator_imports() -> None:
    root = Path(__file__).parents[3]
    copied = {
        line.split()[1]
        for line in (root / "Dockerfile").read_text().splitlines()
        if line.startswith("COPY ") and "--from" not in line
    }
    packages = {"api", "kube", "metrics", "reconcile", "controller"}
    assert copied == {"requirements/operator.txt", *packages}
    assert all((root / path).exists() for path in copied)
