"""spec.podFailurePolicy, as batch/v1 has it."""

import pytest

from api.objects import Raw
from reconcile.failure.policy import PolicyAction, match_policy
from tests.memory.builders import PodBuilder, a_job, a_pod

JOB = a_job().with_workers(1).build()


def on_codes(action: str, operator: str, *values: int, container: str | None = None) -> Raw:
    """A rule on exit codes."""
    codes = {"operator": operator, "values": list(values)}
    return {
        "action": action,
        "onExitCodes": codes | ({"containerName": container} if container else {}),
    }


def on_condition(action: str, type_: str, status: str | None = None) -> Raw:
    """A rule on a pod condition."""
    pattern = {"type": type_} | ({"status": status} if status else {})
    return {"action": action, "onPodConditions": [pattern]}


EVICTED = a_pod(JOB).ended(143).with_condition("DisruptionTarget")


@pytest.mark.parametrize(
    ("rules", "pod", "action"),
    [
        pytest.param([], a_pod(JOB).ended(1), None, id="no-rule"),
        pytest.param([on_codes("FailJob", "In", 42)], a_pod(JOB).ended(42), "FailJob", id="in"),
        pytest.param([on_codes("FailJob", "In", 42)], a_pod(JOB).ended(1), None, id="not-in-list"),
        pytest.param([on_codes("Count", "NotIn", 42)], a_pod(JOB).ended(1), "Count", id="not-in"),
        pytest.param([on_codes("Count", "NotIn", 1)], a_pod(JOB).ended(1), None, id="not-in-holds"),
        pytest.param(
            [on_codes("FailJob", "In", 1, container="paddle")],
            a_pod(JOB).ended(1),
            "FailJob",
            id="container-by-name",
        ),
        pytest.param(
            [on_codes("FailJob", "In", 1, container="other")],
            a_pod(JOB).ended(1),
            None,
            id="another-container",
        ),
        pytest.param(
            [on_codes("Ignore", "In", 1), on_codes("FailJob", "In", 1)],
            a_pod(JOB).ended(1),
            "Ignore",
            id="the-first-that-matches-decides",
        ),
        pytest.param(
            [on_condition("Ignore", "DisruptionTarget")], EVICTED, "Ignore", id="condition"
        ),
        pytest.param(
            [on_condition("Ignore", "DisruptionTarget", "False")], EVICTED, None, id="other-status"
        ),
        pytest.param([on_condition("Ignore", "ConfigIssue")], EVICTED, None, id="other-condition"),
        pytest.param(
            [on_codes("FailJob", "NotIn", 5)],
            a_pod(JOB).ended(1).with_container("ok", {"terminated": {"exitCode": 0}}),
            "FailJob",
            id="exit-0-never-matches",
        ),
        pytest.param(
            [on_codes("FailJob", "In", 9)],
            a_pod(JOB).with_init_container("i", {"terminated": {"exitCode": 9}}),
            "FailJob",
            id="init-container",
        ),
        pytest.param(
            [on_codes("FailJob", "In", 15)],
            a_pod(JOB).ended(15).deleting(),
            None,
            id="code-of-a-pod-told-to-end",
        ),
    ],
)
def test_first_matching_rule_decides(rules: list[Raw], pod: PodBuilder, action: str | None) -> None:
    wanted = PolicyAction(action) if action else None
    assert match_policy({"rules": rules}, pod.build()) == wanted


def test_no_policy_matches_nothing() -> None:
    assert match_policy(None, a_pod(JOB).ended(1).build()) is None
