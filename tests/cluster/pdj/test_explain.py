"""`explain` names cause and next step of every reason that is brought about, in both languages.

Most are brought about here, the others where the tests of what they are about do so anyway: each
of those says so to `assert_explained`, and `tests/unit/pdj/test_explain.py` knows where.
"""

import json
from typing import Any

import pytest

from api.constants import Reason
from tests.live.faulty import hold, impose, release
from tests.live.lab import PADDLE_JOBS, SERVER, Lab, Raw, paddle_job, shell
from tests.live.pdj import Tool, assert_explained

POD_NAME = {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
MISSING = {"configMapKeyRef": {"name": "nowhere", "key": "none"}}
GPUS = "nvidia.com/gpu"


def template(**pod: Any) -> Raw:
    """A pod that sleeps, with these fields of its spec."""
    return {"spec": {**SERVER["spec"], **pod}}


def one(name: str, worker: Raw, **spec: Any) -> Raw:
    return paddle_job(name, {"worker": (1, worker)}, **spec)


def exits_three(name: str, action: str) -> Raw:
    codes = {"operator": "In", "values": [3]}
    policy = {"rules": [{"action": action, "onExitCodes": codes}]}
    return one(name, shell("exit 3"), podFailurePolicy=policy)


def held_by(script: str) -> Raw:
    return {"name": "init", "image": "busybox", "command": ["sh", "-c", script], "env": [POD_NAME]}


def lonely() -> Raw:
    """An elastic job of two, of which one ends well before the other has started."""
    never = held_by("case $POD in *-1) sleep 3600;; esac")
    worker = {"spec": {**shell("exit 0")["spec"], "initContainers": [never]}}
    return paddle_job("lonely", {"worker": (2, worker)}, elastic=1)


LINGERS = "lingers"
"""The job whose pod stays until the test has seen that its next attempt waits for it."""
MANY_GPUS = {"limits": {GPUS: "1"}}
ELSEWHERE = template(nodeSelector={"no": "such-node"})

LAUNCH = "LAUNCH INFO 2026-01-02 03:04:05,678"
ALONE = f"echo '{LAUNCH} ips: None'; echo '{LAUNCH} nnodes: 1'; test $RANK = 0 && exit 3; sleep 600"

JOBS: dict[str, tuple[Raw, tuple[Reason, ...]]] = {
    job["metadata"]["name"]: (job, reasons)
    for job, reasons in (
        (
            one("runs", SERVER),
            (Reason.CREATED, Reason.ALL_PODS_RUNNING, Reason.ALL_PODS_SCHEDULED),
        ),
        (one("nowhere", ELSEWHERE), (Reason.UNSCHEDULABLE, Reason.NOT_ALL_SCHEDULED)),
        (one("done", shell("exit 0")), (Reason.WORKERS_SUCCEEDED, Reason.ENDED, Reason.COMPLETED)),
        (one("fails", shell("echo oops; exit 3")), (Reason.POD_FAILED, Reason.FAILED)),
        (paddle_job("alone", {"worker": (2, shell(ALONE))}), (Reason.TRAINED_ALONE,)),
        (one("spent", shell("exit 3"), backoffLimit=1), (Reason.BACKOFF_LIMIT_EXCEEDED,)),
        (one("backs-off", shell("exit 3"), backoffLimit=9), (Reason.BACK_OFF,)),
        (one("held", SERVER, suspend=True), (Reason.SUSPENDED,)),
        (one("resumes", SERVER, suspend=True), (Reason.RESUMED,)),
        (one("late", SERVER, activeDeadlineSeconds=1), (Reason.DEADLINE_EXCEEDED,)),
        (
            one("starts-late", ELSEWHERE, startingDeadlineSeconds=1),
            (Reason.STARTING_DEADLINE_EXCEEDED,),
        ),
        (
            one("waits", template(initContainers=[held_by("sleep 3600")])),
            (Reason.WAITING_FOR_PODS, Reason.NOT_ALL_RUNNING),
        ),
        (exits_three("policy", "FailJob"), (Reason.POD_FAILURE_POLICY,)),
        (exits_three("ignored", "Ignore"), (Reason.FAILURE_POLICY_IGNORE,)),
        (one("no-image", shell("true", image="Not:An:Image")), (Reason.IMAGE_ERROR,)),
        (
            one("no-config", shell("exit 0", env=[{"name": "A", "valueFrom": MISSING}])),
            (Reason.CONFIG_ERROR,),
        ),
        (
            one("invalid", shell("exit 0", env=[{"name": "PADDLE_PORT", "value": "x"}])),
            (Reason.INVALID_SPEC,),
        ),
        (one("asks", shell("exit 101")), (Reason.TRAINER_ASKED_RESTART,)),
        (
            one(
                "owned",
                shell("exec sleep 3600", env=[{"name": "PADDLE_TRAINERS_NUM", "value": "7"}]),
            ),
            (Reason.OWNED_VARIABLE,),
        ),
        (one("taken", SERVER), (Reason.NAME_CONFLICT,)),
        (one("costly", shell("exit 0", resources=MANY_GPUS)), (Reason.QUOTA_EXCEEDED,)),
        (
            one(LINGERS, SERVER),
            (Reason.PODS_TERMINATING, Reason.RESTART_REQUESTED, Reason.PODS_CREATED),
        ),
        (one("garbled", SERVER), (Reason.STATUS_UNREADABLE,)),
        (lonely(), (Reason.ELASTIC_UNTRAINED,)),
    )
}
TAKEN = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "taken-worker-0"}, **SERVER}


