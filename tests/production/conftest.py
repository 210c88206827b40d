"""Tests of the ways to install, with Helm and kustomize themselves: `make production`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live import network
from tests.live.installers import ensure_installers

HERE = Path(__file__).parent


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build the programs before the tests' clock starts."""
    if any(HERE in item.path.parents for item in session.items):
        ensure_installers()


@pytest.fixture(scope="module")
def online() -> Iterator[None]:
    """The machine's network, for tests that ask an index for packages."""
    with network.outside():
        if not network.leads_out():
            pytest.skip(
                "this network has no way out: without root, run this file with pytest alone"
            )
        yield
