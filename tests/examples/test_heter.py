"""Fleet's role maker, built from the environment of a heter job."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.examples.pods import EXAMPLES, Job, python, wait_until

TOLD = r'(\{"role".*\})'
pytestmark = [pytest.mark.training, pytest.mark.timeout(700)]


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Job]:
    command = [python(), str(EXAMPLES / "heter" / "train.py")]
    folder = tmp_path_factory.mktemp("heter") / "pods"
    with Job(folder, command, workers=2, servers=2, heters=1) as job:
        job.train({})
        wait_until(lambda: all(pod.find(TOLD) for pod in job.pods), "every role told")
        yield job


def told(job: Job, role: str, index: int) -> dict[str, Any]:
    pods = {"server": job.servers, "worker": job.workers, "heter": job.heters}
    answer: dict[str, Any] = json.loads(pods[role][index].find(TOLD)[0])
    return answer


@pytest.mark.parametrize(
    ("role", "index", "role_id", "stage"),
    [
        ("server", 0, 0, 1),
        ("server", 1, 1, 1),
        ("worker", 0, 0, 1),
        ("worker", 1, 1, 1),
        ("heter", 0, 2, 2),  # Fleet counts them after the workers
    ],
)
def test_role_index_and_stage(job: Job, role: str, index: int, role_id: int, stage: int) -> None:
    answer = told(job, role, index)
    found = (answer["role"], answer["index"], answer["stage"] if role != "server" else stage)
    assert found == (role, role_id, stage)
    assert (len(answer["servers"]), len(answer["workers"]), len(answer["heter"])) == (2, 2, 1)


def test_the_stages_are_each_others_next_and_previous(job: Job) -> None:
    worker, heter = told(job, "worker", 0), told(job, "heter", 0)
    assert worker["next"] == [heter["endpoint"]]
    assert heter["previous"] == worker["workers"]
    assert (worker["previous"], heter["next"]) == ([], [])
    assert worker["stage_trainers"] == [2, 1]


def test_workers_reach_their_peers(job: Job) -> None:
    assert all("reached all" in worker.log for worker in job.workers)
