"""A job is held back until the store shows what was written for it."""

import pytest

from controller.expectations import EXPIRY_SECONDS, Expectations
from controller.resources import PADDLE_JOB, POD
from controller.store import Key, Store
from tests.unit.controller.builders import a_job, a_pod, put, remove

JOB, OTHER = Key("ns", "train"), Key("ns", "other")


@pytest.fixture
def store() -> Store:
    return Store((PADDLE_JOB, POD))


@pytest.fixture
def expectations(store, clock) -> Expectations:
    return Expectations(store, clock)


def test_nothing_written_nothing_awaited(expectations):
    assert expectations.is_fulfilled(JOB)


def test_a_created_pod_is_awaited(expectations, store):
    expectations.expect_written(JOB, POD, a_pod(version=10))
    assert not expectations.is_fulfilled(JOB)
    put(store, POD, a_pod(version=10))
    assert expectations.is_fulfilled(JOB)


def test_a_pod_created_and_gone_again_is_not_awaited_for_ever(expectations, store):
    expectations.expect_written(JOB, POD, a_pod(version=10))
    remove(store, POD, a_pod(version=11))
    assert expectations.is_fulfilled(JOB)


def test_every_one_of_many_writes_is_awaited(expectations, store):
    expectations.expect_written(JOB, POD, a_pod("b", version=12))
    expectations.expect_written(JOB, POD, a_pod("a", version=10))
    put(store, POD, a_pod("a", version=10))
    assert not expectations.is_fulfilled(JOB)
    put(store, POD, a_pod("b", version=12))
    assert expectations.is_fulfilled(JOB)


def test_kinds_are_awaited_apart(expectations, store):
    expectations.expect_written(JOB, PADDLE_JOB, a_job(version=10))
    put(store, POD, a_pod(version=99))
    assert not expectations.is_fulfilled(JOB)


@pytest.mark.parametrize(
    "arrival",
    [
        lambda s, p: remove(s, POD, p),
        lambda s, p: put(s, POD, a_pod("p", deletionTimestamp="2026-01-02T03:04:05Z")),
        lambda s, p: put(s, POD, a_pod("p", uid="another")),
    ],
    ids=["gone", "marked", "another in its place"],
)
def test_a_deletion_is_awaited(expectations, store, arrival):
    pod = a_pod("p")
    put(store, POD, pod)
    expectations.expect_deleted(JOB, POD, "p", "uid-of-p")
    assert not expectations.is_fulfilled(JOB)
    arrival(store, pod)
    assert expectations.is_fulfilled(JOB)


def test_jobs_are_held_back_alone(expectations):
    expectations.expect_written(JOB, POD, a_pod(version=10))
    assert expectations.is_fulfilled(OTHER)


def test_a_note_expires(expectations, clock):
    expectations.expect_written(JOB, POD, a_pod(version=10))
    clock.step(EXPIRY_SECONDS - 1)
    assert not expectations.is_fulfilled(JOB)
    clock.step(1)
    assert expectations.is_fulfilled(JOB)


def test_the_expiry_counts_from_the_newest_write(expectations, clock):
    expectations.expect_written(JOB, POD, a_pod(version=10))
    clock.step(EXPIRY_SECONDS - 1)
    expectations.expect_written(JOB, POD, a_pod(version=11))
    clock.step(2)
    assert not expectations.is_fulfilled(JOB)
