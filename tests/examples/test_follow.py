"""What `make run` shows of a job."""

import re

import pytest

from examples.quickstart.follow import follow
from tests.live import patience
from tests.live.lab import Lab, paddle_job, shell

SERVES = shell("echo the port is taken; exec sleep 3600")
WAITS = shell("exec sleep 3600")
FAILS = shell("echo no such data set; exit 3")
SHORT_SECONDS = 10


def test_a_job_that_does_not_end_shows_the_words_of_each_pod(
    lab: Lab, capfd: pytest.CaptureFixture[str]
) -> None:
    lab.submit(paddle_job("stuck", {"ps": (2, SERVES), "worker": (1, WAITS)}))
    lab.wait_phase("stuck", "Running")
    for server in ("stuck-ps-0", "stuck-ps-1"):
        lab.wait(lambda server=server: lab.log(server), f"words of {server}")
    assert follow(lab.cluster, lab.namespace, "stuck", SHORT_SECONDS) == 1
    told = capfd.readouterr().out
    assert f"the job did not end within {SHORT_SECONDS} s" in told
    for server in ("ps-0", "ps-1"):
        assert re.search(rf"^{server} +\| the port is taken$", told, re.MULTILINE)


def test_a_failed_job_says_why(lab: Lab, capfd: pytest.CaptureFixture[str]) -> None:
    lab.submit(paddle_job("broken", {"ps": (1, WAITS), "worker": (2, FAILS)}))
    assert follow(lab.cluster, lab.namespace, "broken", patience.SECONDS) == 1
    told = capfd.readouterr().out
    assert re.search(r"exited with code 3(, and \d others? .*)?: no such data set", told)
