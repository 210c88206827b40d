"""Nodes that are drained, restarted, lost or taken away, and the pods that they leave behind.

Of four nodes one is restarted, one drained, one deleted and one lost; each job has its workers on
one of them, and nothing but a preference holds it there. The operator is one of all namespaces:
others may not read nodes.
"""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from api.constants import LABEL_JOB_NAME, Reason
from localcluster import Cluster
from localcluster.machine import clock
from tests.conftest import new_namespace
from tests.live import patience
from tests.live.faulty import SLOW_TO_STOP, job_near, take_away, wait_second_attempt
from tests.live.lab import CORE, Lab
from tests.live.operated import grant_roles, operator_beside
from tests.live.pdj import assert_explained

RESTARTED, DRAINED, DELETED, LOST = (f"node-{number}" for number in range(4))
FORCE_SECONDS = 1
FORCE = f"--force-delete-after={FORCE_SECONDS}"


def test_with_roles_alone_pods_of_a_lost_node_are_let_be(unattended: Cluster) -> None:
    """Such an operator cannot read nodes."""
    with new_namespace(unattended) as namespace:
        lab = Lab(unattended, namespace)
        grant_roles(unattended, namespace)
        with operator_beside(unattended, namespace, FORCE, account_in=namespace):
            lab.submit(job_near("kept", DELETED))
            lab.wait_phase("kept", "Running")
            take_away(lab, DELETED, "kept")
            kept = uids(lab, "kept")
            due = max(pod["metadata"]["deletionTimestamp"] for pod in lab.pods("kept"))
            past = datetime.fromisoformat(due) + timedelta(seconds=FORCE_SECONDS + 3)
            lab.wait(lambda: clock.utc_now() > past, "they should have been gone for long")
            lab.wait(
                lambda: lab.condition("kept", "Pending").get("reason") == "PodsTerminating", "so"
            )
            assert uids(lab, "kept") == kept
            unattended.start_component(DELETED)
            lab.wait(lambda: not kept & uids(lab, "kept"), "the node lets them go")
            lab.kubectl("wait", f"node/{DELETED}", "--for=condition=Ready", patience.IN_KUBECTL)


def uids(lab: Lab, job: str) -> set[str]:
    """The job's pods; those of its next attempt are others."""
    return {pod["metadata"]["uid"] for pod in lab.pods(job)}


@pytest.fixture(scope="module")
def lab(unattended: Cluster) -> Iterator[Lab]:
    """A namespace on nodes that are mended in the end."""
    with new_namespace(unattended) as namespace:
        yield Lab(unattended, namespace)
    mend(unattended)


@pytest.fixture(scope="module")
def jobs(lab: Lab) -> Iterator[Lab]:
    """A job on each node; then every node is hit."""
    with operator_beside(lab.cluster, "", FORCE):
        lab.submit(*JOBS.values(), job_near("stays", LOST, tolerations=[{"operator": "Exists"}]))
        lab.wait_all([*JOBS, "stays"], "Running")
        hit_nodes(lab)
        yield lab


def hit_nodes(lab: Lab) -> None:
    """Each node by its fault, the lost ones first: it takes a while until that is noticed."""
    cluster = lab.cluster
    cluster.stop(LOST)
    take_away(lab, DELETED, "deleted")
    cluster.stop(RESTARTED)
    cluster.start_component(RESTARTED)
    cluster.kubectl("drain", DRAINED, f"--pod-selector={LABEL_JOB_NAME}=drained", "--force")
    cluster.kubectl("uncordon", DRAINED)


def mend(cluster: Cluster) -> None:
    for node in (LOST, DELETED):
        cluster.start_component(node)


def nodes_of(lab: Lab, job: str) -> set[str]:
    return {pod["spec"]["nodeName"] for pod in lab.pods(job)}


JOBS = {
    "moved": job_near("moved", RESTARTED, restartPolicy="OnFailure"),
    "drained": job_near("drained", DRAINED, SLOW_TO_STOP, terminationGracePeriodSeconds=30),
    "deleted": job_near("deleted", DELETED),
    "lost": job_near("lost", LOST),
}
REASONS = {
    "moved": Reason.ADDRESS_CHANGED,
    "drained": Reason.POD_EVICTED,
    "deleted": Reason.POD_VANISHED,
    "lost": Reason.NODE_LOST,
}


@pytest.mark.parametrize("job", REASONS)
def test_job_goes_on_uncharged(jobs: Lab, job: str) -> None:
    status = wait_second_attempt(jobs, job)
    assert status["restartCount"] == 1
    assert "failureCount" not in status
    assert [record["reason"] for record in status["failures"]] == [REASONS[job]]
    assert_explained(jobs, job, REASONS[job])


@pytest.mark.parametrize("job", REASONS)
def test_peers_are_those_that_live(jobs: Lab, job: str) -> None:
    wait_second_attempt(jobs, job)
    addresses = [f"{pod['status']['podIP']}:36000" for pod in jobs.pods(job)]
    config_map = jobs.get(CORE, f"configmaps/{job}-attempt-2")
    assert config_map["data"]["PADDLE_TRAINER_ENDPOINTS"] == ",".join(addresses)
    assert jobs.get(CORE, f"configmaps/{job}") is None
    for pod in jobs.pod_names(job):
        jobs.wait(lambda pod=pod: jobs.log(pod), f"words of {pod}")
        assert jobs.log(pod) == f"peers {','.join(addresses)}\n"


@pytest.mark.parametrize(("job", "node"), [("deleted", DELETED), ("lost", LOST)])
def test_pods_stuck_on_a_lost_node_are_forced(jobs: Lab, job: str, node: str) -> None:
    wait_second_attempt(jobs, job)
    assert node not in nodes_of(jobs, job)

    def told() -> set[str]:
        return set(re.findall(rf"{job}-worker-\d", " ".join(jobs.events(job, "ForceDeleted"))))

    names = {f"{job}-worker-{index}" for index in range(2)}
    jobs.wait(lambda: told() == names, f"Events of {names}")
    assert_explained(jobs, job, Reason.FORCE_DELETED)


def test_drained_and_lost_nodes_are_avoided(jobs: Lab) -> None:
    for job, node in (("drained", DRAINED), ("lost", LOST)):
        assert wait_second_attempt(jobs, job)["avoidNodes"] == [node]
        assert node not in nodes_of(jobs, job)


def test_user_who_deletes_a_pod_blames_no_node(jobs: Lab) -> None:
    assert "avoidNodes" not in wait_second_attempt(jobs, "deleted")


def test_job_that_tolerates_a_dead_node_names_it_and_goes_on(jobs: Lab) -> None:
    """Nobody evicts its pods, so it seems to run for ever."""
    jobs.wait(lambda: jobs.condition("stays", "Running").get("reason") == Reason.NODE_LOST, "lost")
    assert f"{LOST} with stays-worker-0" in jobs.condition("stays", "Running")["message"]
    jobs.wait(lambda: jobs.events("stays", "NodeLost"), "an Event")
    assert_explained(jobs, "stays", Reason.NODE_LOST)
    status = jobs.status("stays")
    assert (status["phase"], status["attempt"]) == ("Running", 1)
