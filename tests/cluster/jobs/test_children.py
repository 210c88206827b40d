"""What becomes of a job when somebody takes its children away, or the job itself."""

from typing import Any

import pytest

from api.constants import LABEL_JOB_UID
from tests.live.faulty import until_told
from tests.live.lab import CORE, Lab, paddle_job, shell

Raw = dict[str, Any]
WAITS = shell("exec sleep 3600")
ENDS = shell("exit 0")


@pytest.fixture(scope="module")
def jobs(module_lab: Lab) -> Lab:
    """Jobs that run, one that has ended, and one that is about to."""
    module_lab.submit(
        paddle_job("kept", {"worker": (2, WAITS)}, intranet="Service"),
        paddle_job("unlabelled", {"worker": (1, WAITS)}),
        paddle_job("again", {"worker": (2, WAITS)}),
        paddle_job("ended", {"worker": (2, ENDS)}, cleanPodPolicy="Never", intranet="Service"),
    )
    module_lab.wait_all(["kept", "unlabelled", "again"], "Running")
    module_lab.wait_completed("ended")
    return module_lab


def uids(lab: Lab, name: str) -> list[str]:
    return [pod["metadata"]["uid"] for pod in lab.pods(name)]


def look_at_all(lab: Lab, name: str) -> None:
    """Return when the operator has looked at every job: an annotation wakes them."""
    lab.kubectl("annotate", "pdj", "--all", "--overwrite", f"looked={name}")
    lab.submit(paddle_job(name, {"worker": (1, ENDS)}))
    lab.wait_completed(name)


@pytest.mark.parametrize(
    "child", ["services/kept-worker-1", "configmaps/kept"], ids=["Service", "ConfigMap"]
)
def test_child_that_was_deleted_is_made_again_as_it_was(jobs: Lab, child: str) -> None:
    before, pods = jobs.get(CORE, child), uids(jobs, "kept")
    jobs.kubectl("delete", child)

    def is_back() -> Raw | None:
        found = jobs.get(CORE, child)
        return found if found and found["metadata"]["uid"] != before["metadata"]["uid"] else None

    after = jobs.wait(is_back, f"another {child}")
    assert after["metadata"]["labels"] == before["metadata"]["labels"]
    assert after.get("data") == before.get("data")
    assert uids(jobs, "kept") == pods
    assert jobs.status("kept")["attempt"] == 1


def test_pod_without_the_jobs_label_is_replaced(jobs: Lab) -> None:
    (before,) = uids(jobs, "unlabelled")
    jobs.kubectl("label", "pod", "unlabelled-worker-0", f"{LABEL_JOB_UID}-")
    jobs.wait(lambda: jobs.status("unlabelled").get("attempt") == 2, "another attempt")
    jobs.wait_phase("unlabelled", "Running")
    (pod,) = jobs.pods("unlabelled")
    assert pod["metadata"]["uid"] != before
    assert pod["metadata"]["labels"][LABEL_JOB_UID] == jobs.job("unlabelled")["metadata"]["uid"]


def test_job_that_is_made_again_at_once_has_pods_of_its_own(jobs: Lab) -> None:
    before, old = jobs.job("again")["metadata"]["uid"], uids(jobs, "again")
    jobs.kubectl("delete", "pdj", "again", "--wait=false")
    jobs.wait(lambda: not jobs.get("/apis/batch.paddlepaddle.org/v1", "paddlejobs/again"), "gone")
    jobs.submit(paddle_job("again", {"worker": (2, WAITS)}))
    jobs.wait_phase("again", "Running")
    owners = {pod["metadata"]["ownerReferences"][0]["uid"] for pod in jobs.pods("again")}
    assert owners == {jobs.job("again")["metadata"]["uid"]} != {before}
    assert not set(uids(jobs, "again")) & set(old)
    assert (jobs.status("again")["attempt"], jobs.status("again").get("failures")) == (1, None)


def test_nothing_of_an_ended_job_is_made_again(jobs: Lab) -> None:
    before = jobs.status("ended")
    jobs.kubectl(
        "delete", "pods,services,configmaps", "-l", "batch.paddlepaddle.org/job-name=ended"
    )
    look_at_all(jobs, "looked")
    assert not jobs.pods("ended")
    assert not jobs.get(CORE, "services/ended-worker-0")
    jobs.wait(
        lambda: jobs.status("ended") == before | {"replicas": 0}, "the Service is not counted"
    )


def test_worker_that_ended_well_and_is_gone_is_counted_once(
    lab: Lab, tmp_path: Any, operated: Any
) -> None:
    roles = {"worker": (2, by_index("exit 0", until_told(tmp_path)))}
    lab.submit(paddle_job("counted", roles))
    lab.wait(lambda: succeeded(lab) == 1, "the first has ended well")
    (second,) = uids(lab, "counted")[1:]
    lab.kubectl("delete", "pod", "counted-worker-0")
    (tmp_path / "end").touch()
    status = lab.wait_completed("counted")
    assert succeeded(lab) == 2, status
    assert status["attempt"] == 1
    assert second


def by_index(first: str, others: Raw) -> Raw:
    """A template whose first pod runs another script."""
    container = others["spec"]["containers"][0]
    script = container["command"][-1]
    container["command"][-1] = f'test "$PADDLE_TRAINER_ID" = 0 && {first}; {script}'
    return others


def succeeded(lab: Lab) -> int:
    return int((lab.status("counted").get("worker") or {}).get("succeeded") or 0)
