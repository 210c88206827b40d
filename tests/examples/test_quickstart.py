"""`make run`: the first thing that anyone does with this project."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.live import patience

ROOT = Path(__file__).parents[2]
EPOCHS = 3
"""The program's own number of them."""
LITTLE = {"SAMPLES": "12000", "PART_SIZE": "1000", "LEARNING_RATE": "0.005"}
"""Learnt as well in a fifth of the time as the program's own number of samples."""


def run(file: Path) -> subprocess.CompletedProcess[str]:
    """`make run` with a job of one's own."""
    limit = ("--timeout", f"{patience.SECONDS / 2:.0f}")
    command = [sys.executable, "-m", "examples.quickstart", str(file), *limit]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=patience.SECONDS
    )


def own_job(tmp_path: Path) -> str:
    """The quickstart's job in a namespace of its own, its model in a folder of the test's."""
    job = yaml.safe_load((ROOT / "examples" / "quickstart" / "job.yaml").read_text())
    spec = job["spec"]["worker"]["template"]["spec"]  # that of the servers, too
    spec["volumes"][0]["hostPath"]["path"] = str(tmp_path / "output")
    spec["containers"][0]["env"] += [{"name": n, "value": v} for n, v in LITTLE.items()]
    job["metadata"]["namespace"] = "training"
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "training"}}
    return yaml.safe_dump_all([space, job])


@pytest.mark.training
def test_a_job_trains_to_its_end_and_leaves_its_model(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(own_job(tmp_path))
    done = run(file)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"wide-and-deep +Completed +PS +2/2 +0/2", done.stdout), done.stdout
    line = re.search(r"AUC per epoch: (.+)", done.stdout)
    assert line, done.stdout
    scores = [float(score) for score in line.group(1).split(" -> ")]
    assert len(scores) == EPOCHS
    assert scores[-1] > max(0.6, scores[0] - 0.01)
    model = re.search(r"the model is in (\S+)", done.stdout)
    assert model
    assert any(Path(model.group(1)).iterdir())
    shutil.rmtree(tmp_path / "output")


def test_an_unknown_image_is_told_at_once(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(own_job(tmp_path).replace("demo-wide-and-deep", "mine"))
    done = run(file)
    assert done.returncode == 1
    assert "is not in the image table: list it in a table of your own" in done.stderr
    assert "starting" not in done.stdout


FILES = [
    pytest.param(None, "cannot read", id="no file"),
    pytest.param("a: [", "cannot read", id="no YAML"),
    pytest.param("kind: ConfigMap", "no PaddleJob", id="no job"),
    pytest.param("kind: PaddleJob\nmetadata: {generateName: a-}", "with a name", id="no name"),
]


@pytest.mark.parametrize(("text", "words"), FILES)
def test_a_file_without_a_job_is_refused_before_anything_starts(
    tmp_path: Path, text: str | None, words: str
) -> None:
    file = tmp_path / "job.yaml"
    if text is not None:
        file.write_text(text)
    done = run(file)
    assert done.returncode == 1
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert "starting" not in done.stdout
