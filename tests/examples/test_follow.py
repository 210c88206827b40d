"""What `make run` shows of a job."""

import re

import pytest

from examples.quickstart.follow import Follower
from tests.live import patience
from tests.live.lab import Lab, paddle_job, shell

SERVES = shell("echo the port is taken; exec sleep 3600")
WAITS = shell("exec sleep 3600")
FAILS = shell("echo no such data set; exit 3")


def test_a_job_that_does_not_end_shows_the_last_words_of_each_pod(
    lab: Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.submit(paddle_job("stuck", {"ps": (2, SERVES), "worker": (1, WAITS)}))
    lab.wait_phase("stuck", "Running")
    for server in ("stuck-ps-0", "stuck-ps-1"):
        lab.wait(lambda server=server: lab.log(server), f"words of {server}")
    assert Follower(lab.cluster, lab.namespace, "stuck").follow(1.0) == 1
    told = capsys.readouterr().out
    assert "the job did not end within 1 s" in told
    for server in ("stuck-ps-0", "stuck-ps-1"):
        assert f"--- {server}, its last lines:\nthe port is taken" in told


def test_a_failed_job_says_why(lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    lab.submit(paddle_job("broken", {"ps": (1, WAITS), "worker": (2, FAILS)}))
    assert Follower(lab.cluster, lab.namespace, "broken").follow(patience.SECONDS) == 1
    told = capsys.readouterr().out
    assert re.search(r"exited with code 3(, and \d others? .*)?: no such data set", told)
