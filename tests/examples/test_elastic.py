"""Elastic training: workers come and go under Paddle's own elastic launcher."""

import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from localcluster.build import ensure_binaries
from tests.examples.pods import EXAMPLES, Pod, python, wait_until

pytestmark = [pytest.mark.training, pytest.mark.timeout(400)]

RESNET = EXAMPLES / "resnet"


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.fixture
def etcd(tmp_path: Path) -> Iterator[str]:
    """HOST:PORT of an etcd."""
    client, peer = (f"http://127.0.0.1:{_free_port()}" for _ in range(2))
    command = [
        str(ensure_binaries() / "etcd"),
        f"--data-dir={tmp_path / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--log-level=error",
    ]
    with subprocess.Popen(command) as process:
        yield client.removeprefix("http://")
        process.kill()


class Workers:
    """Started one by one; each is a launcher and the program that it runs."""

    def __init__(self, folder: Path, etcd: str) -> None:
        self._folder = folder
        self._env = os.environ | {
            "PADDLE_MASTER": f"etcd://{etcd}",
            "PADDLE_NNODES": "2:3",
            "PADDLE_JOB_ID": "test-0001",
            "PADDLE_ELASTIC_TIMEOUT": "10",
            "PADDLE_ELASTIC_LEVEL": "1",
            "PADDLE_MAX_RESTART": "1000000",
            "CHECKPOINT_DIR": str(folder / "checkpoints"),
            "CHECKPOINT_EVERY": "4",
            "OUTPUT_DIR": str(folder / "model"),
            "SAMPLES": "1024",
            "EPOCHS": "40",
        }
        self.pods: list[Pod] = []

    def start(self) -> Pod:
        index = len(self.pods)
        command = [python(), str(RESNET / "elastic_launch.py"), str(RESNET / "train_fleet.py")]
        env = self._env | {"POD_IP": f"127.251.{os.getpid() % 250}.{index + 1}"}
        self.pods.append(Pod(command, env, self._folder / f"worker-{index}"))
        return self.pods[-1]


@pytest.fixture
def workers(tmp_path: Path, etcd: str) -> Iterator[Workers]:
    started = Workers(tmp_path / "job", etcd)
    yield started
    for pod in started.pods:
        pod.kill()


def test_training_goes_on_through_a_new_and_a_lost_worker(workers: Workers) -> None:
    first, second = workers.start(), workers.start()
    wait_until(lambda: first.find("epoch 1 ended"), "two workers train", 120)
    third = workers.start()
    wait_until(lambda: third.find(r"epoch \d+ ended.*on 3 workers"), "three workers train", 120)
    third.kill()
    assert [first.wait(200), second.wait(200)] == [0, 0], first.log
    assert first.find(r"rank \d of (\d)") == ["2", "3", "2"]
    losses = [float(loss) for loss in first.find(r"mean loss (\d+\.\d+)")]
    resumed = [int(epoch) for epoch in first.find(r"resumed at epoch (\d+)")]
    assert len(resumed) == 2
    assert 0 < resumed[0] < resumed[1]
    assert losses[-1] < 0.5 * losses[0]
