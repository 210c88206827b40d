"""Fixtures of the tests that train."""

from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """A folder for what the tests of one module share."""
    return tmp_path_factory.mktemp(request.path.stem)
