"""One real node for all tests, with the operator as its Deployment beside Pod Security."""

from collections.abc import Iterator

import pytest

from localcluster import Cluster
from tests.e2e.node import RealNode
from tests.live import rights
from tests.live.operated import start_operator

ELASTIC_TIMEOUT_SECONDS = 10


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show what tests have measured."""
    for outcome in ("passed", "xfailed", "failed"):
        for report in terminalreporter.getreports(outcome):
            for name, value in report.user_properties:
                terminalreporter.write_line(f"{report.nodeid} {name}: {value}")


@pytest.fixture(scope="session")
def cluster(node: RealNode) -> Cluster:
    """Its cluster."""
    return node.cluster


@pytest.fixture(scope="session")
def operated(cluster: Cluster) -> Iterator[Cluster]:
    """The operator is installed, in a namespace that takes restricted pods alone."""
    flag = f"--elastic-timeout={ELASTIC_TIMEOUT_SECONDS}"
    start_operator(cluster, flag, pod_security="restricted")
    yield cluster
    rights.check_none_is_missing(cluster)
