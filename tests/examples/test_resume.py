"""A worker is killed in the middle of an epoch: the job restarts, and the epoch goes on.

ResNet, which trains collectively, goes on from its checkpoints in test_elastic_job.py.
"""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.examples.pods import EXAMPLES
from tests.live.lab import CORE, Lab
from tests.live.nodepods import kill_processes

pytestmark = [pytest.mark.training, pytest.mark.timeout(900)]

Raw = dict[str, Any]
JOB_SECONDS = 300.0
JOB = "wide-ande-deep-restart"
STEPS, PART = 12, 1000
SETTINGS = {
    "SAMPLES": str(2 * STEPS * PART),
    "PART_SIZE": str(PART),
    "EPOCHS": "2",
    "CHECKPOINT_EVERY": "1",
}
IN_MID_EPOCH = f"{JOB}/checkpoints/0001-00000[2-8]"


@pytest.fixture(scope="module")
def job(module_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """The job trains, loses a worker to kill -9 in its second epoch, and goes on to its end."""
    volume = tmp_path_factory.mktemp("volume")
    module_lab.submit(on_volume(volume))
    amid = "a checkpoint from amid the second epoch"
    module_lab.wait(lambda: list(volume.glob(IN_MID_EPOCH)), amid, JOB_SECONDS)
    kill_processes(module_lab.cluster, module_lab.get(CORE, f"pods/{JOB}-worker-1"))
    module_lab.wait_completed(JOB, timeout_seconds=JOB_SECONDS)
    return module_lab


def on_volume(folder: Path) -> Raw:
    """The example with a folder of this machine as its volume, and a small data set."""
    job: Raw = yaml.safe_load((EXAMPLES / "wide_and_deep_restart.yaml").read_text())
    for role in ("ps", "worker"):
        pod = job["spec"][role]["template"]["spec"]
        (container,) = pod["containers"]
        more = [{"name": name, "value": value} for name, value in SETTINGS.items()]
        container["env"] = [*container["env"], *more]
        pod["volumes"] = [{"name": "volume", "hostPath": {"path": str(folder)}}]
    return job


def test_killed_worker_is_a_charged_restart(job: Lab) -> None:
    status = job.status(JOB)
    assert (status["attempt"], status["restartCount"], status["failureCount"]) == (2, 1, 1)
    (record,) = status["failures"]
    assert (record["pod"], record["signal"]) == (f"{JOB}-worker-1", 9)


def test_the_epoch_goes_on(job: Lab) -> None:
    for worker in range(2):
        log = job.log(f"{JOB}-worker-{worker}")
        resumed = re.findall(r"resumed at epoch (\d+) step (\d+)", log)
        assert [(int(epoch), int(place) > 0) for epoch, place in resumed] == [(1, True)]
        assert not re.search(r"epoch 0\b", log)


def test_only_the_rest_of_the_epoch_is_trained(job: Lab) -> None:
    log = job.log(f"{JOB}-worker-0")
    (step,) = re.findall(r"resumed at epoch 1 step (\d+)", log)
    (trained,) = re.findall(r"epoch 1: AUC .*?(\d+) samples here", log)
    assert int(trained) == PART * (STEPS - int(step))
