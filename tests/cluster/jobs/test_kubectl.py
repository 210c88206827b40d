"""What a user does with plain kubectl to a running job, as any kubectl user expects it."""

import subprocess
from pathlib import Path

import pytest
import yaml

from api.constants import Reason
from tests.live.faulty import hold, release, until_told
from tests.live.lab import SERVER, Lab, paddle_job, shell
from tests.live.pdj import assert_explained

JOB = "demo"
CHECKOUT = Path(__file__).parents[3]
FIRST, LAST = "first words\n", "last words\n"


@pytest.fixture(scope="module")
def finished(module_lab: Lab, followed: str) -> Lab:
    """A namespace in which a job was created, followed and has ended."""
    assert followed
    return module_lab


@pytest.fixture(scope="module")
def followed(module_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> str:
    """What `kubectl logs -f` tells of a worker that is told to end meanwhile."""
    folder = tmp_path_factory.mktemp("told")
    worker = until_told(folder, "echo first words", "echo last words")
    roles = {"ps": (1, SERVER), "worker": (2, worker)}
    module_lab.submit(paddle_job(JOB, roles, cleanPodPolicy="Never"))
    module_lab.wait_phase(JOB, "Running")
    command = ["kubectl", "-n", module_lab.namespace, "logs", "-f", f"{JOB}-worker-0"]
    environment = module_lab.cluster.kubectl_environment()
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as logs:
        assert logs.stdout
        begun = logs.stdout.readline()
        (folder / "end").touch()
        return begun + logs.stdout.read()


def test_logs_follow_to_the_end(followed: str) -> None:
    assert followed == FIRST + LAST


def test_wait_for_the_condition(finished: Lab) -> None:
    said = finished.kubectl("wait", "--for=condition=Finished", f"pdj/{JOB}", "--timeout=100s")
    assert "condition met" in said


def test_wait_for_the_end_returns_for_a_job_that_has_failed(module_lab: Lab) -> None:
    module_lab.submit(paddle_job("fails", {"worker": (1, shell("exit 3"))}))
    said = module_lab.kubectl("wait", "--for=condition=Finished", "pdj/fails", "--timeout=100s")
    assert "condition met" in said
    assert module_lab.condition("fails", "Finished")["reason"] == "Failed"
    line = module_lab.kubectl("get", "pdj", "fails", "-o", "wide").splitlines()[1]
    assert line.split()[5:7] == ["1", "PodFailed"], "it has no servers and no heter workers"
    assert "fails-worker-0 on node-" in line


def test_job_that_does_not_go_says_for_what(module_lab: Lab) -> None:
    module_lab.submit(paddle_job("held", {"worker": (1, SERVER)}))
    module_lab.wait_phase("held", "Running")
    hold(module_lab, "configmap", "held")
    module_lab.kubectl("delete", "pdj", "held", "--cascade=foreground", "--wait=false")
    told = "waiting for ConfigMap held, held by its finalizer example.com/hold since"
    module_lab.wait(lambda: told in str(module_lab.condition("held", "Pending")), told)
    assert module_lab.condition("held", "Pending")["reason"] == "ChildrenTerminating"
    assert_explained(module_lab, "held", Reason.CHILDREN_TERMINATING)
    assert module_lab.status("held")["phase"] == "Terminating"
    release(module_lab, "configmap", "held")
    module_lab.kubectl("wait", "--for=delete", "pdj/held", "--timeout=100s")


def test_replaced_job_waits_without_a_warning(module_lab: Lab) -> None:
    job = paddle_job("again", {"worker": (1, SERVER)})
    module_lab.submit(job)
    module_lab.wait_phase("again", "Running")
    hold(module_lab, "pod", "again-worker-0")
    module_lab.kubectl("replace", "--force", "-f", "-", stdin=yaml.safe_dump(job))
    module_lab.wait(
        lambda: module_lab.condition("again", "Pending").get("reason") == "PodsTerminating",
        "it says so",
    )
    told = module_lab.condition("again", "Pending")["message"]
    assert "Pod again-worker-0 of a former job of this name is still there" in told
    release(module_lab, "pod", "again-worker-0")
    module_lab.wait_phase("again", "Running")
    assert not module_lab.events("again", "CreateRefused")


def test_describe_tells_the_story(finished: Lab) -> None:
    finished.wait_completed(JOB)
    finished.wait(lambda: finished.events(JOB, "WorkersSucceeded"), "the last Event")
    text = finished.kubectl("describe", "pdj", JOB)
    for words in (
        "a PS job with 1 server, 2 workers",
        "AllPodsRunning",
        "WorkersSucceeded",
        "2 workers ended well",
    ):
        assert words in text


def test_delete_takes_the_pods_along(module_lab: Lab) -> None:
    module_lab.submit(paddle_job("doomed", {"worker": (2, SERVER)}))
    module_lab.wait_phase("doomed", "Running")
    module_lab.kubectl("delete", "pdj", "doomed", "--timeout=100s")
    module_lab.wait(lambda: not module_lab.pods("doomed"), "its pods are gone")


def test_jobs_are_backed_up_and_restored(lab: Lab, tmp_path: Path) -> None:
    """By the commands of docs/production.md: the same spec, which begins anew."""
    page = (CHECKOUT / "docs" / "production.md").read_text()
    block = page.partition("## Back up and restore")[2].split("```")[1]
    save, restore = block.removeprefix("bash\n").strip().splitlines()
    lab.submit(paddle_job("kept", {"worker": (1, shell("true"))}))
    lab.wait_completed("kept")
    before = lab.job("kept")
    run(lab, save.replace("--all-namespaces", f"-n {lab.namespace}"), tmp_path)
    lab.kubectl("delete", "pdj", "kept")
    run(lab, restore, tmp_path)
    lab.wait_completed("kept")
    after = lab.job("kept")
    assert after["spec"] == before["spec"]
    assert after["metadata"]["uid"] != before["metadata"]["uid"]


def run(lab: Lab, command: str, folder: Path) -> None:
    """A line of a page, in a shell."""
    environment = lab.cluster.kubectl_environment()
    subprocess.run(command, shell=True, check=True, cwd=folder, env=environment)
