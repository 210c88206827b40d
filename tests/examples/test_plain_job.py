"""Distributed training as a PaddleJob that a plain Kubernetes Job was converted into.

Its program asks the API server for the pods of its Job, by the label that a Job's have.
"""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.examples.files import EXAMPLES, python
from tests.examples.test_converted import convert
from tests.live.lab import Lab
from tests.live.tenant import wait_right

pytestmark = [pytest.mark.training]

JOB = "paddle-cluster-job"
PROGRAMS = EXAMPLES / "wide_and_deep"
MAKE = [str(PROGRAMS / "make_data.py"), "--shards=2", "--samples=2000", "--part-size=500"]
OF_THREE = ("parallelism: 3", "completions: 3", 'value: "3"')
"""What the file says of its three nodes; two show as much."""


@pytest.fixture(scope="module")
def output(module_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the job has written, after its end."""
    root = tmp_path_factory.mktemp("hosts")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PROGRAMS, root / JOB / "recommendation", ignore=ignored)
    subprocess.run([python(), *MAKE, str(root / JOB / "data")], check=True)
    account = f"--serviceaccount={module_lab.namespace}:default"
    module_lab.kubectl("create", "rolebinding", root.name, "--clusterrole=view", account)
    wait_right(module_lab, "default", "list", "", "pods")
    text = (EXAMPLES / "sharded" / "job.yaml").read_text().replace("/home/work/mfs", str(root))
    text = text.replace("value: default", f"value: {module_lab.namespace}")
    for of_three in OF_THREE:
        assert of_three in text
        text = text.replace(of_three, of_three.replace("3", "2"))
    notes = convert(module_lab, text.encode())
    assert [note.split()[1] for note in notes] == ["guessed", "guessed"]
    return root / JOB / "output"


@pytest.mark.parametrize("node", [0, 1])
def test_each_trainer_has_trained_on_its_own_shard(output: Path, node: int) -> None:
    assert "1000 samples here, 2000 on all" in (output / f"node_{node}/train.log").read_text()
    assert "serving" in (output / f"node_{node}/server.log").read_text()


@pytest.mark.parametrize("number", [0, 1, 2])
def test_the_model_of_each_pass_is_whole(output: Path, number: int) -> None:
    model = output / f"pass-{number:05}"
    assert (model / "done").exists()
    servers = {path.name.split("-")[1] for path in model.glob("*/part-*")}
    assert servers == {"000", "001"}
