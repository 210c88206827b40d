"""One world a test, with its kubelet."""

import pytest

from tests.memory.kubelet import Kubelet
from tests.memory.world import World


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def kubelet(world: World) -> Kubelet:
    return Kubelet(world)