@pytest.fixture(scope="module")
def jobs(module_lab: Lab, tool: Tool) -> Lab:
    """All of them at once; what users and others do to some of them."""
    impose(module_lab, "none-of-gpus", **{f"requests.{GPUS}": 0})
    module_lab.submit(TAKEN, *(job for job, _ in JOBS.values()))
    for name in ("garbled", LINGERS):
        module_lab.wait_phase(name, "Running")
    garbled = {"startTime": "0000-01-01T00:00:00Z"}
    module_lab.patch(PADDLE_JOBS, "paddlejobs/garbled/status", status=garbled)
    module_lab.wait_phase("resumes", "Suspended")
    tool.ok("resume", "resumes")
    hold(module_lab, "pod", f"{LINGERS}-worker-0")
    tool.ok("restart", LINGERS)
    return module_lab


@pytest.mark.parametrize("name", sorted(JOBS))
def test_cause_and_next_step_are_named(jobs: Lab, name: str) -> None:
    first, *others = JOBS[name][1]
    assert_explained(jobs, name, first)
    if name == LINGERS:
        release(jobs, "pod", f"{LINGERS}-worker-0")
    assert_explained(jobs, name, *others)


def test_the_reason_that_holds_now_comes_first(jobs: Lab, tool: Tool) -> None:
    assert "Why: Unschedulable (since" in tool.ok("explain", "nowhere").split("\n\n")[1]


def test_findings_are_there_for_programs(jobs: Lab, tool: Tool) -> None:
    first = json.loads(tool.ok("explain", "nowhere", "-o", "json"))["findings"][0]
    assert (first["reason"], first["actor"]) == (Reason.UNSCHEDULABLE, "user")
    assert any("node-0: cpu" in line for line in first["evidence"]["nodes"])


def test_the_language_is_that_of_the_environment(jobs: Lab, tool: Tool) -> None:
    assert "下一步" in tool.run("explain", "held", LANG="zh_CN.UTF-8").out
    assert "Next" in tool.run("explain", "held", LANG="C.UTF-8").out


def test_what_pods_of_every_job_wait_for_is_no_warning(jobs: Lab, tool: Tool) -> None:
    assert 'configmap "runs" not found' not in tool.ok("explain", "runs")


def test_nodes_are_shown_where_no_node_is_found(jobs: Lab, tool: Tool) -> None:
    assert "node-0: cpu" in tool.ok("explain", "nowhere")


def test_a_quota_is_shown_where_it_is_exceeded(jobs: Lab, tool: Tool) -> None:
    assert "none-of-gpus: requests.nvidia.com/gpu 0/0" in tool.ok("explain", "costly")
