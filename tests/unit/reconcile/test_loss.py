"""Time without training: counted once, by what ended it."""

from typing import Any

import pytest

from api.constants import ANNOTATION_RESTARTED_AT
from reconcile.failure.loss import count_gpus
from reconcile.model.plan import Outcome
from tests.memory.builders import a_job, a_template, stamp, view_of
from tests.memory.world import World

GPUS = {"limits": {"nvidia.com/gpu": 2, "memory": "1Gi"}}


def a_gpu_template(**resources: Any) -> dict[str, Any]:
    container = {"name": "paddle", "image": "paddle", "resources": resources or GPUS}
    return a_template(containers=[container])


def start(world: World, **spec: object) -> None:
    """A job of two workers with two GPUs each, which runs for a minute."""
    world.run(a_job().with_workers(2, a_gpu_template()).with_spec(backoffLimit=9, **spec))
    world.advance(60)


def lose(world: World, seconds: float = 30) -> None:
    """A worker fails, its peers go, and time passes before the next attempt's pods run."""
    world.kubelet.end("train-worker-0", 1)
    world.kubelet.let_go()
    world.advance(seconds)


def lost(world: World) -> list[Outcome]:
    return [outcome for outcome in world.counted if outcome.kind == "lost"]


def test_time_from_the_failure_until_all_run_is_counted_once(world):
    start(world)
    world.kubelet.end("train-worker-0", 1)
    world.after(5)
    assert (world.status()["lostSince"], world.status()["lostReason"]) == (stamp(60), "PodFailed")
    world.kubelet.let_go()
    world.advance(25)
    assert lost(world) == []
    world.run()
    world.after(60)
    assert lost(world) == [Outcome("lost", "Collective", "PodFailed", 30.0, 4)]
    assert not {"lostSince", "lostReason"} & set(world.status())


def test_failures_before_all_run_again_go_on_with_the_first(world):
    start(world)
    lose(world)
    world.kubelet.place_all()
    world.settle()
    world.kubelet.start_all()
    world.kubelet.vanish("train-worker-1")
    world.kubelet.let_go()
    world.advance(30)
    world.run()
    (outcome,) = lost(world)
    assert (outcome.reason, outcome.seconds) == ("PodFailed", 60.0)


def test_a_second_loss_counts_for_itself(world):
    start(world)
    lose(world, 20)
    world.run()
    world.advance(700)
    lose(world, 40)
    world.run()
    assert [outcome.seconds for outcome in lost(world)] == [20.0, 40.0]


def test_an_attempt_that_never_began_to_train_loses_nothing(world):
    world.begin(a_job().with_workers(2))
    asked = {ANNOTATION_RESTARTED_AT: "now"}
    world.change("PaddleJob", "train", lambda job: job["metadata"].update(annotations=asked))
    world.settle()
    assert world.status()["attempt"] == 2
    assert "lostSince" not in world.status()


def test_what_a_job_has_lost_at_its_end_is_counted(world):
    start(world, activeDeadlineSeconds=100)
    lose(world, 40)
    world.settle()
    assert world.phase() == "Failed"
    assert [outcome.seconds for outcome in lost(world)] == [40.0]


def test_a_job_that_fails_for_good_has_lost_nothing_that_would_come_back(world):
    world.run(a_job().with_workers(2))
    world.kubelet.end("train-worker-0", 1)
    world.after(30)
    assert world.phase() == "Failed"
    assert lost(world) == []


def test_suspension_is_not_lost_time(world):
    start(world)
    lose(world, 10)
    world.amend(suspend=True)
    world.advance(1000)
    world.edit_spec(suspend=False)
    world.run()
    assert [outcome.seconds for outcome in lost(world)] == [10.0]


def test_a_clock_that_is_set_back_takes_no_time_away(world):
    start(world)
    lose(world, 10)
    world.set_clock_back(3600)
    world.run()
    (outcome,) = lost(world)
    assert outcome.seconds is not None
    assert 0 <= outcome.seconds <= 10


def test_a_reason_that_no_operator_has_written_makes_no_series(world):
    start(world)
    forged = {"lostSince": stamp(0), "lostReason": "Tea"}
    world.change("PaddleJob", "train", lambda job: job["status"].update(forged))
    world.settle()
    assert world.phase() == "Running"
    assert lost(world) == []


@pytest.mark.parametrize(
    ("resources", "gpus"),
    [
        ({}, 0),
        ({"limits": {"nvidia.com/gpu": "4"}}, 4),
        ({"limits": {"nvidia.com/gpu": "9" * 400}}, 0),
        ({"limits": {"nvidia.com/gpu": "0" * 5000}}, 0),
        ({"requests": {"amd.com/gpu": 1}, "limits": {"amd.com/gpu": 1}}, 1),
        ({"limits": {"cpu": 64, "nvidia.com/gpu.shared": 1}}, 0),
        ({"limits": {"nvidia.com/gpu": "many"}}, 0),
        ({"limits": {"kunlunxin.com/xpu": 1, "huawei.com/Ascend910B3": 8}}, 9),
        ({"limits": {"metax-tech.com/gpu": 2, "metax-tech.com/vmemory": 64}}, 2),
        ({"limits": {"iluvatar.ai/gpu": 1, "hygon.com/dcu": 1, "cambricon.com/mlu370": 1}}, 3),
        ({"limits": {"huawei.com/Ascend910-memory": 8192, "example.com/dpu": 1}}, 0),
        ({"limits": None}, 0),
    ],
)
def test_gpus_are_those_of_all_pods(resources, gpus):
    template = a_template(containers=[{"name": "paddle", "resources": resources}])
    assert count_gpus(view_of(a_job().with_ps(2).with_workers(3, template))) == 3 * gpus
