"""One real node for several test processes: one has started it, the others run tests on it.

The first tells of it in a file. What the others have of it is what its API server and containerd
serve; its processes stay with the first, so tests that stop one run there.
"""

import pickle
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

from localcluster import Cluster
from localcluster.client.rest import Server, ServerClient
from tests.e2e.node import FOLDER, RealNode

OWNED = pytest.StashKey[RealNode]()
"""The node, in the configuration of the process that has started it."""
FILE = FOLDER / "shared"


class Owner:
    """A plugin of pytest for the process that has started the node."""

    def __init__(self, node: RealNode) -> None:
        self._node = node

    def pytest_configure(self, config: pytest.Config) -> None:
        """Have the tests of this process use it."""
        config.stash[OWNED] = self._node


@dataclass(frozen=True)
class Access:
    """What it takes to use a cluster."""

    server: str
    authority: str
    token: str
    kubeconfig: Path
    programs: Path
    folder: Path


class SharedCluster(Cluster):
    """A cluster that runs in another process; it ends there."""

    def __init__(self, access: Access) -> None:
        super().__init__()
        self.bin_dir = access.programs
        self._access = access

    @property
    def kubeconfig(self) -> Path:
        return self._access.kubeconfig

    @property
    def server(self) -> str:
        return self._access.server

    @property
    def folder(self) -> Path:
        return self._access.folder

    @property
    def client(self) -> ServerClient:
        return self._client

    @cached_property
    def _client(self) -> ServerClient:
        return ServerClient(Server(self.server, self._access.authority, self._access.token))


def share(node: RealNode) -> None:
    """Tell other processes of the node."""
    cluster = node.cluster
    access = Access(
        server=cluster.server,
        authority=cluster.plane.ca_file.read_text(),
        token=cluster.plane.token,
        kubeconfig=cluster.kubeconfig,
        programs=cluster.bin_dir,
        folder=cluster.folder,
    )
    FILE.write_bytes(pickle.dumps(access))


def node_of(config: pytest.Config) -> RealNode:
    """The node for the tests of this process, which may have started it."""
    owned = config.stash.get(OWNED, None)
    return owned or RealNode(SharedCluster(pickle.loads(FILE.read_bytes())), FOLDER)
