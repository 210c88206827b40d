"""When a job was first in a state."""

from typing import Any

import pytest

from benchmarks.adapter import Adapter
from benchmarks.jobwatch import TOUCHED, JobWatch
from localcluster.client.rest import Server, ServerClient

Job = dict[str, Any]


def a_job(name: str, phase: str = "") -> Job:
    return {"metadata": {"name": name}, "status": {"phase": phase}}


@pytest.fixture
def watch() -> JobWatch:
    return JobWatch(ServerClient(Server("http://127.0.0.1:1", None)), Adapter())


def times(watch: JobWatch, state: str, *names: str) -> list[float]:
    """When the jobs were in the state, without any waiting."""
    return watch.wait(names, state, 0, lambda _: None)


def test_a_list_does_not_make_a_state_later(watch):
    watch.note("ADDED", a_job("a", "Running"))
    first = times(watch, "Running", "a")
    watch.note_all([a_job("a", "Running")])
    assert times(watch, "Running", "a") == times(watch, TOUCHED, "a") == first


def test_a_job_that_is_not_so_far_is_named(watch):
    watch.note_all([a_job("a", "Running"), a_job("b", "Pending")])
    with pytest.raises(TimeoutError, match="1 jobs are not Running, such as b"):
        times(watch, "Running", "a", "b")
