"""What a user does with plain kubectl to a running job, as any kubectl user expects it."""

import yaml

from api.constants import Reason
from tests.live import patience
from tests.live.faulty import hold, release
from tests.live.lab import SERVER, Lab, paddle_job, shell
from tests.live.pdj import assert_explained


def test_wait_for_the_end_returns_for_a_job_that_has_failed(module_lab: Lab) -> None:
    module_lab.submit(paddle_job("fails", {"worker": (1, shell("exit 3"))}))
    said = module_lab.kubectl("wait", "--for=condition=Finished", "pdj/fails", patience.IN_KUBECTL)
    assert "condition met" in said
    assert module_lab.condition("fails", "Finished")["reason"] == "Failed"
    line = module_lab.kubectl("get", "pdj", "fails", "-o", "wide").splitlines()[1]
    assert line.split()[2] == "Single"
    assert line.split()[5:7] == ["1", "PodFailed"], "it has no servers and no heter workers"
    assert "fails-worker-0 on node-" in line


def test_job_that_does_not_go_says_for_what(module_lab: Lab) -> None:
    module_lab.submit(paddle_job("held", {"worker": (1, SERVER)}))
    module_lab.wait_phase("held", "Running")
    hold(module_lab, "configmap", "held")
    module_lab.kubectl("delete", "pdj", "held", "--cascade=foreground", "--wait=false")
    told = "waiting for ConfigMap held, held by its finalizer example.com/hold since"
    module_lab.wait(lambda: told in str(module_lab.condition("held", "Pending")), told)
    assert module_lab.condition("held", "Pending")["reason"] == "ChildrenTerminating"
    assert_explained(module_lab, "held", Reason.CHILDREN_TERMINATING)
    assert module_lab.status("held")["phase"] == "Terminating"
    release(module_lab, "configmap", "held")
    module_lab.kubectl("wait", "--for=delete", "pdj/held", patience.IN_KUBECTL)


def test_replaced_job_waits_without_a_warning(module_lab: Lab) -> None:
    job = paddle_job("again", {"worker": (1, SERVER)})
    module_lab.submit(job)
    module_lab.wait_phase("again", "Running")
    hold(module_lab, "pod", "again-worker-0")
    module_lab.kubectl("replace", "--force", "-f", "-", stdin=yaml.safe_dump(job))
    module_lab.wait(
        lambda: module_lab.condition("again", "Pending").get("reason") == "PodsTerminating",
        "it says so",
    )
    told = module_lab.condition("again", "Pending")["message"]
    assert "Pod again-worker-0 of a former job of this name is still there" in told
    release(module_lab, "pod", "again-worker-0")
    module_lab.wait_phase("again", "Running")
    (owner,) = module_lab.pods("again")[0]["metadata"]["ownerReferences"]
    assert owner["uid"] == module_lab.job("again")["metadata"]["uid"]
    assert module_lab.status("again")["attempt"] == 1
    assert not module_lab.events("again", "CreateRefused")
