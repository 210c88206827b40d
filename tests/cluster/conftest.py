"""Fixtures of the tests against the real API server."""

from collections.abc import Iterator

import pytest

from localcluster import Cluster
from localcluster.commands.manifests import install
from tests.live.history import History
from tests.live.lab import CORE, Lab
from tests.live.operated import MANIFESTS


@pytest.fixture(scope="module")
def crd(cluster: Cluster) -> None:
    install(cluster, MANIFESTS / "crd.yaml", verb=("apply",))


@pytest.fixture(scope="module")
def pod_history(module_lab: Lab) -> Iterator[History]:
    """What the pods of the module's jobs have been through."""
    with History(module_lab, CORE, "pods") as history:
        yield history
