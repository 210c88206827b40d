"""A worker is killed in the middle of an epoch: the job restarts, and the epoch goes on."""

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
SETTINGS = {
    "wide-ande-deep-restart": {
        "SAMPLES": "24000",
        "PART_SIZE": "1000",
        "EPOCHS": "2",
        "CHECKPOINT_EVERY": "1",
    },
    # Its launcher takes the port on all addresses of the machine, the other's servers among them.
    "resnet": {
        "SAMPLES": "2048",
        "EPOCHS": "2",
        "CHECKPOINT_EVERY": "2",
        "PADDLE_PORT": "37000",
    },
}
FILES = {"wide-ande-deep-restart": "wide_and_deep_restart.yaml", "resnet": "resnet.yaml"}
IN_MID_EPOCH = {"wide-ande-deep-restart": "0001-00000[2-8]", "resnet": "0001-0000[0-9][1-9]*"}
STEPS, PART = 12, 1000


@pytest.fixture(scope="module")
def jobs(module_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """Both jobs train, lose a worker to kill -9 in their second epoch, and go on to their end."""
    volume = tmp_path_factory.mktemp("volume")
    for file in FILES.values():
        module_lab.submit(on_volume(yaml.safe_load((EXAMPLES / file).read_text()), volume))
    whole = set(FILES)

    def are_hit() -> bool:
        for name in [name for name in whole if is_in_mid_epoch(volume, name)]:
            pod = module_lab.get(CORE, f"pods/{name}-worker-1")
            kill_processes(module_lab.cluster, pod)
            whole.remove(name)
        return not whole

    module_lab.wait(are_hit, "both are in mid-epoch", JOB_SECONDS)
    return module_lab


def on_volume(job: Raw, folder: Path) -> Raw:
    """The example with a folder of this machine as its volume, a small data set, and restarts."""
    name = job["metadata"]["name"]
    settings = SETTINGS[name] | {
        "CHECKPOINT_DIR": f"/volume/{name}/checkpoints",
        "OUTPUT_DIR": f"/volume/{name}/model",
    }
    for role in ("ps", "worker"):
        if role not in job["spec"]:
            continue
        pod = job["spec"][role]["template"]["spec"]
        container = pod["containers"][0]
        container["env"] = [{"name": key, "value": value} for key, value in settings.items()]
        others = [each for each in container.get("volumeMounts", ()) if each["name"] != "volume"]
        container["volumeMounts"] = [*others, {"name": "volume", "mountPath": "/volume"}]
        others = [each for each in pod.get("volumes", ()) if each["name"] != "volume"]
        pod["volumes"] = [*others, {"name": "volume", "hostPath": {"path": str(folder)}}]
    job["spec"]["backoffLimit"] = 3
    return dict(job)


def is_in_mid_epoch(volume: Path, name: str) -> bool:
    """Whether there is a checkpoint from amid the second epoch."""
    return bool(list((volume / name / "checkpoints").glob(IN_MID_EPOCH[name])))


@pytest.mark.parametrize("name", FILES)
def test_killed_worker_is_a_charged_restart(jobs: Lab, name: str) -> None:
    status = jobs.wait_completed(name, timeout_seconds=JOB_SECONDS)
    assert (status["attempt"], status["restartCount"], status["failureCount"]) == (2, 1, 1)
    (record,) = status["failures"]
    assert (record["pod"], record["signal"]) == (f"{name}-worker-1", 9)


@pytest.mark.parametrize("name", FILES)
def test_the_epoch_goes_on(jobs: Lab, name: str) -> None:
    jobs.wait_completed(name, timeout_seconds=JOB_SECONDS)
    for worker in range(2):
        log = jobs.log(f"{name}-worker-{worker}")
        resumed = re.findall(r"resumed at epoch (\d+) (?:step|images) (\d+)", log)
        assert [(int(epoch), int(place) > 0) for epoch, place in resumed] == [(1, True)]
        assert not re.search(r"epoch 0\b", log)


def test_only_the_rest_of_the_epoch_is_trained(jobs: Lab) -> None:
    name = "wide-ande-deep-restart"
    jobs.wait_completed(name, timeout_seconds=JOB_SECONDS)
    log = jobs.log(f"{name}-worker-0")
    (step,) = re.findall(r"resumed at epoch 1 step (\d+)", log)
    (trained,) = re.findall(r"epoch 1: AUC .*?(\d+) samples here", log)
    assert int(trained) == PART * (STEPS - int(step))
