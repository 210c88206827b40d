"""Port ranges of jobs on their hosts: no two jobs are given the same."""

from typing import Any

import pytest

from api.objects import Raw
from api.ownership import Key
from controller.cache.store import Store
from controller.client.resources import PADDLE_JOB
from controller.work.ports import PortRanges
from reconcile.model.plan import Observed, Plan
from tests.unit.controller.stored import a_job, put

ON_HOST = {"spec": {"intranet": "Host"}}


class Ranges:
    """The ranges of one process, and what a decision sees of them."""

    def __init__(self) -> None:
        self.store = Store((PADDLE_JOB,))
        self.ranges = PortRanges(self.store)

    def look(self, job: Raw, *given: int) -> Observed:
        """What a pass over the job sees, which gives it these ranges."""
        seen: list[Observed] = []

        def decide(observed: Observed) -> Plan:
            seen.append(observed)
            ports = {f"pod-{port}": port for port in given}
            return Plan(status={"status": {"hostPorts": ports}})

        self.ranges.decide(Observed(job), decide)
        return seen[0]


@pytest.fixture
def ranges() -> Ranges:
    return Ranges()


def test_ports_of_other_jobs_are_shown_to_a_job_on_the_host(ranges: Ranges) -> None:
    other = ON_HOST | {"status": {"hostPorts": {"other-worker-0": 30020}}}
    put(ranges.store, PADDLE_JOB, a_job("other", uid="job-2") | other)
    assert ranges.look(a_job()).taken_host_ports == frozenset()
    own: dict[str, Any] = ON_HOST | {"status": {"hostPorts": {"train-worker-0": 30000}}}
    put(ranges.store, PADDLE_JOB, a_job(version=3) | own)
    assert ranges.look(a_job(version=3) | own).taken_host_ports == {30020}


def test_ports_that_the_store_does_not_show_yet_are_taken(ranges: Ranges) -> None:
    train, other = a_job() | ON_HOST, a_job("other", uid="job-2") | ON_HOST
    for job in (train, other):
        put(ranges.store, PADDLE_JOB, job)
    ranges.look(other, 30020, 30040)
    seen = ranges.look(train)
    assert (seen.taken_host_ports, seen.namespace_host_ports) == (frozenset({30020, 30040}), 2)
    ranges.look(other)
    assert ranges.look(train).taken_host_ports == frozenset()
    ranges.look(other, 30020)
    ranges.ranges.forget(Key("ns", "other"))
    assert ranges.look(train).taken_host_ports == frozenset()


def test_ports_are_counted_by_namespace(ranges: Ranges) -> None:
    for namespace, name, port in (("ns", "near", 30020), ("far", "other", 30040)):
        job = a_job(name, uid=f"uid-of-{name}") | {"status": {"hostPorts": {"worker-0": port}}}
        job["metadata"]["namespace"] = namespace
        put(ranges.store, PADDLE_JOB, job)
    seen = ranges.look(a_job() | ON_HOST)
    assert (seen.taken_host_ports, seen.namespace_host_ports) == (frozenset({30020, 30040}), 1)


def test_hostnetwork_in_a_template_shows_others_ports_too(ranges: Ranges) -> None:
    other = ON_HOST | {"status": {"hostPorts": {"other-worker-0": 30020}}}
    put(ranges.store, PADDLE_JOB, a_job("other", uid="job-2") | other)
    template = {"template": {"spec": {"hostNetwork": True}}}
    assert ranges.look(a_job() | {"spec": {"worker": template}}).taken_host_ports == {30020}
