"""What Flux, Helm 4 and kpt make of jobs; kstatus itself judges them."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.live import gochecks
from tests.live.lab import PADDLE_JOBS, SERVER, Lab, Raw, paddle_job, shell, waiting_for_ever

JOBS = {
    "runs": (paddle_job("runs", {"worker": (1, SERVER)}), "Running", "Current"),
    "done": (paddle_job("done", {"worker": (1, shell("exit 0"))}), "Completed", "Current"),
    "fails": (paddle_job("fails", {"worker": (1, shell("exit 3"))}), "Failed", "Failed"),
    "waits": (paddle_job("waits", {"worker": (1, waiting_for_ever())}), "Pending", "InProgress"),
    "held": (paddle_job("held", {"worker": (1, SERVER)}, suspend=True), "Suspended", "InProgress"),
}


@pytest.fixture(scope="module")
def kstatus() -> Path:
    """The program that links kstatus in."""
    return gochecks.build("kstatus")


def judge(program: Path, jobs: dict[str, Raw]) -> dict[str, str]:
    question = json.dumps(jobs)
    done = subprocess.run([program], input=question, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


def test_jobs_are_judged_by_their_phase(kstatus: Path, module_lab: Lab) -> None:
    module_lab.submit(*(job for job, _, _ in JOBS.values()))
    for name, (_, phase, _) in JOBS.items():
        module_lab.wait(lambda n=name, p=phase: module_lab.status(n).get("phase") == p, name)
    said = judge(kstatus, {name: module_lab.job(name) for name in JOBS})
    assert said == {name: expected for name, (_, _, expected) in JOBS.items()}


def test_a_job_that_no_operator_has_seen_is_not_ready(kstatus: Path, module_lab: Lab) -> None:
    path = f"{PADDLE_JOBS}/namespaces/{module_lab.namespace}/paddlejobs"
    job = paddle_job("unseen", {"worker": (1, SERVER)})
    stored = module_lab.cluster.client.create(path, job, {"dryRun": "All"})
    assert judge(kstatus, {"unseen": stored}) == {"unseen": "InProgress"}
