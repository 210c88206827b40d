"""Jobs of other operators, converted by `kubectl pdj convert`, run to their end as PaddleJobs.

Their programs are lines of a shell: what they would train, test_guide.py trains.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.live.lab import Lab, shell
from tests.live.networks import needs_owner
from tests.live.pdj import Tool, run_pdj

pytestmark = [pytest.mark.cluster]

Raw = dict[str, Any]
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
                "template": shell("echo rank $PADDLE_TRAINER_ID of $PADDLE_TRAINERS_NUM"),
            }
        },
    },
}
CTR = Path(__file__).parents[1] / "manuals" / "printed" / "ctr.yaml"
TRAIN = "python train.py --is_local 0 --cloud_train 1"
SERVE = '[ "$TRAINING_ROLE" = TRAINER ] || exec sleep 3600'


def convert(lab: Lab, source: bytes) -> list[str]:
    """Convert a job and run it to its end; what was said of it."""
    done = run_pdj("convert", "-", stdin=source)
    assert done.code == 0, done
    Tool(lab).ok("submit", "-", stdin=done.out.encode())
    (job,) = yaml.safe_load_all(done.out)
    lab.wait_completed(job["metadata"]["name"])
    return done.notes.splitlines()


def test_kubeflows_job_completes(module_lab: Lab) -> None:
    assert convert(module_lab, yaml.safe_dump(KUBEFLOW).encode()) == []
    log = Tool(module_lab).ok("logs", "kubeflow")
    assert sorted(log.splitlines()) == [f"worker-{n} | rank {n} of 2" for n in range(2)]


@needs_owner
def test_volcanos_job_completes(module_lab: Lab, tmp_path: Path) -> None:
    """As a manual prints it: each variable that the operator sets itself is dropped, and named."""
    text = CTR.read_text().replace("/home/work/", str(tmp_path))
    assert text.count(TRAIN) == 2
    text = text.replace(TRAIN, SERVE)
    notes = convert(module_lab, text.encode())
    assert all(note.endswith("]: the operator sets it") for note in notes), notes
    assert "containers[0].env[PADDLE_TRAINING_ROLE]" in notes[-2]
    status = module_lab.status("ctr-volcano")
    assert (status["mode"], status["worker"]["succeeded"]) == ("PS", 2)
