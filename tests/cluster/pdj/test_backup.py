"""`backup` and `restore`: what has trained does not train again, what was running does."""

from pathlib import Path

import pytest

from api.constants import LABEL_JOB_NAME, LABEL_JOB_UID
from tests.live.lab import CORE, SERVER, Lab, paddle_job, shell
from tests.live.pdj import Tool


@pytest.fixture(scope="module")
def saved(module_lab: Lab, tool: Tool, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The backup of jobs that had ended, ran and were suspended, all of which are gone."""
    folder = tmp_path_factory.mktemp("backup")
    module_lab.submit(
        paddle_job("well", {"worker": (1, shell("true"))}),
        paddle_job("badly", {"worker": (1, shell("exit 3"))}),
        paddle_job("steady", {"worker": (2, SERVER)}, cleanPodPolicy="Never"),
        paddle_job("waits", {"worker": (1, shell("true"))}, suspend=True),
    )
    for name, phase in PHASES.items():
        module_lab.wait_phase(name, phase)
    file = folder / "jobs.json"
    file.write_text(tool.ok("backup"))
    module_lab.kubectl("delete", "pdj", "--all", "--cascade=foreground")
    tool.ok("restore", str(file))
    return file


PHASES = {"well": "Completed", "badly": "Failed", "steady": "Running", "waits": "Suspended"}


def test_jobs_have_the_phases_that_they_had(module_lab: Lab, tool: Tool, saved: Path) -> None:
    for name, phase in PHASES.items():
        module_lab.wait_phase(name, phase)
    job = module_lab.job("well")
    assert not job["spec"].get("suspend")
    assert not job["metadata"].get("annotations")
    assert job["status"]["completionTime"] in saved.read_text()
    assert "badly exists already" in tool.ok("restore", str(saved))


def test_what_had_ended_trains_no_more(module_lab: Lab, saved: Path) -> None:
    module_lab.wait_phase("steady", "Running")  # the operator has had its time

    def placed() -> list[str]:
        events = module_lab.items(CORE, "events")
        return [e["involvedObject"]["name"] for e in events if e["reason"] == "Scheduled"]

    module_lab.wait(lambda: placed().count("steady-worker-0") == 2, "it is placed twice")
    names = placed()
    assert (names.count("well-worker-0"), names.count("badly-worker-0")) == (1, 1)


def test_ended_jobs_can_be_left_out(module_lab: Lab, tool: Tool, saved: Path) -> None:
    module_lab.kubectl("delete", "pdj", "well", "badly")
    said = tool.ok("restore", str(saved), "--without-ended")
    assert "/steady exists already" in said
    assert "/well" not in said


def test_ownerless_pods_of_a_former_job_are_named_with_the_command(module_lab: Lab) -> None:
    module_lab.submit(paddle_job("again", {"worker": (1, SERVER)}))
    module_lab.wait_phase("again", "Running")
    pod = module_lab.pods("again")[0]
    former = pod["metadata"]["labels"][LABEL_JOB_UID]
    module_lab.kubectl("delete", "pdj", "again", "--cascade=orphan")
    module_lab.submit(paddle_job("again", {"worker": (1, SERVER)}))
    command = f"kubectl delete pods,svc,cm -l {LABEL_JOB_NAME}=again,{LABEL_JOB_UID}={former}"
    module_lab.wait(
        lambda: command in module_lab.condition("again", "Pending").get("message", ""), "it is said"
    )
    module_lab.kubectl(*command.split()[1:])
    module_lab.wait_phase("again", "Running")
