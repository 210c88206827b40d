"""`run --local` that is interrupted while it prepares: it ends what it has begun, and says so."""

import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest
import yaml

from localcluster.machine import clock
from pdj.commands.local import end_host
from tests.live.lab import paddle_job, shell
from tests.live.pdj import command, environment
from tests.live.processes import command_lines

SECONDS = 120.0
IMAGE = "registry.example.com/team/linear:3"


def test_ctrl_c_while_pip_runs_ends_it(tmp_path: Path) -> None:
    program, cache, temporary = (tmp_path / name for name in ("program", "cache", "tmp"))
    for folder in (program, cache, temporary):
        folder.mkdir()
    job = tmp_path / "job.yaml"
    job.write_text(yaml.safe_dump(paddle_job("mine", {"worker": (1, shell("true", image=IMAGE))})))
    words = ("run", "--local", str(job), "--program", f"{IMAGE}={program}")
    with socket.create_server(("127.0.0.1", 0)) as index:
        index.settimeout(SECONDS)
        names = {
            "XDG_CACHE_HOME": str(cache),
            "TMPDIR": str(temporary),
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_INDEX_URL": f"http://127.0.0.1:{index.getsockname()[1]}/",
            "NO_PROXY": "127.0.0.1",
            "no_proxy": "127.0.0.1",
        }
        with subprocess.Popen(
            ["env", "--default-signal=INT", *command(*words)],
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
            out, notes = tool.communicate(timeout=SECONDS)
            asked.close()
    assert (tool.returncode, out) == (130, ""), notes
    said = notes.splitlines()
    assert said[-1] == "interrupted: ending all that has been started"
    assert all(line.startswith(("installing ", "  examples, ")) for line in said[:-1]), notes
    assert clock.wait_until(lambda: str(cache) not in command_lines(), SECONDS), command_lines()
    assert not list(temporary.iterdir())
    assert [each.suffix for each in (cache / "paddlejob-operator").iterdir()] == [".lock"]


def test_a_host_that_hangs_is_killed_in_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pdj.commands.local.END_SECONDS", 0.1)
    with subprocess.Popen(["sleep", "300"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as host:
        end_host(host, [])
        assert host.returncode == -signal.SIGKILL
