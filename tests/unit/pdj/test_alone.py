"""A Completed job whose workers trained alone: seen in worker 0's log, with the user's rights."""

import pytest

from api.constants import Reason
from kube.errors import Forbidden
from pdj.facts.picture import JobPicture
from pdj.gather.facts import gather
from pdj.judge.judge import judge
from pdj.session import Screen
from pdj.text.status import draw_job
from tests.memory.builders import JobBuilder, a_job, a_pod, at
from tests.unit.pdj.cluster import Cluster
from tests.unit.reconcile.test_alone import config

SIDE_BY_SIDE = "\n".join(config())
TOGETHER = "\n".join(config(nnodes="2"))


def picture_of(job: JobBuilder) -> JobPicture:
    job.with_status(phase="Completed", attempt=1)
    job.with_condition("Completed", True, reason=Reason.WORKERS_SUCCEEDED)
    built = job.build()
    return JobPicture(built, tuple(a_pod(built, index=n).ended(0).build() for n in range(2)))


@pytest.mark.parametrize(
    ("job", "log", "is_alone"),
    [
        pytest.param(a_job().with_workers(2), SIDE_BY_SIDE, True, id="alone"),
        pytest.param(a_job().with_workers(2), TOGETHER, False, id="together"),
        pytest.param(a_job().with_workers(2), Forbidden("no logs for you"), False, id="hidden"),
        pytest.param(a_job().with_workers(2).with_ps(1), SIDE_BY_SIDE, False, id="ps"),
    ],
)
def test_log_of_worker_0_shows_it(job, log, is_alone):
    picture = picture_of(job)
    client = Cluster(logs={"train-worker-0": log, "train-worker-1": SIDE_BY_SIDE})
    facts = gather(client, picture, only="head")
    drawn = draw_job(facts, Screen(has_colour=False).paint, at(9), 200)
    assert any(Reason.TRAINED_ALONE in line for line in drawn) == is_alone
    told = [each.reason for each in judge(gather(client, picture)).findings]
    assert told == [Reason.WORKERS_SUCCEEDED, *[Reason.TRAINED_ALONE] * is_alone]


def test_status_says_it_where_the_pods_are_gone():
    job = a_job().with_workers(2).with_condition("TrainedAlone", True)
    job._raw["status"]["conditions"][0]["message"] = "each worker trained alone"
    assert gather(Cluster(), JobPicture(job.build())).alone == "each worker trained alone"
