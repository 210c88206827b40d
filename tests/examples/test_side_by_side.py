"""Jobs whose programs listen on the same ports of all addresses, all at once on one machine."""

import copy
from collections.abc import Iterable
from pathlib import Path

import pytest
import yaml

from tests.examples.pods import EXAMPLES
from tests.live.lab import Lab, Raw

pytestmark = [pytest.mark.training, pytest.mark.timeout(600)]

JOB_SECONDS = 300
PODS = 9


def held_back(file: str, name: str, folder: Path) -> Raw:
    """An example's job under another name, whose trainers start when `go` lies in the folder."""
    job: Raw = yaml.safe_load((EXAMPLES / file).read_text())
    job["metadata"]["name"] = name
    gate = {
        "name": "gate",
        "image": "busybox",
        "command": ["sh", "-c", "until test -e /gate/go; do sleep 0.1; done"],
        "volumeMounts": [{"name": "gate", "mountPath": "/gate"}],
    }
    volume = {"name": "gate", "hostPath": {"path": str(folder)}}
    for role in ("ps", "worker", "heter"):
        if role in job["spec"]:
            job["spec"][role] = copy.deepcopy(job["spec"][role])
            spec = job["spec"][role]["template"]["spec"]
            spec["initContainers"] = [gate]
            spec["volumes"] = [*spec.get("volumes", ()), volume]
    return job


def started_at(pod: Raw) -> str:
    """When the trainer of a pod started, which may have ended since."""
    (trainer,) = pod["status"]["containerStatuses"]
    ((_, state),) = trainer["state"].items()
    return str(state["startedAt"])


def test_two_collective_jobs_and_a_heter_job_train_at_once(lab: Lab, tmp_path: Path) -> None:
    jobs = {"one": "resnet.yaml", "two": "resnet.yaml", "three": "heter.yaml"}
    lab.submit(*(held_back(file, name, tmp_path) for name, file in jobs.items()))
    lab.wait(lambda: count_at_gate(lab, jobs) == PODS, "all pods at the gate", JOB_SECONDS)
    (tmp_path / "go").touch()
    for name in jobs:
        lab.wait_completed(name, timeout_seconds=JOB_SECONDS)
    runs = [lab.job(name)["status"] for name in jobs]
    starts = [started_at(pod) for name in jobs for pod in lab.pods(name)]
    assert max(starts) < min(run["completionTime"] for run in runs)
    assert [run.get("restartCount", 0) for run in runs] == [0, 0, 0]


def count_at_gate(lab: Lab, jobs: Iterable[str]) -> int:
    """How many pods have come as far as their init container."""
    gates = [
        gate
        for name in jobs
        for pod in lab.pods(name)
        for gate in pod["status"].get("initContainerStatuses", ())
    ]
    return sum("running" in gate["state"] for gate in gates)
