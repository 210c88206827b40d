"""Jobs of other operators, converted by `kubectl pdj convert`, train as PaddleJobs."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.examples.pods import EXAMPLES, python
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


@pytest.fixture(scope="module")
def tool(module_lab: Lab) -> Tool:
    """`kubectl pdj` in the namespace of the module's tests."""
    return Tool(module_lab)


def convert(tool: Tool, lab: Lab, source: bytes) -> list[str]:
    """Convert and submit a job; what was said of it."""
    done = run_pdj("convert", "-", stdin=source)
    assert done.code == 0, done
    tool.ok("submit", "-", stdin=done.out.encode())
    (job,) = yaml.safe_load_all(done.out)
    lab.wait_completed(job["metadata"]["name"], timeout_seconds=SECONDS)
    return done.notes.splitlines()


def test_kubeflows_job_trains(module_lab: Lab, tool: Tool) -> None:
    assert convert(tool, module_lab, yaml.safe_dump(KUBEFLOW).encode()) == []
    log = tool.ok("logs", "kubeflow")
    assert re.search(r"worker-0 \| \S+ rank 0 of 2", log)
    assert re.search(r"worker-1 \| \S+ rank 1 of 2", log)
    assert "mean loss" in log


def test_the_manuals_plain_job_trains(module_lab: Lab, tool: Tool, tmp_path: Path) -> None:
    """Its program asks the API server for the pods of its Job, by the label that a Job's have."""
    job = tmp_path / "paddle-cluster-job"
    files, make = EXAMPLES / "wide_and_deep", str(EXAMPLES / "wide_and_deep" / "make_data.py")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(files, job / "recommendation", ignore=ignored)
    data = [python(), make, str(job / "data"), "--shards=3", "--samples=3000", "--part-size=500"]
    subprocess.run(data, check=True)
    account = f"--serviceaccount={module_lab.namespace}:default"
    module_lab.kubectl("create", "rolebinding", "pods", "--clusterrole=view", account)
    text = (EXAMPLES / "sharded" / "job.yaml").read_text()
    text = text.replace("/home/work/mfs", str(tmp_path))
    text = text.replace("value: default", f"value: {module_lab.namespace}")
    notes = convert(tool, module_lab, text.encode())
    assert [note.split()[1] for note in notes] == ["guessed", "guessed"]
    for node in range(3):
        told = (job / "output" / f"node_{node}" / "train.log").read_text()
        assert "1000 samples here, 3000 on all" in told
