"""A Completed job whose workers trained alone: seen in worker 0's log, with the user's rights."""

from typing import Any, cast

import pytest

from api.constants import Reason
from api.objects import Raw
from kube.client import Client
from kube.errors import Forbidden
from pdj.explain.story import build_story
from pdj.gather.alone import find_alone
from pdj.gather.jobs import JobPicture
from pdj.text.status import draw_job
from pdj.text.terminal import Screen
from tests.memory.builders import JobBuilder, a_job, a_pod, at
from tests.unit.reconcile.test_alone import config

SIDE_BY_SIDE = "\n".join(config())
TOGETHER = "\n".join(config(nnodes="2"))


class Logs:
    """An API server with logs by the pods' names; of others none may be read."""

    def __init__(self, **logs: str) -> None:
        self.logs = logs

    def list(self, *_: Any) -> tuple[list[Raw], str]:
        return [], ""

    def text(self, path: str, query: dict[str, Any]) -> str:
        name = path.split("/")[-2].replace("-", "_")
        if name not in self.logs:
            raise Forbidden("no logs for you")
        return self.logs[name][: query["limitBytes"]]


def picture_of(job: JobBuilder) -> JobPicture:
    job.with_status(phase="Completed", attempt=1)
    job.with_condition("Completed", True, reason=Reason.WORKERS_SUCCEEDED)
    built = job.build()
    return JobPicture(built, tuple(a_pod(built, index=n).ended(0).build() for n in range(2)))


@pytest.mark.parametrize(
    ("job", "logs", "is_alone"),
    [
        pytest.param(a_job().with_workers(2), {"train_worker_0": SIDE_BY_SIDE}, True, id="alone"),
        pytest.param(a_job().with_workers(2), {"train_worker_0": TOGETHER}, False, id="together"),
        pytest.param(a_job().with_workers(2), {"train_worker_1": SIDE_BY_SIDE}, False, id="hidden"),
        pytest.param(
            a_job().with_workers(2).with_ps(1), {"train_worker_0": SIDE_BY_SIDE}, False, id="ps"
        ),
    ],
)
def test_log_of_worker_0_shows_it(job, logs, is_alone):
    client, picture = cast("Client", Logs(**logs)), picture_of(job)
    alone = find_alone(client, picture)
    drawn = draw_job(picture, Screen(has_colour=False).paint, at(9), 200, alone=alone)
    assert any(Reason.TRAINED_ALONE in line for line in drawn) == is_alone
    told = [why.reason for why in build_story(client, picture, "en").whys]
    assert told == [Reason.WORKERS_SUCCEEDED, *[Reason.TRAINED_ALONE] * is_alone]


def test_status_says_it_where_the_pods_are_gone():
    job = a_job().with_workers(2).with_condition("TrainedAlone", True)
    job._raw["status"]["conditions"][0]["message"] = "each worker trained alone"
    assert (
        find_alone(cast("Client", Logs()), JobPicture(job.build())) == "each worker trained alone"
    )
