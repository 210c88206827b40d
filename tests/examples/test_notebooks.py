"""Every cell of the notebook runs in a kernel, in order, and workers train a function together."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from localcluster.machine.project import PROJECT
from tests.live import environments
from tests.live.lab import Lab

pytestmark = [pytest.mark.cluster, pytest.mark.training]

NOTEBOOK = PROJECT / "examples" / "notebooks" / "train.ipynb"
RUN = """
import sys, nbclient, nbformat

notebook = nbformat.read(sys.argv[1], 4)
nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
nbformat.write(notebook, sys.argv[2])
"""
FOLDERS = ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")


@pytest.fixture(scope="module")
def kernel() -> str:
    """A Python with a kernel on top of this one."""
    return str(environments.made(environments.notebook))


def run_cells(python: str, text: str, folder: Path) -> str:
    """What the cells print, in their order."""
    notebook, done = folder / "train.ipynb", folder / "done.ipynb"
    notebook.write_text(text)
    own = {name: str(folder / name.lower()) for name in FOLDERS}
    environment = {**os.environ, **own, "PYTHONPATH": str(PROJECT)}
    command = [python, "-c", RUN, str(notebook), str(done)]
    ran = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr[-4000:]
    cells = json.loads(done.read_text())["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs") or ()]
    assert not [each for each in outputs if each["output_type"] == "error"]
    return "".join("".join(each.get("text") or ()) for each in outputs)


def assert_two_trained(out: str) -> None:
    """By what each of them says at its end; PaddlePaddle's version is that of the image's tag."""
    trained = re.findall(r"(worker-\d) \| rank (\d) of 2 weights \[1, 2, 3\] 3\.3\.1", out)
    assert sorted(trained) == [("worker-0", "0"), ("worker-1", "1")], out


def test_the_notebook_trains_breaks_and_mends(kernel: str, tmp_path: Path) -> None:
    out = run_cells(kernel, NOTEBOOK.read_text(), tmp_path)
    assert_two_trained(out)
    assert "fit: args do not fit: missing a required argument: 'lr'" in out
    assert re.search(r"the job fit has failed: PodFailed, fit-worker-\d", out), out
    ended = re.findall(r"rank (\d) of 3 weights \[1, 2, 3\]", out)
    assert sorted(ended) == ["0", "1", "2"], out


def test_it_trains_in_a_cluster_with_the_next_version(
    kernel: str, module_lab: Lab, tmp_path: Path
) -> None:
    """As its first lines say for a cluster of one's own; the image's Python is that of 3.3.1.

    Up to the end of the first job: what it breaks and mends is the same in any cluster.
    """
    where = f"'{module_lab.namespace}', kubeconfig='{module_lab.cluster.kubeconfig}'"
    path = f"'PATH': '{environments.paddle_3().parent}:{os.environ['PATH']}', "
    text = NOTEBOOK.read_text()
    for old, new in (
        ("local=True)", f"{where})"),
        ('{\\"PADDLE_DISTRI', f'{{{path}\\"PADDLE_DISTRI'),
    ):
        assert old in text
        text = text.replace(old, new)
    notebook = json.loads(text)
    cells = notebook["cells"]
    end = next(at for at, cell in enumerate(cells) if "job.wait(" in str(cell["source"]))
    del cells[end + 1 :]
    assert_two_trained(run_cells(kernel, json.dumps(notebook), tmp_path))
