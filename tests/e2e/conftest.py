"""One real node for all tests, with the operator as its Deployment beside Pod Security."""

from collections.abc import Iterator

import pytest

from localcluster import Cluster
from tests.e2e.node import RealNode
from tests.live import rights


@pytest.fixture(scope="session")
def cluster(node: RealNode) -> Cluster:
    return node.cluster


@pytest.fixture(scope="session")
def operated(node: RealNode) -> Iterator[Cluster]:
    """The operator is installed there, in a namespace that takes restricted pods alone."""
    yield node.cluster
    if node.is_own:
        rights.check_none_is_missing(node.cluster, *rights.LOGS)
