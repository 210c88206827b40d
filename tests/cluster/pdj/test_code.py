"""A folder goes to a cluster without an image: `--code`, from the first line to the last owner."""

import base64
import os
from pathlib import Path

import pytest

from tests.live.faulty import impose
from tests.live.lab import CORE, PADDLE_JOBS, Lab
from tests.live.pdj import Tool, code_maps
from tests.live.tenant import write_rights

IMAGE = "python"
WORKERS = 2


@pytest.fixture
def program(tmp_path: Path) -> Path:
    folder = tmp_path / "program"
    (folder / "lib").mkdir(parents=True)
    (folder / "lib" / "step.py").write_text("RATE = 1\n")
    (folder / "train.py").write_text(
        "import os\nfrom lib import step\nprint('trained', os.getcwd(), step.RATE)\n"
    )
    return folder


def test_a_changed_line_is_sent_again(module_lab: Lab, tool: Tool, program: Path) -> None:
    words = ("run", IMAGE, "--name", "sent", "--code", str(program), "--workers", str(WORKERS))
    command = ("--wait", "--", "python", "train.py")
    done = tool.run(*words, *command)
    assert done.code == 0, done
    assert sum(line.endswith("trained /workspace 1") for line in done.out.splitlines()) == WORKERS
    (first,) = code_maps(module_lab, "sent")
    assert first["immutable"]
    assert (
        first["metadata"]["ownerReferences"][0]["uid"] == module_lab.job("sent")["metadata"]["uid"]
    )
    assert "lib/step.py" in tool.ok("code", "sent")

    again = tool.run(*words, *command)  # the name is taken: what is there stays as it is
    assert (again.code, "--replace" in again.notes) == (1, True), again
    tool.ok(*words, "--replace", *command)  # the same code: its ConfigMap is kept, by the new job
    (kept,) = code_maps(module_lab, "sent")
    uid = module_lab.job("sent")["metadata"]["uid"]
    assert [each["uid"] for each in kept["metadata"]["ownerReferences"]] == [uid]
    tool.ok("restart", "sent", "--submit-again")
    module_lab.wait_completed("sent")

    (program / "lib" / "step.py").write_text("RATE = 2\n")
    done = tool.run(*words, "--replace", *command)
    assert "trained /workspace 2" in done.out, done
    new = module_lab.wait(
        lambda: [each for each in [code_maps(module_lab, "sent")] if len(each) == 1],
        "the former ConfigMap goes with its job",
    )[0][0]
    assert new["metadata"]["name"] != first["metadata"]["name"]
    tool.ok("delete", "sent", "--wait")
    module_lab.wait(lambda: not code_maps(module_lab, "sent"), "the ConfigMap goes with its job")


def test_900_kib_fit_into_a_cluster(module_lab: Lab, tool: Tool, program: Path) -> None:
    (program / "data").write_bytes(os.urandom(900 << 10))  # and a little more with its header
    words = ("run", IMAGE, "--name", "large", "--code", str(program), "--set", "spec.suspend=true")
    tool.ok(*words, "--", "python", "train.py")
    (only,) = code_maps(module_lab, "large")
    size = len(base64.b64decode(only["binaryData"]["code.tar.gz"]))
    assert 900 << 10 < size < 901 << 10


def test_a_refused_job_leaves_no_code(module_lab: Lab, tool: Tool, program: Path) -> None:
    words = ("run", IMAGE, "--name", "refused", "--code", str(program), "--set", "spec.wrokers=1")
    done = tool.run(*words, "--", "python", "train.py")
    assert (done.code, len(done.notes.splitlines())) == (1, 1), done
    assert not code_maps(module_lab, "refused")


def test_orphans_are_cleared(module_lab: Lab, tool: Tool, program: Path) -> None:
    built = tool.ok(
        *("run", IMAGE, "--name", "killed", "--code", str(program), "--dry-run=client"),
        *("-o", "json", "--", "python", "train.py"),
    )
    module_lab.kubectl("create", "-f", "-", stdin=built)  # no owner is set, as after a kill
    assert tool.ok("delete", "--orphans") == ""
    (owned,) = code_maps(module_lab, "killed")
    assert owned["metadata"]["ownerReferences"][0]["name"] == "killed"
    name = owned["metadata"]["name"]
    module_lab.patch(CORE, f"configmaps/{name}", metadata={"ownerReferences": None})
    tool.ok("delete", "killed", "--wait")
    assert tool.ok("delete", "--orphans") == f"{name} deleted\n"
    assert not code_maps(module_lab, "killed")


def words(name: str, program: Path, *more: str) -> list[str]:
    """A command that sends it with a job that makes no pods."""
    sent = ("--set", "spec.suspend=true", *more, "--", "python", "train.py")
    return ["run", "python", "--name", name, "--code", str(program), *sent]


def refusal(tool: Tool, *arguments: str) -> str:
    done = tool.run(*arguments)
    assert done.code == 1, done
    (line,) = done.notes.splitlines()
    return line


def test_of_two_at_once_one_sends_its_code(module_lab: Lab, tool: Tool, program: Path) -> None:
    other = program.with_name("other")
    other.mkdir()
    (other / "train.py").write_text("print('other')\n")
    commands = [tool.start(*words("raced", folder)) for folder in (program, other)]
    ends = [command.communicate() for command in commands]
    assert sorted(each.returncode for each in commands) == [0, 1], ends
    (line,) = b"".join(notes for _, notes in ends).decode().splitlines()
    assert "there is a job raced" in line
    module_lab.wait(lambda: len(code_maps(module_lab, "raced")) == 1, "that of the other is gone")
    (owner,) = code_maps(module_lab, "raced")[0]["metadata"]["ownerReferences"]
    assert owner["uid"] == module_lab.job("raced")["metadata"]["uid"]


def test_a_full_quota_is_one_line(module_lab: Lab, tool: Tool, program: Path) -> None:
    impose(module_lab, "none", **{"count/configmaps": 0})
    try:
        assert "exceeded quota: none" in refusal(tool, *words("over", program))
    finally:
        module_lab.kubectl("delete", "quota", "none")
    assert not code_maps(module_lab, "over")
    assert module_lab.get(PADDLE_JOBS, "paddlejobs/over") is None


def test_no_right_to_make_config_maps_is_one_line(module_lab, tool, program):
    rights = ("get,list,watch,create", "paddlejobs")
    kubeconfig = str(write_rights(module_lab, "nobody", rights))
    said = refusal(tool, "--kubeconfig", kubeconfig, *words("rightless", program))
    assert 'cannot create resource "configmaps"' in said
    assert module_lab.get(PADDLE_JOBS, "paddlejobs/rightless") is None
