"""Requests of the operator are told from those of everyone else."""

from collections import Counter

import pytest

from benchmarks.counters import operator_writes, parse_counts

EXPOSITION = """\
# TYPE apiserver_request_total counter
apiserver_request_total{code="201",component="apiserver",dry_run="",group="",resource="pods",\
scope="resource",subresource="",verb="POST",version="v1"} 4
apiserver_request_total{code="409",component="apiserver",dry_run="",group="",resource="pods",\
scope="resource",subresource="",verb="POST",version="v1"} 1e+00
apiserver_request_total{code="200",component="apiserver",dry_run="",group="g",resource="jobs",\
scope="resource",subresource="status",verb="PATCH",version="v1"} 2
apiserver_request_duration_seconds_count{verb="POST",resource="pods"} 9
"""


def test_counts_are_summed_over_answers():
    assert parse_counts(EXPOSITION) == {"POST pods": 5, "PATCH jobs/status.g": 2}


@pytest.mark.parametrize(
    ("request_", "is_operators"),
    [
        pytest.param("POST pods", True, id="creates a pod"),
        pytest.param("POST events", True, id="tells an Event"),
        pytest.param("PATCH paddlejobs/status.g", True, id="writes a status"),
        pytest.param("POST paddlejobs.g", False, id="a user creates a job"),
        pytest.param("GET pods", False, id="a read"),
        pytest.param("POST pods/binding", False, id="the scheduler binds"),
        pytest.param("PATCH events.events.k8s.io", False, id="the scheduler tells an Event"),
        pytest.param("PATCH pods/status", False, id="a node reports"),
        pytest.param("PATCH nodes/status", False, id="a node is well"),
        pytest.param("PUT leases.coordination.k8s.io", False, id="a lease is renewed"),
    ],
)
def test_writes_of_the_operator(request_, is_operators):
    assert operator_writes(Counter({request_: 3}), "paddlejobs.g") == (3 if is_operators else 0)
