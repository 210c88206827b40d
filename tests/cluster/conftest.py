"""Fixtures of the tests against the real API server."""

import pytest

from localcluster import Cluster
from localcluster.commands.manifests import install
from tests.live.operated import MANIFESTS


@pytest.fixture(scope="module")
def crd(cluster: Cluster) -> None:
    install(cluster, MANIFESTS / "crd.yaml", verb=("apply",))
