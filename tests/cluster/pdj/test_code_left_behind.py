"""What `--code` leaves behind where it is refused or raced: nothing that stays.

`JOBS=100` deletes a hundred jobs in place of twenty.
"""

import os
import time
from pathlib import Path

import pytest

from paddlejob import Client
from tests.live.lab import PADDLE_JOBS, Lab, paddle_job, shell
from tests.live.pdj import Tool, code_maps

JOBS = int(os.environ.get("JOBS", "20"))
GONE_SECONDS = 60.0
OF_JOBS = ("create", "role", "jobs", "--resource=paddlejobs", "--verb=get,list,watch,create")
OF_NOBODY = ("create", "rolebinding", "jobs", "--role=jobs")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A folder to send."""
    (tmp_path / "program").mkdir()
    (tmp_path / "program" / "train.py").write_text("print('trained')\n")
    return tmp_path / "program"


def words(name: str, program: Path, *more: str) -> list[str]:
    """A command that sends it with a job that makes no pods."""
    sent = ("--set", "spec.suspend=true", *more, "--", "python", "train.py")
    return ["run", "python", "--name", name, "--code", str(program), *sent]


def assert_owned(lab: Lab, name: str) -> None:
    """One ConfigMap is there, and the job owns it."""
    (only,) = code_maps(lab, name)
    (owner,) = only["metadata"]["ownerReferences"]
    assert owner["uid"] == lab.job(name)["metadata"]["uid"]


def refusal(tool: Tool, *arguments: str) -> str:
    """The one line with which it fails."""
    done = tool.run(*arguments)
    assert done.code == 1, done
    (line,) = done.notes.splitlines()
    return line


def test_code_goes_with_its_job_each_time(
    module_lab: Lab, tool: Tool, program: Path, record_property
) -> None:
    names = [f"gone-{number}" for number in range(JOBS)]
    template = shell("true", image="python")
    with Client(module_lab.namespace, kubeconfig=tool.kubeconfig) as client:
        for name in names:
            job = paddle_job(name, {"worker": (1, template)}, suspend=True)
            client.submit(job, code=program)
    assert len(code_maps(module_lab)) == JOBS
    began = time.monotonic()
    for name in names:
        path = f"{PADDLE_JOBS}/namespaces/{module_lab.namespace}/paddlejobs/{name}"
        module_lab.cluster.client.delete(path)
    module_lab.wait(lambda: not code_maps(module_lab), "all are gone", GONE_SECONDS)
    record_property("seconds until all are gone", round(time.monotonic() - began, 1))


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
    assert_owned(module_lab, "raced")


def test_a_full_quota_is_one_line(module_lab: Lab, tool: Tool, program: Path) -> None:
    module_lab.kubectl("create", "quota", "none", "--hard=count/configmaps=0")
    try:
        assert "exceeded quota: none" in refusal(tool, *words("over", program))
    finally:
        module_lab.kubectl("delete", "quota", "none")
    assert not code_maps(module_lab, "over")
    assert module_lab.get(PADDLE_JOBS, "paddlejobs/over") is None


def test_no_right_to_make_config_maps_is_one_line(
    module_lab: Lab, tool: Tool, program: Path
) -> None:
    module_lab.kubectl("create", "serviceaccount", "nobody")
    module_lab.kubectl(*OF_JOBS)
    module_lab.kubectl(*OF_NOBODY, f"--serviceaccount={module_lab.namespace}:nobody")
    kubeconfig = str(module_lab.cluster.kubeconfig_for(module_lab.namespace, "nobody"))
    said = refusal(tool, "--kubeconfig", kubeconfig, *words("rightless", program))
    assert 'cannot create resource "configmaps"' in said
    assert module_lab.get(PADDLE_JOBS, "paddlejobs/rightless") is None
