"""What a failure leaves behind: a record in status, conditions, a few Events, and `describe`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from api.constants import Reason
from api.objects import parse_time
from tests.live.faulty import squeeze_out, until_told
from tests.live.history import History
from tests.live.lab import CORE, Lab, paddle_job, shell

Raw = dict[str, Any]
LAST_WORDS = "RuntimeError: loss is nan"
MOST_EVENTS = 4
CRASHES = shell(f"echo epoch 1 begins; echo {LAST_WORDS} >&2; exit 3")
TALKS = shell("i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done; exit 4")
OWN_MESSAGE = shell(
    "echo written for the operator > /dev/termination-log; echo chatter; exit 6",
    terminationMessagePolicy="File",
)
KILLED = shell("sleep 3600 & kill -9 $!; wait $!; exit $?")
EATS = shell(
    "exec python3 -c 'import time; x = bytearray(200_000_000); time.sleep(60)'",
    resources={"limits": {"memory": "64Mi"}},
)
NO_INIT = {
    "spec": {
        "initContainers": [
            {"name": "fetch", "image": "busybox", "command": ["sh", "-c", "echo no data; exit 8"]}
        ],
        **shell("exit 0")["spec"],
    }
}
RELEASE = json.dumps([{"op": "remove", "path": "/spec/schedulingGates"}])
ENOUGH = json.dumps({"spec": {"activeDeadlineSeconds": 1}})
FAILING = {
    "crashes": CRASHES,
    "talks": TALKS,
    "own-message": OWN_MESSAGE,
    "killed": KILLED,
    "eats": EATS,
    "no-init": NO_INIT,
}
ENDS: dict[str, Raw] = {
    "crashes": {"exitCode": 3, "reason": "PodFailed"},
    "talks": {"exitCode": 4, "reason": "PodFailed"},
    "own-message": {"exitCode": 6, "reason": "PodFailed", "message": "written for the operator"},
    "killed": {"exitCode": 137, "signal": 9, "reason": "PodFailed"},
    "eats": {"exitCode": 137, "signal": 9, "reason": "OOMKilled"},
    "no-init": {"exitCode": 8, "reason": "PodFailed", "message": "no data"},
}
WORKERS, KEPT = 7, 5


@pytest.fixture(scope="module")
def jobs(module_lab: Lab, job_history: History, pod_history: History, tmp_path_factory: Any) -> Lab:
    """Jobs that fail in every way, two that do not so soon, and one hit again and again.

    A busy operator does not see what is soon over: "well" and "gated" go on once they are seen.
    """
    folder: Path = tmp_path_factory.mktemp("told")
    for name, template in FAILING.items():
        module_lab.submit(paddle_job(name, {"worker": (1, template)}, cleanPodPolicy="Always"))
    module_lab.submit(paddle_job("well", {"worker": (2, until_told(folder))}))
    module_lab.submit(paddle_job("gated", {"worker": (1, gated())}))
    module_lab.submit(unlucky())
    module_lab.wait_phase("well", "Running")
    (folder / "end").touch()
    module_lab.wait(lambda: module_lab.condition("gated", "Pending"), "gated waits")
    module_lab.kubectl("patch", "pod", "gated-worker-0", "--type=json", "-p", RELEASE)
    module_lab.wait_phase("gated", "Running")
    module_lab.kubectl("patch", "pdj", "gated", "--type=merge", "-p", ENOUGH)
    return module_lab


def gated() -> Raw:
    """A template whose pods are not placed before their gate is taken away."""
    template = shell("exec sleep 3600")
    template["spec"]["schedulingGates"] = [{"name": "example.com/later"}]
    return template


def unlucky() -> Raw:
    """Workers that are replaced one by one, so that records come without a back-off."""
    job = paddle_job("unlucky", {"worker": (WORKERS, shell("exec sleep 3600"))}, elastic=1)
    job["spec"]["worker"] |= {"requests": 1, "limits": WORKERS}
    return job


def record_of(jobs: Lab, name: str) -> Raw:
    """The one failure record of a failed job, whose pods have gone."""
    jobs.wait_phase(name, "Failed")
    jobs.wait(lambda: not jobs.pods(name), f"pods of {name} go")
    (record,) = jobs.status(name)["failures"]
    return dict(record)


@pytest.mark.parametrize("name", FAILING)
def test_record_outlives_the_pod_and_tells_how_it_ended(
    jobs: Lab, pod_history: History, name: str
) -> None:
    record = record_of(jobs, name)
    assert {key: record[key] for key in ENDS[name]} == ENDS[name]
    assert (record["pod"], record["role"], record["index"]) == (f"{name}-worker-0", "worker", 0)
    assert record["attempt"] == 1
    nodes = {pod["spec"].get("nodeName") for pod in pod_history.versions(f"{name}-worker-0")}
    assert record["node"] in nodes
    assert parse_time(record["time"])


def test_record_says_why_and_ends_with_the_logs_last_lines(jobs: Lab) -> None:
    assert record_of(jobs, "crashes")["message"] == f"{LAST_WORDS}\nepoch 1 begins"
    message = record_of(jobs, "talks")["message"]
    assert message.startswith("line 2999\n")
    assert message.endswith("line 2997\nline 2998")
    assert len(message) <= 1024


def test_log_is_asked_for_where_the_user_did_not_decide(jobs: Lab, pod_history: History) -> None:
    def policy(name: str) -> str:
        (container,) = pod_history.versions(f"{name}-worker-0")[0]["spec"]["containers"]
        return str(container["terminationMessagePolicy"])

    record_of(jobs, "crashes")
    assert policy("crashes") == "FallbackToLogsOnError"
    record_of(jobs, "own-message")
    assert policy("own-message") == "File"


def test_last_five_records_are_kept(jobs: Lab) -> None:
    jobs.wait_phase("unlucky", "Running")
    for index in range(WORKERS - 1):
        pod = f"unlucky-worker-{index}"
        squeeze_out(jobs, pod)
        jobs.wait(
            lambda pod=pod: jobs.status("unlucky").get("failures", [{}])[-1].get("pod") == pod,
            f"a record of {pod}",
        )
    kept = [record["pod"] for record in jobs.status("unlucky")["failures"]]
    assert kept == [f"unlucky-worker-{index}" for index in range(WORKERS - 1)][-KEPT:]


def test_describe_is_enough(jobs: Lab) -> None:
    record = record_of(jobs, "crashes")
    jobs.wait(lambda: jobs.events("crashes", "PodFailed"), "an Event")
    text = jobs.kubectl("describe", "pdj", "crashes")
    for words in ("Exit Code:", record["node"], record["time"], LAST_WORDS, "crashes-worker-0"):
        assert words in text
    told = text.split("Events:")[1]
    assert "PodFailed" in told
    assert f"crashes-worker-0 on {record['node']} exited with code 3" in told


def test_conditions_are_of_the_generation_that_was_seen(jobs: Lab) -> None:
    jobs.wait_completed("well")
    before = {each["type"]: each for each in jobs.status("well")["conditions"]}
    patch = json.dumps({"spec": {"ttlSecondsAfterFinished": 86400}})
    jobs.kubectl("patch", "pdj", "well", "--type=merge", "-p", patch)
    jobs.wait(lambda: jobs.status("well")["observedGeneration"] == 2, "the change is seen")
    for condition in jobs.status("well")["conditions"]:
        assert condition == before[condition["type"]] | {"observedGeneration": 2}


@pytest.mark.parametrize("name", [*FAILING, "well", "gated"])
def test_transition_time_moves_only_with_the_status(
    jobs: Lab, job_history: History, name: str
) -> None:
    jobs.wait_phase(name, "Completed", "Failed")
    for before, now in steps(job_history, name):
        assert now["reason"]
        assert now["lastTransitionTime"] >= before["lastTransitionTime"]
        if now["status"] == before["status"]:
            assert now["lastTransitionTime"] == before["lastTransitionTime"]


def test_conditions_flip_as_the_job_goes_on(jobs: Lab, job_history: History) -> None:
    jobs.wait_phase("gated", "Failed")
    flips = {
        (now["type"], before["status"], now["status"])
        for before, now in steps(job_history, "gated")
        if now["status"] != before["status"]
    }
    assert flips >= {
        ("Pending", "True", "False"),
        ("PodsScheduled", "False", "True"),
        ("Running", "False", "True"),
        ("Running", "True", "False"),
    }


def steps(history: History, name: str) -> Iterator[tuple[Raw, Raw]]:
    """Each condition of each version of a job, as it was before (or is) and as it is."""
    last: dict[str, Raw] = {}
    for version in history.versions(name):
        for condition in version.get("status", {}).get("conditions", ()):
            yield last.get(condition["type"], condition), condition
            last[condition["type"]] = condition


def test_job_that_goes_well_has_three_events_at_most(jobs: Lab) -> None:
    jobs.wait_completed("well")
    jobs.wait(lambda: jobs.events("well", "WorkersSucceeded"), "the last Event")
    told = sorted(reasons_of(jobs, "well"))
    # Where the operator is so busy that it runs when first told of, that is told at once.
    assert [reason for reason in told if reason != "Created"] == [
        "AllPodsRunning",
        "WorkersSucceeded",
    ]


def test_reasons_are_out_of_one_list(jobs: Lab) -> None:
    for name in FAILING:
        jobs.wait_phase(name, "Failed")
        assert len(reasons_of(jobs, name)) <= MOST_EVENTS
        assert set(reasons_of(jobs, name)) <= set(Reason)


def reasons_of(jobs: Lab, name: str) -> list[str]:
    """The reasons of the job's Events, one each."""
    return [
        event["reason"]
        for event in jobs.items(CORE, "events")
        if event["involvedObject"]["name"] == name
        and event["involvedObject"]["kind"] == "PaddleJob"
    ]
