"""Requests of the operator are told from those of everyone else."""

from collections import Counter

import pytest

from benchmarks.counters import Request, operator_writes, parse_counts, since

EXPOSITION = """\
# TYPE apiserver_request_total counter
apiserver_request_total{code="201",component="apiserver",dry_run="",group="",resource="pods",\
scope="resource",subresource="",verb="POST",version="v1"} 4
apiserver_request_total{code="409",component="apiserver",dry_run="",group="",resource="pods",\
scope="resource",subresource="",verb="POST",version="v1"} 1e+00
apiserver_request_duration_seconds_count{verb="POST",resource="pods"} 9
"""
JOBS = ["paddlejobs"]


def test_counts_are_summed_over_answers() -> None:
    assert parse_counts(EXPOSITION) == {Request("POST", "", "pods", ""): 5}


def test_only_increases_count() -> None:
    pods, services = Request("POST", "", "pods", ""), Request("POST", "", "services", "")
    before = parse_counts(EXPOSITION)
    assert not since(before, before)
    after = before + Counter({pods: 2, services: 1})
    assert since(before, after) == {pods: 2, services: 1}


@pytest.mark.parametrize(
    ("request_", "is_operators"),
    [
        pytest.param(Request("POST", "", "pods", ""), True, id="creates a pod"),
        pytest.param(Request("POST", "", "events", ""), True, id="tells an Event"),
        pytest.param(Request("PATCH", "g", "paddlejobs", "status"), True, id="writes a status"),
        pytest.param(Request("POST", "g", "paddlejobs", ""), False, id="a user creates a job"),
        pytest.param(Request("GET", "", "pods", ""), False, id="a read"),
        pytest.param(Request("POST", "", "pods", "binding"), False, id="the scheduler binds"),
        pytest.param(Request("PATCH", "", "pods", "status"), False, id="a node reports"),
        pytest.param(
            Request("PUT", "coordination.k8s.io", "leases", ""), False, id="a lease is renewed"
        ),
    ],
)
def test_writes_of_the_operator(request_: Request, is_operators: bool) -> None:
    counts = parse_counts("")
    counts[request_] = 3
    assert operator_writes(counts, JOBS).total() == (3 if is_operators else 0)
