"""cleanPodPolicy: what is left of a job when it has ended."""

import pytest

from tests.live.lab import SERVER, Lab, paddle_job, shell

WORKERS = {"completes": shell("exit 0"), "fails": shell("exit 3")}
LEFT = {
    ("completes", "OnFailure"): ("ps", "worker"),
    ("completes", None): (),
    ("fails", "Always"): (),
    ("fails", None): ("worker",),
}
"""Each way to clean up; tests/unit/reconcile/test_cleanup.py has all policies, and the Services."""


def name_of(end: str, policy: str | None) -> str:
    """The job's name."""
    return f"{end}-{(policy or 'unset').lower()}"


@pytest.fixture(scope="module")
def ended(module_lab: Lab) -> Lab:
    """A job of each policy and end; all have ended, and all that was to go has gone."""
    for end, policy in LEFT:
        spec = {"cleanPodPolicy": policy} if policy else {}
        roles = {"ps": (1, SERVER), "worker": (1, WORKERS[end])}
        module_lab.submit(paddle_job(name_of(end, policy), roles, **spec))
    for (end, policy), left in LEFT.items():
        name = name_of(end, policy)
        module_lab.wait_phase(name, "Completed" if end == "completes" else "Failed")
        module_lab.wait(lambda n=name, k=left: len(module_lab.pods(n)) == len(k), f"{name} clean")
    return module_lab


@pytest.mark.parametrize(("end", "policy"), LEFT)
def test_pods_left(ended: Lab, end: str, policy: str | None) -> None:
    name = name_of(end, policy)
    assert ended.pod_names(name) == [f"{name}-{role}-0" for role in LEFT[end, policy]]


def test_clean_policy_means_the_same(ended: Lab) -> None:
    ended.submit(paddle_job("old-spelling", {"worker": (1, shell("exit 0"))}, cleanPolicy="Never"))
    ended.wait_completed("old-spelling")
    ended.submit(paddle_job("old-always", {"worker": (1, shell("exit 0"))}, cleanPolicy="Always"))
    ended.wait_completed("old-always")
    ended.wait(lambda: not ended.pods("old-always"), "no pods")
    assert ended.pod_names("old-spelling") == ["old-spelling-worker-0"]
