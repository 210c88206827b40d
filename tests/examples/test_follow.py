"""What `make run` shows of a job."""

import pytest

from examples.quickstart.follow import Follower
from tests.live.lab import Lab, paddle_job, shell

SERVES = shell("echo the port is taken; exec sleep 3600")
WAITS = shell("exec sleep 3600")


def test_a_job_that_does_not_end_shows_the_last_words_of_each_pod(
    lab: Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.submit(paddle_job("stuck", {"ps": (2, SERVES), "worker": (1, WAITS)}))
    lab.wait_phase("stuck", "Running")
    assert Follower(lab.cluster, lab.namespace, "stuck").follow(1.0) == 1
    told = capsys.readouterr().out
    assert "the job did not end within 1 s" in told
    for server in ("stuck-ps-0", "stuck-ps-1"):
        assert f"--- {server}, its last lines:\nthe port is taken" in told
