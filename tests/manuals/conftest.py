"""A cluster as the manuals assume one: labelled nodes with GPUs, shared folders, Volcano."""

import contextlib
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from localcluster import Cluster, ClusterConfig
from tests.examples.pods import EXAMPLES, python
from tests.live import volcano
from tests.live.lab import Lab
from tests.live.operated import start_operator
from tests.live.tinyimages import write_tiny_images
from tests.manuals import operator_manual
from tests.manuals.reader import printed
from tests.manuals.walk import Walk

LABELS = {"accelerator": "nvidia-tesla-p100"}
MANUALS_NFS = "10.12.201.xx/nas"
EXAMPLES_NFS = "nfs.example.com/nas"
PASS = "pass-00002"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say where the manuals' YAML is not tested as it is printed."""
    lines = [line for each in printed() for line in each.mended()]
    if lines:
        terminalreporter.section("mended in the manuals")
        for line in lines:
            terminalreporter.write_line(line)


@dataclass(frozen=True)
class Plant:
    """The cluster, and where its hosts' folders and its NFS servers' volumes lie here."""

    cluster: Cluster
    hosts: Path
    nfs: Path

    def lab(self, namespace: str) -> Lab:
        """A namespace of this cluster, made if need be."""
        made = self.cluster.kubectl("create", "namespace", namespace, check=False)
        assert not made.returncode or "already exists" in made.stderr, made.stderr
        wait = ("wait", "-n", namespace, "--for=create", "serviceaccount/default")
        self.cluster.kubectl(*wait, "--timeout=100s")
        return Lab(self.cluster, namespace)


@pytest.fixture(scope="package")
def plant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plant]:
    """Two nodes with the operator for all namespaces, and the folders that jobs find."""
    folder = tmp_path_factory.mktemp("plant")
    images = write_tiny_images(folder / "images.yaml", OUTPUT_DIR="/nas/model")
    hosts, nfs = folder / "hosts", folder / "nfs"
    config = ClusterConfig(
        nodes=2, labels=LABELS, images=[images], host_path_root=hosts, nfs_root=nfs
    )
    with Cluster(config) as cluster:
        volcano.install_pod_groups(cluster)
        volcano.start_scheduler(cluster, folder)
        start_operator(cluster)
        fill(hosts / "home/work/mfs/paddle-cluster-job", nfs)
        yield Plant(cluster, hosts, nfs)


@dataclass(frozen=True)
class Desk:
    """Where a reader of a document works: a cluster without the operator, and a folder."""

    cluster: Cluster
    folder: Path

    def reader(self, show: Callable[[str], object] = lambda _: None) -> Walk:
        """Somebody who begins; what one before has left behind half-way is gone."""
        left = ("delete", "--ignore-not-found", "-f", "deploy/v1/crd.yaml")
        operators = ("deploy/v1/operator.yaml", "deploy/v1/operator-all-namespaces.yaml")
        with contextlib.chdir(self.folder):
            for file in operators:
                self.cluster.kubectl(*left, "-f", file, timeout_seconds=120)
        self.cluster.kubectl("delete", "--ignore-not-found", "namespace", "training")
        return Walk(self.cluster, self.folder, show)


@pytest.fixture(scope="package")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """For readers who begin by installing the operator, and end by uninstalling it."""
    folder = tmp_path_factory.mktemp("desk")
    operator_manual.prepare(folder)
    with operator_manual.start_cluster(folder) as cluster:
        yield Desk(cluster, folder)


def fill(sharded: Path, nfs: Path) -> None:
    """Lay out data cut in three and the training files, and the same as the volumes have them."""
    programs = EXAMPLES / "wide_and_deep"
    make = [python(), str(programs / "make_data.py"), str(sharded / "data"), "--shards=3"]
    subprocess.run([*make, "--samples=2400", "--part-size=200", "--held-out=400"], check=True)
    copy_programs(programs, sharded / "recommendation")
    copy_programs(programs, nfs / MANUALS_NFS / "wide_and_deep")
    for volume in (MANUALS_NFS, EXAMPLES_NFS):
        shutil.copytree(sharded, nfs / volume / "paddle-cluster-job")
    (nfs / MANUALS_NFS / "wide_and_deep/data").symlink_to("../paddle-cluster-job/data")


def copy_programs(source: Path, target: Path) -> None:
    """The files of a program, without what running it has left."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "data"))
