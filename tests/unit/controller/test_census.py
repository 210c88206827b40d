"""Gauges of jobs and pods, from the store."""

from controller.cache.census import take_census
from controller.cache.store import Store
from controller.client.resources import PADDLE_JOB, POD
from tests.unit.controller.stored import a_job, a_pod, put


def a_census(*jobs, pods=()):
    store = Store((PADDLE_JOB, POD))
    for job in jobs:
        put(store, PADDLE_JOB, job)
    for pod in pods:
        put(store, POD, pod)
    return take_census(store)


def test_jobs_count_by_phase_and_mode():
    running = {"phase": "Running", "mode": "PS"}
    census = a_census(a_job("a", status=running), a_job("b", status=running))
    assert census.jobs[("Running", "PS")] == 2


def test_a_job_never_looked_at_counts_too():
    assert a_census(a_job()).jobs[("", "")] == 1


def test_a_phase_that_another_controller_made_up_makes_no_series():
    job = a_job(status={"phase": "Brewing", "mode": "Tea"})
    assert a_census(job).jobs[("", "")] == 1


def test_pods_count_by_role_and_phase():
    assert a_census(pods=[a_pod()]).pods[("worker", "Pending")] == 1


def test_a_role_that_a_user_made_up_makes_no_series():
    pod = a_pod(labels={"batch.paddlepaddle.org/role": "made-up"})
    assert a_census(pods=[pod]).pods[("", "Pending")] == 1


def test_what_there_is_none_of_is_zero():
    census = a_census()
    assert census.jobs[("Failed", "Collective")] == 0
    assert census.pods[("ps", "Running")] == 0
