"""`run --local`: what it sends to its cluster; when interrupted, it ends what it began."""

import os
import signal
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from localcluster.machine import clock
from pdj.act.host import end_host
from pdj.code.bundle import ARCHIVE, REQUIREMENTS
from pdj.code.store import config_map_names
from pdj.errors import Problem
from pdj.main import main
from release.wheel import build
from tests.live import patience
from tests.live.lab import paddle_job, shell
from tests.live.pdj import command, environment
from tests.live.processes import command_lines
from tests.live.wheel import install_wheel

IMAGE = "registry.example.com/team/linear:3"


def job_file(folder: Path) -> str:
    file = folder / "job.yaml"
    file.write_text(yaml.safe_dump(paddle_job("mine", {"worker": (1, shell("true", image=IMAGE))})))
    return str(file)


def sent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *words: str) -> dict[str, Any]:
    """What would be sent for a job of one worker; {} if the command was refused."""
    job = job_file(tmp_path)
    orders: list[dict[str, Any]] = []

    def keep(_say: object, order: dict[str, Any]) -> None:
        orders.append(order)
        raise Problem("not started")

    monkeypatch.setattr("pdj.commands.local.run_host", keep)
    main(["run", "--local", job, *words])
    return orders[0] if orders else {}


@pytest.fixture
def code(tmp_path: Path) -> Path:
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "train.py").write_text("print(1)")
    (folder / "requirements.txt").write_text("six")
    return folder


def test_a_trainer_without_an_image_is_left_to_the_api_server(monkeypatch, tmp_path, code):
    monkeypatch.setattr("tests.unit.pdj.test_local_run.IMAGE", None)
    assert sent(monkeypatch, tmp_path, "--code", str(code))["programs"] == {}


def test_a_folder_is_sent_as_to_a_cluster(monkeypatch, tmp_path, code):
    packages = str(code / "requirements.txt")
    order = sent(monkeypatch, tmp_path, "--code", str(code), "--requirements", packages)
    config_map, job = order["objects"]
    assert set(config_map["binaryData"]) == {ARCHIVE, REQUIREMENTS}
    assert config_map_names(job) == {config_map["metadata"]["name"]}
    assert (order["programs"], order["requirements"]) == ({IMAGE: ""}, ""), "pip runs in the pod"


def test_a_program_has_its_requirements(monkeypatch, tmp_path, code):
    packages = str(code / "requirements.txt")
    words = ("--program", f"{IMAGE}={code}", "--requirements", packages)
    order = sent(monkeypatch, tmp_path, *words)
    assert (order["programs"], order["requirements"]) == ({IMAGE: str(code)}, packages)
    assert [each["kind"] for each in order["objects"]] == ["PaddleJob"]


@pytest.mark.parametrize(
    ("flag", "said"),
    [
        ("--include", "include: only with code"),
        ("--index-url", "an index: only with code and requirements"),
    ],
)
def test_an_option_of_code_needs_it(monkeypatch, tmp_path, capsys, flag, said):
    assert sent(monkeypatch, tmp_path, flag, "x") == {}
    assert capsys.readouterr().err == f"error: {said}\n"


@pytest.fixture(params=["checkout", "wheel"])
def installed(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    """The tool. Where it is installed from the wheel, pip installs the cluster's packages first."""
    if request.param == "checkout":
        return command()
    python = install_wheel(build(tmp_path), tmp_path / "environment")
    return ["env", "--unset=PYTHONPATH", str(python.with_name("kubectl-pdj"))]


def test_ctrl_c_while_pip_runs_ends_it(tmp_path, installed):
    program, cache, temporary = (tmp_path / name for name in ("program", "cache", "tmp"))
    for folder in (program, cache, temporary):
        folder.mkdir()
    job = job_file(tmp_path)
    words = ("run", "--local", job, "--program", f"{IMAGE}={program}")
    with socket.create_server(("127.0.0.1", 0)) as index:
        index.settimeout(patience.SECONDS)
        names = {
            "XDG_CACHE_HOME": str(cache),
            "TMPDIR": str(temporary),
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_INDEX_URL": f"http://127.0.0.1:{index.getsockname()[1]}/",
            "NO_PROXY": "127.0.0.1",
            "no_proxy": "127.0.0.1",
        }
        with subprocess.Popen(
            ["env", "--default-signal=INT", *installed, *words],
            env=environment(**names),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as tool:
            asked, _ = index.accept()  # pip asks, and gets no answer
            assert str(cache) in command_lines()
            os.killpg(tool.pid, signal.SIGINT)
            out, notes = tool.communicate(timeout=patience.SECONDS)
            asked.close()
    assert (tool.returncode, out) == (130, ""), notes
    said = notes.splitlines()
    assert said[-1] == "interrupted: ending all that has been started"
    assert all(
        line.startswith(("installing ", "  examples, ", "  the packages ")) for line in said[:-1]
    ), notes
    assert clock.wait_until(lambda: str(cache) not in command_lines(), patience.SECONDS), (
        command_lines()
    )
    assert not list(temporary.iterdir())
    assert [each.suffix for each in (cache / "paddlejob-operator").iterdir()] == [".lock"]


def test_a_host_that_hangs_is_killed_in_silence(monkeypatch):
    monkeypatch.setattr("pdj.act.host.END_SECONDS", 0.1)
    with subprocess.Popen(["sleep", "300"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as host:
        end_host(host, [])
        assert host.returncode == -signal.SIGKILL
