"""etcd is restored from an older snapshot: the operator knows versions of the future."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from kube.errors import ApiError
from localcluster import Cluster, ClusterConfig
from localcluster.cluster.components import API_SERVER, ETCD
from tests.live.lab import CORE, Lab, paddle_job, shell
from tests.live.operated import install_crd, operator_behind, readiness
from tests.live.proxy import FaultProxy, refuse

WAITS = shell("exec sleep 3600")
LOST_VERSIONS = 300
"""More than the cluster's own components write before the operator looks again."""
BUSY = refuse(429, "TooManyRequests")


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[Cluster]:
    """A cluster of this test's own, in `tmp_path / "state"`."""
    with Cluster(ClusterConfig(nodes=1, state_dir=tmp_path / "state")) as running:
        install_crd(running)
        yield running


def stop_etcd(plane: Cluster, folder: Path) -> Path:
    """Stop the API server and etcd; where etcd's data are."""
    plane.stop(API_SERVER)
    plane.stop(ETCD)
    (data,) = (folder / "state").glob("run-*/etcd")
    return data


def start_etcd(plane: Cluster) -> None:
    plane.start_component(ETCD)
    plane.start_component(API_SERVER)


def is_taken(lab: Lab, name: str) -> bool:
    """Whether the job could be submitted: the API server has just been started."""
    try:
        lab.cluster.client.create(
            f"/apis/batch.paddlepaddle.org/v1/namespaces/{lab.namespace}/paddlejobs",
            paddle_job(name, {"worker": (1, WAITS)}),
        )
    except ApiError:
        return False
    return True


def write_config_maps(plane: Cluster, prefix: str) -> None:
    """Have the cluster come to a version that is so much higher."""
    for number in range(LOST_VERSIONS):
        body = {"metadata": {"name": f"{prefix}-{number}"}}
        plane.client.create(f"{CORE}/namespaces/default/configmaps", body)


def pod_uid(lab: Lab, job: str) -> str:
    (pod,) = lab.pods(job)
    assert "deletionTimestamp" not in pod["metadata"]
    return str(pod["metadata"]["uid"])


@pytest.mark.parametrize("is_behind", [True, False], ids=["behind", "beyond"])
def test_jobs_go_on_after_a_restore_and_running_pods_stay(plane, tmp_path, is_behind):
    """When the operator looks again, versions may have come beyond those that it knows."""
    lab = Lab(plane, "default")
    with (
        closing(FaultProxy(plane)) as proxy,
        operator_behind(proxy, "default", tmp_path) as operator,
    ):
        lab.submit(paddle_job("before", {"worker": (1, WAITS)}))
        lab.wait_phase("before", "Running")
        uid = pod_uid(lab, "before")
        snapshot = tmp_path / "snapshot"
        shutil.copytree(stop_etcd(plane, tmp_path), snapshot)
        start_etcd(plane)
        write_config_maps(plane, "lost") if is_behind else None
        lab.wait(lambda: is_taken(lab, "lost"), "the API server is back")
        lab.wait_phase("lost", "Running")
        with ExitStack() as unheard:
            data = stop_etcd(plane, tmp_path)
            shutil.rmtree(data)
            shutil.copytree(snapshot, data)
            if not is_behind:
                unheard.enter_context(proxy.rule("", "", BUSY))
            start_etcd(plane)
            lab.wait(lambda: is_taken(lab, "after"), "the API server is back")
            write_config_maps(plane, "new") if not is_behind else None
        lab.wait(lambda: lab.pods("after"), "pods of after")
        lab.wait(lambda: readiness(operator) == 200, "ready")
        assert pod_uid(lab, "before") == uid
        assert not lab.get("/apis/batch.paddlepaddle.org/v1", "paddlejobs/lost")
