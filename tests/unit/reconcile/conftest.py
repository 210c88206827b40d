"""One world a test."""

import pytest

from tests.memory.world import World


@pytest.fixture
def world() -> World:
    return World()
