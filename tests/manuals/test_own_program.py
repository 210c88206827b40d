"""A reader follows docs/own-program.md on this machine, in a folder outside the project's.

The files are saved and the commands run as they are printed, in one shell, but for the paths of the
project and of the data. The Chinese page has the same blocks (tests/unit/test_documents.py).
"""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live import patience
from tests.live.ownprogram import HERE, saved_files
from tests.manuals.source import CHECKOUT

pytestmark = [pytest.mark.training, pytest.mark.cluster]

BASH = re.compile(r"^```bash\n(.*?)^```", re.DOTALL | re.MULTILINE)
DOWN = "localcluster down"
DATA = "/tmp/mine"


def local(text: str, folder: Path) -> str:
    """With the project and the data where they are in this test."""
    return text.replace("~/paddlejob-operator", str(CHECKOUT)).replace(DATA, str(folder / "data"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reader's, with the files of the page."""
    path = tmp_path_factory.mktemp("mine")
    for name, text in saved_files().items():
        (path / name).write_text(local(text, path))
    return path


@pytest.fixture(scope="module")
def said(folder: Path) -> Iterator[dict[str, str]]:
    """What each command of the page has printed, the last time that it ran."""
    state = {**os.environ, "XDG_STATE_HOME": str(folder / "state")}
    commands = local("\n".join(BASH.findall(HERE)), folder).splitlines()
    marked = [f"echo; echo '$ {number}'\n{line}" for number, line in enumerate(commands)]
    try:
        script = "\n".join(["set -e", *marked])
        done = subprocess.run(
            ["bash", "-c", script], cwd=folder, env=state, capture_output=True, text=True,
            timeout=patience.SECONDS,
        )  # fmt: skip
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        parts = re.split(r"^\$ (\d+)\n", done.stdout, flags=re.MULTILINE)[1:]
        yield {
            f"{commands[int(number)]}#{number}": text
            for number, text in zip(parts[::2], parts[1::2], strict=True)
        }
    finally:
        python = str(CHECKOUT / ".venv" / "bin" / "python")
        stop = [python, "-m", "localcluster", "down"]
        subprocess.run(stop, cwd=CHECKOUT, env=state, capture_output=True, check=True)


def outputs(said: dict[str, str], command: str) -> list[str]:
    """What the commands that begin like this have printed, in order."""
    return [text for line, text in said.items() if line.startswith(command)]


def test_the_page_ends_the_cluster(said: dict[str, str]) -> None:
    assert list(said)[-1].startswith(DOWN)


def test_the_job_completes(said: dict[str, str]) -> None:
    assert re.search(r"mine +Completed", outputs(said, "kubectl -n training get pdj mine")[0])


def test_it_trains_with_a_package_of_its_own_and_again_from_its_checkpoint(
    said: dict[str, str],
) -> None:
    first, second = outputs(said, "kubectl -n training logs mine-worker-0")
    assert "epoch 1 of 2 workers" in first
    assert "epoch 20 of 2 workers" in first
    assert "epoch 21 of 2 workers" in second
    assert "epoch 40 of 2 workers" in second
    assert "epoch 20 " not in second


def test_model_and_logs_outlive_the_pods(said: dict[str, str], folder: Path) -> None:
    names = {path.name for path in (folder / "data").iterdir()}
    assert {"model.pdparams", "checkpoint.pdparams", "logs"} <= names
    assert {path.name for path in (folder / "data" / "logs").iterdir()} == {"1-0", "1-1"}


def test_the_dockerfile_copies_what_the_page_has_saved(folder: Path) -> None:
    copied = re.findall(r"^COPY (\S+) ", (folder / "Dockerfile").read_text(), re.MULTILINE)
    assert copied == ["requirements.txt", "train.py"]
    assert all((folder / name).exists() for name in copied)
