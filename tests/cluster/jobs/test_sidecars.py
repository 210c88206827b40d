"""Containers beside the trainer: its exit alone decides."""

import pytest

from tests.live.lab import Lab, paddle_job

FOREVER = {"image": "busybox", "command": ["sh", "-c", "exec sleep 3600"]}
TRAINER = {"image": "busybox", "command": ["sh", "-c", "exit 0"]}
FAILING = {"image": "busybox", "command": ["sh", "-c", "exit 9"]}
PODS = {
    "native-sidecar": {
        "initContainers": [{"name": "proxy", "restartPolicy": "Always", **FOREVER}],
        "containers": [{"name": "paddle", **TRAINER}],
    },
    "second-container": {
        "containers": [{"name": "paddle", **TRAINER}, {"name": "proxy", **FOREVER}]
    },
    "trainer-named-paddle": {
        "containers": [{"name": "proxy", **FOREVER}, {"name": "paddle", **TRAINER}]
    },
    "trainer-is-the-first": {
        "containers": [{"name": "train", **TRAINER}, {"name": "proxy", **FOREVER}]
    },
    "sidecar-that-fails": {
        "containers": [{"name": "paddle", **TRAINER}, {"name": "proxy", **FAILING}]
    },
}


@pytest.fixture(scope="module")
def jobs(module_lab: Lab) -> Lab:
    """A job of two workers of each kind, all at once."""
    for name, spec in PODS.items():
        module_lab.submit(paddle_job(name, {"worker": (2, {"spec": spec})}, cleanPodPolicy="Never"))
    return module_lab


@pytest.mark.parametrize("name", PODS)
def test_trainers_exit_completes_the_job(jobs: Lab, name: str) -> None:
    assert jobs.wait_completed(name)["worker"]["succeeded"] == 2


def test_trainer_that_fails_beside_a_sidecar_fails_the_job(lab: Lab) -> None:
    spec = {"containers": [{"name": "paddle", **FAILING}, {"name": "proxy", **FOREVER}]}
    lab.submit(paddle_job("failing", {"worker": (1, {"spec": spec})}))
    lab.wait_phase("failing", "Failed")
    assert lab.status("failing")["failures"][0]["exitCode"] == 9
