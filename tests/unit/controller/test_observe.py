"""What a pass is shown besides the store: what this process itself remembers of the job."""

from datetime import timedelta

import pytest

from controller.observe import LONGEST_PATIENCE, PATIENCE, Observer
from controller.refusals import Refusals
from controller.resources import PADDLE_JOB
from controller.store import Store
from reconcile.plan import PutOff, Settings
from tests.unit.controller.builders import a_job, put

JOB = a_job()
KEY = ("ns", "train")


class Looks:
    """An observer of one job."""

    def __init__(self, clock) -> None:
        self.clock = clock
        self.store = Store((PADDLE_JOB,))
        put(self.store, PADDLE_JOB, JOB)
        self.observer = Observer(self.store, Refusals(clock), Settings(), lambda _: False, clock)

    def put_off(self) -> PutOff | None:
        """What a pass sees now."""
        return self.observer.observe(self.store.family(KEY)).put_off

    def look_in_a_crowd(self) -> PutOff | None:
        """What a pass sees while others wait for a worker."""
        self.observer.put_off_first_status(self.store.get(PADDLE_JOB, KEY))
        return self.put_off()


@pytest.fixture
def looks(clock) -> Looks:
    return Looks(clock)


def test_without_a_crowd_no_first_status_waits(looks):
    assert looks.put_off() is None


def test_a_first_status_waits_for_the_crowd_to_end_and_a_moment_longer(looks):
    began = looks.clock.now()
    assert looks.look_in_a_crowd() == PutOff(began, began + PATIENCE)
    looks.clock.step(3)
    later = began + timedelta(seconds=3) + PATIENCE
    assert looks.look_in_a_crowd() == PutOff(began, later)
    looks.clock.step(3)
    assert looks.put_off() == PutOff(began, later)


def test_a_crowd_that_never_ends_is_not_waited_for(looks):
    began = looks.clock.now()
    for _ in range(20):
        until = looks.look_in_a_crowd().until
        looks.clock.step(4)
    assert until == began + LONGEST_PATIENCE


def test_a_job_with_a_status_waits_for_nothing(looks):
    put(looks.store, PADDLE_JOB, a_job(status={"phase": "Starting"}))
    assert looks.look_in_a_crowd() is None
