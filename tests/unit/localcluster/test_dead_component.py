"""A component that died, of a full disk for example, is named; kubectl shows only what follows."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from localcluster.cluster.cluster import Cluster
from localcluster.cluster.components import ETCD
from localcluster.commands.manifests import install
from localcluster.machine import clock, disk
from localcluster.machine.errors import LocalClusterError
from localcluster.machine.process import Command
from tests.live import patience

CRD = """{"kind": "CustomResourceDefinition", "spec": {"group": "example.com",
"names": {"plural": "things"}, "versions": [{"name": "v1", "served": true}]}}"""
FAILING = "echo Timeout: request did not complete >&2; exit 1"


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    cluster = Cluster()
    cluster.bin_dir = tmp_path
    monkeypatch.setattr(cluster, "kubectl_environment", lambda _kubeconfig: dict(os.environ))
    yield cluster
    for name in cluster.dead():
        cluster.stop(name)


def let_kubectl(cluster: Cluster, script: str) -> None:
    (cluster.bin_dir / "kubectl").write_text(f"#!/bin/sh\n{script}\n")
    (cluster.bin_dir / "kubectl").chmod(0o755)


def let_die(cluster: Cluster, name: str) -> None:
    script = "echo panic: write: no space left on device; exit 2"
    folder = cluster.bin_dir
    cluster._processes.start(Command(name, ["sh", "-c", script], folder / "log", folder))
    assert clock.wait_until(lambda: cluster.dead() == [name], patience.SECONDS)


def test_the_end_of_a_component_is_why_kubectl_fails(cluster):
    let_kubectl(cluster, FAILING)
    let_die(cluster, ETCD)
    with pytest.raises(LocalClusterError) as caught:
        cluster.kubectl("create", "-f", "crd.yaml")
    assert str(caught.value).startswith("etcd died (2)")
    assert disk.explain(caught.value).startswith("the disk of ")


def test_the_end_of_another_process_is_not(cluster):
    let_kubectl(cluster, FAILING)
    let_die(cluster, "operator")
    with pytest.raises(LocalClusterError, match="Timeout: request did not complete"):
        cluster.kubectl("create", "-f", "crd.yaml")


def test_nobody_waits_for_a_kind_that_no_component_is_left_to_serve(cluster):
    let_kubectl(cluster, f"[ $1 = create ] || {{ {FAILING}; }}; echo '{CRD}'")
    let_die(cluster, ETCD)
    with pytest.raises(LocalClusterError, match="etcd died"):
        install(cluster, "crd.yaml")
