"""With --progress the status says how far a training is, by the log of a real kubelet."""

import re
from collections.abc import Iterator

import pytest

from api.constants import ANNOTATION_KEEP_LOGS, Reason
from localcluster import Cluster
from tests.conftest import new_namespace
from tests.live.lab import Lab, Raw, paddle_job, shell
from tests.live.operated import operator_that_reads_logs
from tests.live.pdj import Tool, assert_explained

BAR = (
    "i=0; while true; do i=$((i + 1)); "
    r"""printf ' %3d%%|###   | %d/1000 [00:01<00:09, 10.0it/s, loss=0.5]\n' $((i / 10)) $i; """
    'if [ $i = 30 ]; then echo "Saving model checkpoint to out/checkpoint-30"; fi; sleep 1; done'
)


LARGE = {"metadata": {"annotations": {"example.com/large": "x" * 140_000}}}
"""The operator reads no log of a job of more than 128 KiB."""


@pytest.fixture(scope="module")
def lab(unattended: Cluster) -> Iterator[Lab]:
    with new_namespace(unattended) as name, operator_that_reads_logs(unattended, name) as found:
        yield found


def test_status_says_how_far_a_bar_is(lab: Lab) -> None:
    def progress() -> Raw:
        read: Raw = lab.job("bar").get("status", {}).get("progress", {})
        return read

    lab.submit(paddle_job("bar", {"worker": (1, shell(BAR))}))
    lab.submit(paddle_job("large", {"worker": (1, shell("exec sleep 3600") | LARGE)}))
    lab.wait_phase("bar", "Running")
    lab.wait(lambda: "step" in progress(), "a step")
    first = progress()
    assert (first["attempt"], first["totalSteps"]) == (1, 1000)
    assert first["percent"] == first["step"] // 10
    assert {"name": "loss", "value": "0.5"} in first["metrics"]
    lab.wait(lambda: progress()["step"] > first["step"], "another percentage")
    lab.wait(lambda: "checkpoint" in progress(), "the checkpoint")
    seen = progress()["checkpoint"]
    assert (seen["step"], seen["path"]) == (30, "out/checkpoint-30")
    assert "estimatedEndTime" in progress()
    assert_explained(lab, "large", Reason.LOG_NOT_READ)


def test_the_log_of_a_failed_attempt_is_kept(lab: Lab) -> None:
    fails_once = "seq 1000; if [ $ATTEMPT = 1 ]; then exit 1; fi; exec sleep 3600"
    attempt = "metadata.labels['batch.paddlepaddle.org/attempt']"
    variable = {"name": "ATTEMPT", "valueFrom": {"fieldRef": {"fieldPath": attempt}}}
    template = shell(fails_once, env=[variable])
    job = paddle_job("kept", {"worker": (1, template)}, backoffLimit=1)
    job["metadata"]["annotations"] = {ANNOTATION_KEEP_LOGS: "true"}
    lab.submit(job)
    lab.wait(lambda: lab.job("kept").get("status", {}).get("attempt") == 2, "it is restarted")
    lab.wait_phase("kept", "Running")
    kept = Tool(lab).run("logs", "kept", "--attempt", "1")
    assert kept.out.split()[-200:] == [str(number) for number in range(801, 1001)], kept


def test_a_loss_that_is_not_finite_is_told_once_and_ends_the_job_that_asks_for_it(lab: Lab) -> None:
    lost = (
        "for i in 1 2 3 4 5 6 7 8 9 10; do echo step $i/2000 loss: 0.5; done; "
        "while true; do i=$((i + 1)); echo step $i/2000 loss: nan; sleep 1; done"
    )
    heals = (
        "for i in 1 2 3 4 5 6 7 8; do echo step $i loss: inf; done; sleep 45; "
        "while true; do i=$((i + 1)); echo step $i loss: 0.5; sleep 1; done"
    )
    fails = {"stallPolicy": {"notFinite": "Fail"}, "backoffLimit": 3}
    lab.submit(paddle_job("lost", {"worker": (1, shell(lost))}))
    lab.submit(paddle_job("fails", {"worker": (1, shell(lost))}, **fails))
    lab.submit(paddle_job("heals", {"worker": (1, shell(heals))}, **fails))
    reason = Reason.LOSS_NOT_FINITE
    lab.wait(lambda: lab.status("lost").get("reason") == reason, "it is said")
    status = lab.wait_phase("fails", "Failed")
    assert (status["reason"], status["attempt"]) == (reason, 1)
    assert [each["reason"] for each in status["failures"]] == [reason]
    told = "the loss is nan since step 11"
    assert status["message"] == lab.status("lost")["message"] == told
    assert_explained(lab, "lost", reason)
    assert_explained(lab, "fails", reason)
    assert "not finite since step" in Tool(lab).ok("status", "lost")
    lab.wait(lambda: lab.events("lost", reason), "an Event")
    assert (lab.events("lost", reason), lab.status("lost")["phase"]) == ([told], "Running")
    assert_explained(lab, "heals", Reason.LOSS_FINITE)
    lab.wait(lambda: lab.events("heals", reason), "an Event")
    assert len(lab.events("heals", reason)) == 1


def test_a_job_that_ends_says_how_far_it_was(lab: Lab) -> None:
    early = "for i in 1 2 3 4 5 6 7 8 9 10; do echo step $i/100 loss: 0.$i; done"
    late = f"if [ $PADDLE_TRAINER_ID != 1 ]; then {early}; sleep 15; fi"
    lab.submit(paddle_job("early", {"worker": (1, shell(early))}, cleanPodPolicy="Always"))
    lab.submit(paddle_job("apart", {"worker": (2, shell(late))}))
    status = lab.wait_phase("early", "Completed")
    told = "1 worker ended well, at step 10 of 100"
    assert (status["reason"], status["message"]) == (Reason.ENDED_EARLY, told)
    assert (status["progress"]["step"], status["progress"]["percent"]) == (10, 10)
    lab.wait(lambda: lab.events("early", Reason.ENDED_EARLY) == [told], "its Event")
    assert_explained(lab, "early", Reason.ENDED_EARLY)
    assert "step 10/100 (10 %)  loss 0.1  last output 20" in Tool(lab).ok("status", "early")
    status = lab.wait_phase("apart", "Completed")
    assert "worker-1 ended 1" in status["message"], status["message"]
    assert "s before worker-0" in status["message"]
    assert (status["progress"]["step"], status["reason"]) == (10, Reason.ENDED_EARLY)
    assert len(status["progress"]["history"]) >= 1
    compared = Tool(lab).ok("compare", "early", "apart")
    assert re.search(r"loss, step 10 +0\.1 +0\.1", compared), compared
    assert "spec.worker.replicas" in compared
