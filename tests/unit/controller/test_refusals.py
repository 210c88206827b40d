"""What was refused is remembered, told once, and asked for ever more seldom."""

import pytest

from controller.refusals import Refusals
from controller.store import Key
from reconcile.plan import Refusal

JOB = Key("ns", "train")
QUOTA = Refusal("Pod", "train-worker-0", "Forbidden", "exceeded quota", 403)


@pytest.fixture
def refusals(clock) -> Refusals:
    return Refusals(clock)


def test_a_refusal_is_remembered(refusals):
    assert refusals.add(JOB, "u", (QUOTA,))
    assert refusals.of(JOB, "u") == (QUOTA,)


def test_a_namesake_starts_clean(refusals):
    refusals.add(JOB, "former", (QUOTA,))
    assert refusals.of(JOB, "present") == ()


def test_the_same_again_is_no_news(refusals):
    refusals.add(JOB, "u", (QUOTA,))
    assert not refusals.add(JOB, "u", (QUOTA,))


def test_another_message_is_news(refusals):
    refusals.add(JOB, "u", (QUOTA,))
    assert refusals.add(JOB, "u", (Refusal(QUOTA.kind, QUOTA.name, "Forbidden", "webhook", 403),))


def test_the_pause_doubles_to_five_minutes(refusals, clock):
    pauses = []
    for _ in range(7):
        refusals.add(JOB, "u", (QUOTA,))
        pauses.append(refusals.pause_seconds(JOB))
        clock.step(pauses[-1])
    assert pauses == [10, 20, 40, 80, 160, 300, 300]
    assert refusals.pause_seconds(JOB) == 0


def test_what_is_only_told_lets_the_job_go_on(refusals):
    assert refusals.add(JOB, "u", (QUOTA,), pauses=False)
    assert refusals.of(JOB, "u") == (QUOTA,)
    assert refusals.pause_seconds(JOB) == 0


def test_a_create_that_succeeds_settles_it(refusals):
    refusals.add(JOB, "u", (QUOTA,))
    refusals.settle(JOB, frozenset({("Pod", "train-worker-0")}))
    assert refusals.of(JOB, "u") == ()
    assert refusals.pause_seconds(JOB) == 0


def test_a_create_of_another_child_settles_nothing(refusals):
    refusals.add(JOB, "u", (QUOTA,))
    refusals.settle(JOB, frozenset({("Pod", "train-worker-1")}))
    assert refusals.of(JOB, "u") == (QUOTA,)
