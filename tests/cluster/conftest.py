"""Fixtures of the tests against the real API server."""

from pathlib import Path

import pytest

from localcluster import Cluster, clock

CRD = "paddlejobs.batch.paddlepaddle.org"
MANIFESTS = Path(__file__).parents[2] / "manifests" / "v1"


@pytest.fixture(scope="session")
def crd(cluster: Cluster) -> None:
    """The shared cluster knows PaddleJobs."""
    cluster.kubectl("apply", "-f", str(MANIFESTS / "crd.yaml"))

    def is_established() -> bool:
        # Not `kubectl wait`: it fails on a CRD that has no conditions at all yet.
        status = cluster.get(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{CRD}")
        conditions = status["status"].get("conditions") or ()
        return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)

    assert clock.wait_until(is_established, 30.0)
