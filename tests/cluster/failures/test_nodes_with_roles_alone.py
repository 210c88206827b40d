"""An operator with Roles alone cannot read nodes, and lets be what stands on a lost one."""

from api.objects import parse_time
from localcluster import Cluster
from localcluster.machine import clock
from tests.conftest import new_namespace
from tests.live.faulty import job_near, take_away
from tests.live.lab import Lab
from tests.live.operated import grant_roles, operator_beside

NODE = "node-1"
FORCE_SECONDS = 1


def test_with_roles_alone_pods_of_a_lost_node_are_let_be(unattended: Cluster) -> None:
    with new_namespace(unattended) as namespace:
        lab = Lab(unattended, namespace)
        grant_roles(unattended, namespace)
        with operator_beside(
            unattended, namespace, f"--force-delete-after={FORCE_SECONDS}", account_in=namespace
        ):
            lab.submit(job_near("kept", NODE))
            lab.wait_phase("kept", "Running")
            take_away(lab, NODE, "kept")
            wait_past(lab, "kept", FORCE_SECONDS + 3)
            lab.wait(lambda: pending(lab, "kept") == "PodsTerminating", "kept says so")
            assert len(lab.pods("kept")) == 2
            kept = uids(lab, "kept")
            unattended.start_component(NODE)
            lab.wait(lambda: not kept & uids(lab, "kept"), "the node lets them go")


def uids(lab: Lab, job: str) -> set[str]:
    """The job's pods; those of its next attempt are others."""
    return {pod["metadata"]["uid"] for pod in lab.pods(job)}


def pending(lab: Lab, job: str) -> str:
    return str(lab.condition(job, "Pending").get("reason"))


def wait_past(lab: Lab, job: str, seconds: float) -> None:
    """Wait until all pods of the job should have been gone for so long."""
    due = [parse_time(pod["metadata"]["deletionTimestamp"]) for pod in lab.pods(job)]
    last = max(moment.timestamp() for moment in due if moment)
    lab.wait(lambda: clock.now() > last + seconds, "time passes")
