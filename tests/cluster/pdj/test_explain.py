"""`explain` names cause and next step of what is brought about here, in both languages."""

from typing import Any

import pytest

from api.constants import Reason
from pdj.explain import chinese, english
from tests.live.lab import SERVER, Lab, paddle_job, shell
from tests.live.pdj import Tool

Raw = dict[str, Any]


def template(**pod: Any) -> Raw:
    """A pod that sleeps, with these fields of its spec."""
    return {"spec": {**SERVER["spec"], **pod}}


def image(name: str) -> Raw:
    """A pod of this image."""
    return {"spec": {"containers": [{"name": "paddle", "image": name}]}}


MISSING = {"configMapKeyRef": {"name": "nowhere", "key": "none"}}
JOBS: dict[Reason, Raw] = {
    Reason.UNSCHEDULABLE: paddle_job(
        "nowhere", {"worker": (1, template(nodeSelector={"no": "such-node"}))}
    ),
    Reason.ALL_PODS_RUNNING: paddle_job("runs", {"worker": (1, SERVER)}),
    Reason.WORKERS_SUCCEEDED: paddle_job("done", {"worker": (1, shell("exit 0"))}),
    Reason.POD_FAILED: paddle_job("fails", {"worker": (1, shell("echo oops; exit 3"))}),
    Reason.BACK_OFF: paddle_job("backs-off", {"worker": (1, shell("exit 3"))}, backoffLimit=8),
    Reason.SUSPENDED: paddle_job("held", {"worker": (1, SERVER)}, suspend=True),
    Reason.DEADLINE_EXCEEDED: paddle_job("late", {"worker": (1, SERVER)}, activeDeadlineSeconds=1),
    Reason.STARTING_DEADLINE_EXCEEDED: paddle_job(
        "starts-late",
        {"worker": (1, template(nodeSelector={"no": "such-node"}))},
        startingDeadlineSeconds=1,
    ),
    Reason.POD_FAILURE_POLICY: paddle_job(
        "policy",
        {"worker": (1, shell("exit 3"))},
        podFailurePolicy={
            "rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [3]}}]
        },
    ),
    Reason.IMAGE_ERROR: paddle_job("no-image", {"worker": (1, image("Not:An:Image"))}),
    Reason.CONFIG_ERROR: paddle_job(
        "no-config", {"worker": (1, shell("exit 0", env=[{"name": "A", "valueFrom": MISSING}]))}
    ),
    Reason.INVALID_SPEC: paddle_job(
        "invalid", {"worker": (1, shell("exit 0", env=[{"name": "PADDLE_PORT", "value": "x"}]))}
    ),
    Reason.TRAINER_ASKED_RESTART: paddle_job("asks", {"worker": (1, shell("exit 101"))}),
    Reason.OWNED_VARIABLE: paddle_job(
        "owned",
        {"worker": (1, shell("sleep 3600", env=[{"name": "PADDLE_TRAINERS_NUM", "value": "7"}]))},
    ),
    Reason.NAME_CONFLICT: paddle_job("taken", {"worker": (1, SERVER)}),
}


@pytest.fixture(scope="module")
def jobs(module_lab: Lab) -> Lab:
    """All of them at once, and an object whose name one of them wants."""
    taken = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "taken-worker-0"}, **SERVER}
    module_lab.submit(taken, *JOBS.values())
    return module_lab


@pytest.mark.parametrize("reason", JOBS)
def test_cause_and_next_step_are_named(jobs: Lab, tool: Tool, reason: Reason) -> None:
    name = JOBS[reason]["metadata"]["name"]

    def is_told() -> bool:
        return f"Why: {reason}" in tool.ok("explain", name)

    jobs.wait(is_told, f"{name} {reason}")
    for language, texts in (("en", english), ("zh", chinese)):
        told = tool.ok("explain", name, "--lang", language)
        text = texts.TEXTS[reason]
        if reason in told:  # it may have passed: a restart is over soon
            assert text.cause in told
            assert text.next_step in told
            assert texts.WHO[text.who] in told


def test_the_language_is_that_of_the_environment(jobs: Lab, tool: Tool) -> None:
    assert "下一步" in tool.run("explain", "held", LANG="zh_CN.UTF-8").out
    assert "Next" in tool.run("explain", "held", LANG="C.UTF-8").out


def test_nodes_are_shown_where_no_node_is_found(jobs: Lab, tool: Tool) -> None:
    assert "node-0: cpu" in tool.ok("explain", "nowhere")
