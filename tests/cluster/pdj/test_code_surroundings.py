"""`--code` where little is allowed: restricted pods, an own index, an image without pip."""

import subprocess
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

from localcluster.build.environments import cache_folder
from tests.live.lab import Lab
from tests.live.pdj import Tool
from tests.live.surroundings import ENFORCED, RESTRICTED, write_index

PROGRAM = "import demo\nprint('trained with', demo.__name__)\n"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A folder with a program that needs a package, and a requirements file beside it."""
    (tmp_path / "program").mkdir()
    (tmp_path / "program" / "train.py").write_text(PROGRAM)
    (tmp_path / "requirements.txt").write_text("demo\n")
    return tmp_path / "program"


def words(name: str, program: Path, *more: str, python: str = "python") -> list[str]:
    """A command that sends the folder and waits for its job."""
    sent = ("run", "python", "--name", name, "--code", str(program), "--backoff-limit", "0")
    return [*sent, *more, "--wait", "--timeout", "100", "--", python, "train.py"]


def test_restricted_pods_take_packages_of_an_index_of_their_own(
    lab: Lab, program: Path, tmp_path: Path
) -> None:
    lab.cluster.kubectl("label", "namespace", lab.namespace, ENFORCED)
    tool = Tool(lab)
    loose = ("-n", lab.namespace, "run", "loose", "--image=busybox")
    assert "PodSecurity" in lab.cluster.kubectl(*loose, check=False).stderr
    given = ("--requirements", str(tmp_path / "requirements.txt"))
    index = ("--index-url", write_index(program))
    done = tool.run(*words("tight", program, *RESTRICTED, *given, *index))
    assert (done.code, done.out.split("| ")[-1]) == (0, "trained with demo\n"), done


def assert_said(lab: Lab, tool: Tool, name: str, said: str) -> None:
    """The job's status has it in one line, and `explain` shows it."""
    (message,) = {each["message"] for each in lab.status(name)["failures"]}
    assert said in message
    assert said in tool.ok("explain", name)


def test_an_index_that_cannot_be_reached_is_said(
    module_lab: Lab, tool: Tool, program: Path, tmp_path: Path
) -> None:
    given = ("--requirements", str(tmp_path / "requirements.txt"))
    index = ("--index-url", "http://127.0.0.1:9/simple", "--env", "PIP_RETRIES=0")
    done = tool.run(*words("airless", program, *given, *index))
    assert done.code == 1, done
    assert_said(module_lab, tool, "airless", "pip could not install")


@pytest.fixture
def python_without_pip() -> Iterator[str]:
    """One where pods see it, who have a /tmp of their own."""
    with tempfile.TemporaryDirectory(dir=cache_folder()) as folder:
        venv.create(folder, with_pip=False)
        yield f"{folder}/bin/python"


def test_an_image_without_pip(
    module_lab: Lab, tool: Tool, program: Path, tmp_path: Path, python_without_pip: str
) -> None:
    python = python_without_pip
    asked = subprocess.run([python, "-c", "import pip"], capture_output=True, check=False)
    assert asked.returncode
    given = ("--requirements", str(tmp_path / "requirements.txt"))
    done = tool.run(*words("pipless", program, *given, python=python))
    assert done.code == 1, done
    assert_said(module_lab, tool, "pipless", "has no pip, which requirements need")
    (program / "train.py").write_text("print('trained')\n")
    done = tool.run(*words("pipless", program, "--replace", python=python))
    assert (done.code, done.out.split("| ")[-1]) == (0, "trained\n"), done
