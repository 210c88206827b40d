"""What a failure leaves behind: a record in status, conditions, a few Events, and `describe`."""

import pytest

from api.objects import Raw, parse_time
from tests.live.history import History
from tests.live.lab import CORE, Lab, paddle_job, shell

UNTIL_TOLD = shell("until test -e /end; do sleep 0.1; done")
LAST_WORDS = "RuntimeError: loss is nan"
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


@pytest.fixture(scope="module")
def jobs(module_lab: Lab, pod_history: History) -> Lab:
    """Jobs that fail in every way, and one that ends well once it is seen to run."""
    for name, template in FAILING.items():
        module_lab.submit(paddle_job(name, {"worker": (1, template)}, cleanPodPolicy="Always"))
    module_lab.submit(paddle_job("well", {"worker": (2, UNTIL_TOLD)}))
    module_lab.wait_phase("well", "Running")
    for pod in module_lab.pod_names("well"):
        module_lab.kubectl("exec", pod, "--", "touch", "/end")
    return module_lab


def record_of(jobs: Lab, name: str) -> Raw:
    """The one failure record of a failed job, whose pods have gone."""
    jobs.wait_phase(name, "Failed")
    jobs.wait(lambda: not jobs.pods(name), f"pods of {name} go")
    (record,) = jobs.status(name)["failures"]
    return dict(record)


@pytest.mark.parametrize("name", FAILING)
def test_record_outlives_the_pod_and_tells_how_it_ended(jobs, pod_history, name):
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


def test_describe_is_enough(jobs: Lab) -> None:
    record = record_of(jobs, "crashes")
    jobs.wait(lambda: jobs.events("crashes", "PodFailed"), "an Event")
    text = jobs.kubectl("describe", "pdj", "crashes")
    for words in ("Exit Code:", record["node"], record["time"], LAST_WORDS, "crashes-worker-0"):
        assert words in text
    told = text.split("Events:")[1]
    assert "PodFailed" in told
    assert f"crashes-worker-0 on {record['node']} exited with code 3" in told


def test_job_that_goes_well_has_three_events_at_most(jobs: Lab) -> None:
    jobs.wait_completed("well")
    jobs.wait(lambda: jobs.events("well", "WorkersSucceeded"), "the last Event")
    told = sorted(reasons_of(jobs, "well"))
    # Where the operator is so busy that it runs when first told of, that is told at once.
    assert [reason for reason in told if reason != "Created"] == [
        "AllPodsRunning",
        "WorkersSucceeded",
    ]


def reasons_of(jobs: Lab, name: str) -> list[str]:
    return [
        event["reason"]
        for event in jobs.items(CORE, "events")
        if event["involvedObject"]["name"] == name
        and event["involvedObject"]["kind"] == "PaddleJob"
    ]
