"""Where the reader of a document works."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from localcluster import Cluster, ClusterConfig
from tests.live import patience
from tests.manuals import operator_manual
from tests.manuals.walk import Walk

DEMO = "registry.baidubce.com/paddle-operator/demo-wide-and-deep"
PADDLE = "paddlepaddle/paddle"
PROGRAM = '[ "$TRAINING_ROLE" = TRAINER ] || exec sleep 3600'
"""Servers serve and workers end; test_guide.py trains the same job."""


@dataclass(frozen=True)
class Desk:
    """A cluster without the operator, and a folder."""

    cluster: Cluster
    folder: Path

    def reader(self, show: Callable[[str], object] = lambda _: None) -> Walk:
        """Somebody who begins; what one before has left behind half-way is gone."""
        left = ("delete", "--ignore-not-found", "-f", "deploy/v1/crd.yaml")
        operators = ("deploy/v1/operator.yaml", "deploy/v1/operator-all-namespaces.yaml")
        with contextlib.chdir(self.folder):
            for file in operators:
                self.cluster.kubectl(*left, "-f", file, timeout_seconds=patience.SECONDS)
        self.cluster.kubectl("delete", "--ignore-not-found", "namespace", "training")
        return Walk(self.cluster, self.folder, show)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """For readers who begin by installing the operator, and end by uninstalling it."""
    folder = tmp_path_factory.mktemp("desk")
    operator_manual.prepare(folder)
    with operator_manual.start_cluster(folder) as cluster:
        yield Desk(cluster, folder)


@pytest.fixture(scope="package")
def quick_desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """The same for readers of whose jobs one trains."""
    folder = tmp_path_factory.mktemp("quick-desk")
    operator_manual.prepare(folder)
    table = folder / "images.yaml"
    images = {PADDLE: {"environment": "examples"}, DEMO: {"command": ["sh", "-c", PROGRAM]}}
    table.write_text(yaml.safe_dump({"images": images}))
    host = folder / "host"
    host.mkdir()
    with Cluster(ClusterConfig(nodes=1, images=[table], host_path_root=host)) as cluster:
        yield Desk(cluster, folder)


@pytest.fixture(scope="package")
def host(quick_desk: Desk) -> Path:
    """The folder that pods see as the root of their host."""
    return quick_desk.folder / "host"
