"""Reconciling and Stalled: what Flux, Helm 4 and kpt make of a job by kstatus's rules."""

from api.objects import Raw
from tests.memory.builders import a_job


def judge(job: Raw) -> str:
    """The result of kstatus for a resource of a kind that it does not know."""
    status = job.get("status") or {}
    if "deletionTimestamp" in job["metadata"]:
        return "Terminating"
    if (
        status.get("observedGeneration", job["metadata"]["generation"])
        != (job["metadata"]["generation"])
    ):
        return "InProgress"
    is_true = {c["type"] for c in status.get("conditions") or () if c["status"] == "True"}
    if "Reconciling" in is_true:
        return "InProgress"
    return "Failed" if "Stalled" in is_true else "Current"


def test_a_job_is_in_progress_until_it_runs_and_while_it_restarts(world):
    def judged() -> tuple[str, str]:
        return world.phase(), judge(world.job())

    world.begin(a_job().with_workers(2).with_spec(backoffLimit=1))
    assert judged() == ("Pending", "InProgress")
    world.kubelet.place_all()
    world.settle()
    assert judged() == ("Starting", "InProgress")
    world.run()
    assert judged() == ("Running", "Current")
    world.kubelet.see_end("train-worker-0", 3)
    assert judged() == ("Restarting", "InProgress")
    assert world.condition("Stalled") == {}
    world.kubelet.let_go()
    world.run()
    assert judged() == ("Running", "Current")
    world.kubelet.end_all("worker")
    world.settle()
    assert judged() == ("Completed", "Current")


def test_a_failed_job_is_failed_and_says_why(world):
    world.run(a_job().with_workers(1))
    world.kubelet.see_end("train-worker-0", 3)
    assert judge(world.job()) == "Failed"
    stalled, failed = world.condition("Stalled"), world.condition("Failed")
    assert {key: stalled[key] for key in stalled if key != "type"} == {
        key: failed[key] for key in failed if key != "type"
    }


def test_a_suspended_job_is_in_progress_as_one_of_batch_is(world):
    world.run(a_job().with_workers(1))
    world.amend(suspend=True)
    assert judge(world.job()) == "InProgress"


def test_a_change_of_the_spec_is_observed(world):
    world.run(a_job().with_workers(1))
    world.edit_spec(ttlSecondsAfterFinished=60)
    assert judge(world.job()) == "InProgress"
    world.settle()
    assert judge(world.job()) == "Current"
