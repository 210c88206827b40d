"""Gauges of jobs and pods, from the store."""

from datetime import timedelta

import pytest

from controller.cache.census import take_census, take_namespace_census
from controller.cache.store import Store
from controller.client.resources import PADDLE_JOB, POD
from tests.unit.controller.fakes import START
from tests.unit.controller.stored import a_job, a_pod, put


def a_census(*jobs, pods=()):
    store = Store((PADDLE_JOB, POD))
    for job in jobs:
        put(store, PADDLE_JOB, job)
    for pod in pods:
        put(store, POD, pod)
    return take_census(store, START + timedelta(minutes=5))


def test_jobs_count_by_phase_and_mode_and_pods_by_role_and_phase():
    running = {"phase": "Running", "mode": "PS"}
    census = a_census(a_job("a", status=running), a_job("b", status=running), pods=[a_pod()])
    assert census.jobs[("Running", "PS")] == 2
    assert census.pods[("worker", "Pending")] == 1


def waiting(reason="QuotaExceeded", minutes=0, status="True", **more):
    """A status of a job that waits since so many minutes after the start."""
    since = (START + timedelta(minutes=minutes)).isoformat()
    pending = {"type": "Pending", "status": status, "reason": reason, "lastTransitionTime": since}
    return {"phase": "Pending", "mode": "PS", "conditions": [pending]} | more


def test_waiting_jobs_count_by_mode_and_reason_with_the_longest_wait():
    jobs = a_job("a", status=waiting(minutes=1)), a_job("b", status=waiting(minutes=2))
    stalled = waiting("NoOutput", minutes=1, phase="Running")
    stalled["conditions"][0]["type"] = "TrainingStalled"
    heter = waiting("BackOff", mode="Heter")
    census = a_census(*jobs, a_job("c", status=heter), a_job("d", status=stalled))
    assert census.waiting[("PS", "QuotaExceeded")] == 2
    assert census.waited_seconds[("PS", "QuotaExceeded")] == 240.0
    assert census.waiting[("Heter", "BackOff")] == 1
    assert census.waiting[("PS", "NoOutput")] == 1
    assert census.waited_seconds[("PS", "NoOutput")] == 240.0


def test_job_on_a_node_that_does_not_answer_counts_while_it_seems_to_run():
    """Since when is unknown: the condition is as old as the run."""
    status = waiting("NodeLost", phase="Running")
    status["conditions"][0]["type"] = "Running"
    census = a_census(a_job("a", status=status))
    assert census.waiting[("PS", "NodeLost")] == 1
    assert census.waited_seconds[("PS", "NodeLost")] == 0.0


@pytest.mark.parametrize("status", [waiting(status="False"), waiting(phase="Failed"), {}])
def test_who_waits_for_nothing_is_not_counted(status):
    census = a_census(a_job(status=status))
    assert set(census.waiting.values()) == {0}
    assert set(census.waited_seconds.values()) == {0.0}


@pytest.mark.parametrize("time", ["tea", "2026-01-02T03:04:05", None])
def test_a_time_that_is_none_ends_no_scrape(time):
    status = waiting()
    status["conditions"][0]["lastTransitionTime"] = time
    assert a_census(a_job(status=status)).waiting[("PS", "QuotaExceeded")] == 1


def test_what_others_made_up_makes_no_series():
    """A phase, a mode, a reason and a role."""
    pod = a_pod(labels={"batch.paddlepaddle.org/role": "made-up"})
    made_up = a_job("a", status={"phase": "Brewing", "mode": "Tea"})
    census = a_census(made_up, a_job("b", status=waiting("Tea")), pods=[pod])
    assert census.jobs[("", "")] == 1
    assert census.waiting[("", "")] == 1
    assert census.pods[("", "Pending")] == 1


def with_gpus(name, namespace, phase, counts, **spec):
    """A job of two workers with 8 GPUs each."""
    job = a_job(name, status={"phase": phase, "mode": "Collective", "worker": counts})
    container = {"name": "paddle", "resources": {"limits": {"nvidia.com/gpu": "8"}}}
    template = {"spec": {"containers": [container]}}
    job["spec"] = {"worker": {"replicas": 2, "template": template}, **spec}
    job["metadata"]["namespace"] = namespace
    return job


def test_gpus_are_wanted_held_and_running_by_namespace():
    jobs = (
        with_gpus("a", "team-a", "Starting", {"starting": 1, "running": 1}),
        with_gpus("b", "team-b", "Pending", {"pending": 2}),
        with_gpus("c", "team-b", "Completed", {"succeeded": 2}),
        with_gpus("d", "team-b", "Suspended", {}, suspend=True),
        with_gpus("e", "team-b", "Running", {"running": "many"}),
    )
    store = Store((PADDLE_JOB, POD))
    for job in jobs:
        put(store, PADDLE_JOB, job)
    assert take_census(store, START).gpus == {"wanted": 32, "held": 16, "running": 8}
    found = take_namespace_census(store, START)
    assert {key: value for key, value in found.gpus.items() if value} == {
        ("team-a", "wanted"): 16,
        ("team-a", "held"): 16,
        ("team-a", "running"): 8,
        ("team-b", "wanted"): 16,
    }
    assert found.jobs[("team-b", "Completed")] == 1
