"""Jobs of other operators, converted by `kubectl pdj convert`, train as PaddleJobs."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.live.lab import Lab
from tests.live.pdj import Tool, run_pdj

pytestmark = [pytest.mark.training, pytest.mark.timeout(700)]

Raw = dict[str, Any]
SECONDS = 300.0
DEMO = "registry.baidubce.com/paddle-operator"


def template(image: str, **container: Any) -> Raw:
    """A pod of one of the examples' images."""
    trainer = {"name": "paddle", "image": f"{DEMO}/{image}:v1", **container}
    return {"spec": {"containers": [trainer], "restartPolicy": "OnFailure"}}


LAUNCHED = {"command": ["python"], "args": ["-m", "paddle.distributed.launch", "train_fleet.py"]}
KUBEFLOW = {
    "apiVersion": "kubeflow.org/v1",
    "kind": "PaddleJob",
    "metadata": {"name": "kubeflow"},
    "spec": {
        "runPolicy": {"cleanPodPolicy": "None", "backoffLimit": 1},
        "paddleReplicaSpecs": {
            "Worker": {
                "replicas": 2,
                "restartPolicy": "OnFailure",
                "template": template("demo-resnet", **LAUNCHED),
            }
        },
    },
}
CTR = Path(__file__).parents[1] / "manuals" / "printed" / "ctr.yaml"


def convert(lab: Lab, source: bytes) -> list[str]:
    """Convert a job and run it to its end; what was said of it."""
    done = run_pdj("convert", "-", stdin=source)
    assert done.code == 0, done
    Tool(lab).ok("submit", "-", stdin=done.out.encode())
    (job,) = yaml.safe_load_all(done.out)
    lab.wait_completed(job["metadata"]["name"], timeout_seconds=SECONDS)
    return done.notes.splitlines()


def test_kubeflows_job_trains(module_lab: Lab) -> None:
    assert convert(module_lab, yaml.safe_dump(KUBEFLOW).encode()) == []
    log = Tool(module_lab).ok("logs", "kubeflow")
    assert re.search(r"worker-0 \| \S+ rank 0 of 2", log)
    assert re.search(r"worker-1 \| \S+ rank 1 of 2", log)
    assert "mean loss" in log


def test_volcanos_job_trains(module_lab: Lab, tmp_path: Path) -> None:
    """As a manual prints it: each variable that the operator sets itself is dropped, and named."""
    text = CTR.read_text().replace("/home/work/", str(tmp_path))
    notes = convert(module_lab, text.encode())
    assert all(note.endswith("]: the operator sets it") for note in notes), notes
    assert "containers[0].env[PADDLE_TRAINING_ROLE]" in notes[-2]
    status = module_lab.status("ctr-volcano")
    assert (status["mode"], status["worker"]["succeeded"]) == ("PS", 2)
