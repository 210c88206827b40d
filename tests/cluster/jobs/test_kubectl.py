"""What a user does with plain kubectl to a running job, as any kubectl user expects it."""

import subprocess

import pytest
import yaml

from tests.live.faulty import until_told
from tests.live.lab import SERVER, Lab, paddle_job, shell

JOB = "demo"
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
    said = finished.kubectl("wait", "--for=condition=Completed", f"pdj/{JOB}", "--timeout=100s")
    assert "condition met" in said


def test_get_prints_the_columns(finished: Lab) -> None:
    finished.wait_completed(JOB)
    head = finished.kubectl("get", "pdj").splitlines()[0]
    assert head.split() == ["NAME", "STATUS", "MODE", "PS", "WORKER", "AGE"]
    finished.wait_printed(JOB, "Completed", "PS", "1/1", "0/2")


def test_describe_tells_the_story(finished: Lab) -> None:
    finished.wait_completed(JOB)
    finished.wait(lambda: finished.events(JOB, "WorkersSucceeded"), "the last Event")
    text = finished.kubectl("describe", "pdj", JOB)
    for words in (
        "a PS job of 1 ps, 2 worker",
        "AllPodsRunning",
        "WorkersSucceeded",
        "2 workers ended well",
    ):
        assert words in text


def test_a_second_apply_and_diff_say_nothing(module_lab: Lab) -> None:
    text = yaml.safe_dump(paddle_job("applied", {"worker": (1, SERVER)}))
    assert "created" in module_lab.kubectl("apply", "-f", "-", stdin=text)
    module_lab.wait_phase("applied", "Running")
    assert "unchanged" in module_lab.kubectl("apply", "-f", "-", stdin=text)
    assert module_lab.kubectl("diff", "-f", "-", stdin=text) == ""


def test_apply_by_the_server(module_lab: Lab) -> None:
    text = yaml.safe_dump(paddle_job("by-server", {"worker": (1, shell("true"))}))
    for _ in range(2):
        said = module_lab.kubectl("apply", "--server-side", "-f", "-", stdin=text)
        assert "serverside-applied" in said
    module_lab.wait_completed("by-server")


def test_delete_takes_the_pods_along(module_lab: Lab) -> None:
    module_lab.submit(paddle_job("doomed", {"worker": (2, SERVER)}))
    module_lab.wait_phase("doomed", "Running")
    module_lab.kubectl("delete", "pdj", "doomed", "--timeout=100s")
    module_lab.wait(lambda: not module_lab.pods("doomed"), "its pods are gone")
