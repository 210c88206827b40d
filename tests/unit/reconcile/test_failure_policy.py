"""spec.podFailurePolicy, as batch/v1 has it."""

import pytest

from api.constants import Role
from api.objects import Raw
from api.trainer import Containers
from reconcile.failure.policy import PolicyAction, match_policy
from reconcile.model.pods import view_pod
from tests.memory.builders import a_job, a_pod

JOB = a_job().with_workers(1).build()


def on_codes(action: str, operator: str, *values: int, container: str | None = None) -> Raw:
    codes = {"operator": operator, "values": list(values)}
    return {
        "action": action,
        "onExitCodes": codes | ({"containerName": container} if container else {}),
    }


def on_condition(action: str, type_: str, status: str | None = None) -> Raw:
    pattern = {"type": type_} | ({"status": status} if status else {})
    return {"action": action, "onPodConditions": [pattern]}


NAMES = {Role.WORKER: Containers(inits=frozenset({"i"}))}
NINE = {"terminated": {"exitCode": 9}}
EVICTED = a_pod(JOB).ended(143).with_condition("DisruptionTarget")


RULES = {
    "no-rule": ([], a_pod(JOB).ended(1), None),
    "in": ([on_codes("FailJob", "In", 42)], a_pod(JOB).ended(42), "FailJob"),
    "not-in-list": ([on_codes("FailJob", "In", 42)], a_pod(JOB).ended(1), None),
    "not-in": ([on_codes("Count", "NotIn", 42)], a_pod(JOB).ended(1), "Count"),
    "not-in-holds": ([on_codes("Count", "NotIn", 1)], a_pod(JOB).ended(1), None),
    "container-by-name": (
        [on_codes("FailJob", "In", 1, container="paddle")],
        a_pod(JOB).ended(1),
        "FailJob",
    ),
    "another-container": (
        [on_codes("FailJob", "In", 1, container="other")],
        a_pod(JOB).ended(1),
        None,
    ),
    "the-first-that-matches-decides": (
        [on_codes("Ignore", "In", 1), on_codes("FailJob", "In", 1)],
        a_pod(JOB).ended(1),
        "Ignore",
    ),
    "condition": ([on_condition("Ignore", "DisruptionTarget")], EVICTED, "Ignore"),
    "other-status": ([on_condition("Ignore", "DisruptionTarget", "False")], EVICTED, None),
    "other-condition": ([on_condition("Ignore", "ConfigIssue")], EVICTED, None),
    "exit-0-never-matches": (
        [on_codes("FailJob", "NotIn", 5)],
        a_pod(JOB).ended(1).with_container("ok", {"terminated": {"exitCode": 0}}),
        "FailJob",
    ),
    "init-container": (
        [on_codes("FailJob", "In", 9)],
        a_pod(JOB).with_status(phase="Failed").with_init_container("i", NINE),
        "FailJob",
    ),
    "sidecar-that-ended-before-or-after": (
        [on_codes("FailJob", "In", 9)],
        a_pod(JOB).ended(1).with_container("logs", NINE),
        None,
    ),
    "code-that-nobody-chose": (
        [on_codes("FailJob", "NotIn", 1)],
        a_pod(JOB).ended(137, reason="ContainerStatusUnknown"),
        None,
    ),
    "code-of-a-pod-that-is-evicted": (
        [on_codes("FailJob", "In", 143)],
        EVICTED,
        None,
    ),
    "sidecar-by-name": (
        [on_codes("FailJob", "In", 9, container="logs")],
        a_pod(JOB).ended(1).with_container("logs", NINE),
        "FailJob",
    ),
    "code-of-a-pod-told-to-end": (
        [on_codes("FailJob", "In", 15)],
        a_pod(JOB).ended(15).deleting(),
        None,
    ),
}


@pytest.mark.parametrize(("rules", "pod", "action"), RULES.values(), ids=RULES)
def test_first_matching_rule_decides(rules, pod, action):
    wanted = PolicyAction(action) if action else None
    assert match_policy({"rules": rules}, view_pod(pod.build(), NAMES)) == wanted
