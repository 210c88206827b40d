"""Distributed training as a plain Kubernetes Job, without the operator."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from localcluster import Cluster, ClusterConfig
from tests.examples.pods import EXAMPLES, python

pytestmark = [pytest.mark.training, pytest.mark.cluster, pytest.mark.timeout(700)]

WAIT_SECONDS = 400
VIEW = ("--clusterrole=view", "--serviceaccount=default:default")


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What the Job has written, after its end."""
    root = tmp_path_factory.mktemp("hosts")
    job = root / "home/work/mfs/paddle-cluster-job"
    training_files = EXAMPLES / "wide_and_deep"
    shutil.copytree(
        training_files, job / "recommendation", ignore=shutil.ignore_patterns("__pycache__")
    )
    make = [python(), str(training_files / "make_data.py"), str(job / "data"), "--shards=3"]
    subprocess.run([*make, "--samples=12000", "--part-size=1000"], check=True)
    with Cluster(ClusterConfig(nodes=1, host_path_root=root)) as cluster:
        cluster.kubectl("create", "rolebinding", "pods", *VIEW)
        cluster.kubectl("create", "-f", str(EXAMPLES / "sharded" / "job.yaml"))
        wait = ("wait", "--for=condition=Complete", "job/paddle-cluster-job")
        cluster.kubectl(*wait, f"--timeout={WAIT_SECONDS}s", timeout_seconds=WAIT_SECONDS + 10)
        yield job / "output"


@pytest.mark.parametrize("node", [0, 1, 2])
def test_each_trainer_has_trained_on_its_own_shard(output: Path, node: int) -> None:
    assert "4000 samples here, 12000 on all" in (output / f"node_{node}/train.log").read_text()
    assert "serving" in (output / f"node_{node}/server.log").read_text()


@pytest.mark.parametrize("number", [0, 1, 2])
def test_the_model_of_each_pass_is_whole(output: Path, number: int) -> None:
    model = output / f"pass-{number:05}"
    assert (model / "done").exists()
    servers = {path.name.split("-")[1] for path in model.glob("*/part-*")}
    assert servers == {"000", "001", "002"}
