"""A worker is killed in the middle of an epoch: the job restarts, and the epoch goes on.

What Wide & Deep has learned then, and left, is that of a training on real parameter servers.
ResNet, which trains collectively, goes on from its checkpoints in test_elastic_job.py.
"""

import re
from pathlib import Path

import pytest

from tests.examples.files import example
from tests.live.history import History
from tests.live.lab import CORE, Lab, Raw
from tests.live.nodepods import kill_processes

pytestmark = [pytest.mark.training]

JOB = "wide-ande-deep-restart"
STEPS, PART = 12, 1000
SETTINGS = {
    "SAMPLES": str(2 * STEPS * PART),
    "PART_SIZE": str(PART),
    "HELD_OUT": "8000",
    "EPOCHS": "2",
    "LEARNING_RATE": "0.005",
    "CHECKPOINT_EVERY": "1",
}
IN_MID_EPOCH = f"{JOB}/checkpoints/0001-000004"
HELD = """
import os, runpy, sys, time
sys.path.insert(0, os.getcwd())
import checkpoint
save = checkpoint.Checkpoints.save
def save_and_wait(checkpoints, position, write):
    save(checkpoints, position, write)
    while os.environ["PADDLE_RENDEZVOUS"] == "1" and (position.epoch, position.step) == (1, 4):
        time.sleep(0.1)
checkpoint.Checkpoints.save = save_and_wait
runpy.run_path("train.py", run_name="__main__")
"""
"""The example's program, whose first attempt goes no further than into the second epoch."""


@pytest.fixture(scope="module")
def volume(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of this machine that is the job's volume."""
    return tmp_path_factory.mktemp("volume")


@pytest.fixture(scope="module")
def first_log(module_lab: Lab, volume: Path) -> str:
    """The job trains; its first worker's log amid the second epoch."""
    job = example("wide_and_deep_restart.yaml", **SETTINGS)
    for role in ("ps", "worker"):
        volumes = [{"name": "volume", "hostPath": {"path": str(volume)}}]
        job["spec"][role]["template"]["spec"]["volumes"] = volumes
    (volume / "held.py").write_text(HELD)
    (trainer,) = job["spec"]["worker"]["template"]["spec"]["containers"]
    trainer["command"] = ["python", "/volume/held.py"]
    module_lab.submit(job)
    amid = "a checkpoint from amid the second epoch"
    module_lab.wait((volume / IN_MID_EPOCH).exists, amid)
    return module_lab.log(f"{JOB}-worker-0")


@pytest.fixture(scope="module")
def job(module_lab: Lab, pod_history: History, first_log: str) -> Lab:
    """Then it loses a worker to kill -9, and goes on to its end."""
    kill_processes(module_lab.cluster, module_lab.get(CORE, f"pods/{JOB}-worker-1"))
    module_lab.wait_completed(JOB)
    return module_lab


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


def test_only_the_rest_of_the_epoch_is_trained_by_both_together(job: Lab) -> None:
    logs = [job.log(f"{JOB}-worker-{worker}") for worker in range(2)]
    (step,) = re.findall(r"resumed at epoch 1 step (\d+)", logs[0])
    found = [re.findall(r"epoch 1: AUC .*?(\d+) samples here, (\d+) on all", log) for log in logs]
    ((first, total),), ((second, _),) = found
    assert int(first) == PART * (STEPS - int(step))
    assert int(first) + int(second) == int(total)


def test_an_epoch_trains_all_samples_and_the_auc_rises_to_what_the_data_allows(
    job: Lab, first_log: str
) -> None:
    log = job.log(f"{JOB}-worker-0")
    ((first, total),) = re.findall(r"epoch 0: AUC (\d\.\d+).*?(\d+) on all", first_log)
    (ceiling,) = re.findall(r"allows an AUC of (\d\.\d+)", log)
    (last,) = re.findall(r"epoch 1: AUC (\d\.\d+)", log)
    assert total == SETTINGS["SAMPLES"]
    assert max(0.65, float(first)) < float(last) <= float(ceiling)


def test_a_server_ends_with_15_when_it_is_told_to(job: Lab, pod_history: History) -> None:
    pods = [pod for _, pod in pod_history.events(f"{JOB}-ps-") if was_told(pod)]
    ends = {pod["metadata"]["uid"]: code for pod in pods for code in exit_codes(pod)}
    assert list(ends.values())[:2] == [15, 15]


def was_told(pod: Raw) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def exit_codes(pod: Raw) -> list[int]:
    states = [each["state"] for each in pod["status"].get("containerStatuses", ())]
    return [state["terminated"]["exitCode"] for state in states if "terminated" in state]


def test_the_first_worker_saves_a_shard_of_each_server_of_each_table(
    job: Lab, volume: Path
) -> None:
    logs = [job.log(f"{JOB}-worker-{worker}") for worker in range(2)]
    assert ["model saved in" in log for log in logs] == [True, False]
    model = volume / JOB / "model"
    for table in ("000", "001"):
        for server in range(2):
            shards = (model / table).glob(f"part-{server:03}-*")
            assert sum(shard.stat().st_size for shard in shards) > 1000
    assert (model / "dnn_plugin" / "__model__").stat().st_size > 0
