"""The wall clock is set back: nobody waits until it has caught up."""

import pytest

from tests.memory.builders import a_job, stamp, view_of

HOUR = 3600.0


def test_next_attempt_comes_after_its_back_off(world):
    world.run(a_job().with_workers(1).with_spec(backoffLimit=3))
    world.kubelet.see_end("train-worker-0", 1)
    world.kubelet.reap_all()
    world.run()
    world.kubelet.see_end("train-worker-0", 1)
    world.kubelet.reap_all()
    world.set_clock_back(HOUR)
    assert world.settle().requeue_after == 10
    world.advance(10)
    world.run()
    assert world.phase() == "Running"


def test_deadline_comes_when_it_would_have_come(world):
    world.begin(a_job().with_workers(1).with_spec(activeDeadlineSeconds=60))
    world.advance(20)
    world.run()
    world.set_clock_back(HOUR)
    assert world.settle().requeue_after == 40
    world.after(40)
    assert world.condition("Failed")["reason"] == "DeadlineExceeded"


@pytest.mark.parametrize("ahead", [0.0, 5.0])
def test_status_of_a_leader_whose_clock_is_a_little_ahead_stays(ahead):
    job = a_job().with_workers(1).with_status(startTime=stamp(ahead))
    assert view_of(job).job.status.start_time == stamp(ahead)
