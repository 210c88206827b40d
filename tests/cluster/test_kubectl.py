"""What a user does with plain kubectl to a running job, as any kubectl user expects it."""

import subprocess
from collections.abc import Iterator

import pytest
import yaml

from tests.lab import SERVER, Lab, paddle_job, shell

JOB = "demo"
SCRIPT = "echo first words; sleep 3; echo last words"


@pytest.fixture(scope="module")
def finished(module_lab: Lab) -> Iterator[Lab]:
    """A namespace in which a job was created, followed and has ended."""
    module_lab.submit(job())
    yield module_lab


def job() -> dict[str, object]:
    """A server and two workers that talk for some seconds."""
    return paddle_job(
        JOB, {"ps": (1, SERVER), "worker": (2, shell(SCRIPT))}, cleanPodPolicy="Never"
    )


def test_logs_follow_to_the_end(finished: Lab) -> None:
    finished.wait_phase(JOB, "Running", "Completing", "Completed")
    command = ["kubectl", "-n", finished.namespace, "logs", "-f", f"{JOB}-worker-0"]
    environment = finished.cluster.kubectl_environment()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines() == ["first words", "last words"], done.stderr


def test_wait_for_the_condition(finished: Lab) -> None:
    said = finished.kubectl("wait", "--for=condition=Completed", f"pdj/{JOB}", "--timeout=60s")
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
    for words in ("Created", "AllPodsRunning", "WorkersSucceeded", "2 workers ended well"):
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
    module_lab.kubectl("delete", "pdj", "doomed", "--timeout=60s")
    module_lab.wait(lambda: not module_lab.pods("doomed"), "its pods are gone")
