"""Kueue beside a real node: how soon the quota of a preempted job is free."""

import contextlib
import time
from collections.abc import Iterator

import pytest

from localcluster import Cluster
from tests.e2e.jobs import SLEEP, template
from tests.live.kueue import (
    NAME,
    VERSION,
    Kueue,
    condition,
    flavor,
    has_quota,
    needs_kueue,
    queue,
    queued,
    submit,
)
from tests.live.lab import Lab
from tests.live.operated import grant_queues, with_flag

pytestmark = [needs_kueue]
TRIALS, PODS = 3, 4
FREE_SECONDS = 6.0
"""From preemption until Kueue may give the quota away; the pods end as soon as they are told."""


@pytest.fixture
def queues(operated: Cluster) -> Iterator[None]:
    """Kueue, and its flag for the operator while the test runs."""
    grant_queues(operated)
    with contextlib.closing(Kueue(operated)) as kueue:
        kueue.install()
        kueue.start()
        with with_flag(operated, "--kueue"):
            yield
        operated.stop(NAME)


@pytest.mark.usefixtures("queues")
def test_quota_of_a_preempted_job_is_free_in_time(lab: Lab, record_property) -> None:
    high = {"apiVersion": VERSION, "kind": "WorkloadPriorityClass", "metadata": {"name": "high"}}
    preemption = {"withinClusterQueue": "LowerPriority"}
    quota = queue(lab, "prio", f"{PODS * 50}m", preemption=preemption)
    submit(lab, flavor(), high | {"value": 1000}, *quota)
    pods = template(SLEEP, resources={"requests": {"cpu": "50m"}})
    submit(lab, queued("low", "prio", PODS, template=pods))
    gone, free = [], []
    for _ in range(TRIALS):
        lab.wait_phase("low", "Running")
        submit(lab, queued("high", "prio", PODS, template=pods, priority="high"))
        lab.wait(lambda: condition(lab, "low", "Evicted").get("status") == "True", "it is evicted")
        began = time.monotonic()
        lab.wait(lambda: not lab.pods("low"), "its pods are gone")
        gone.append(time.monotonic() - began)
        lab.wait(lambda: not has_quota(lab, "low"), "its quota is free")
        free.append(time.monotonic() - began)
        lab.wait_phase("high", "Running")
        lab.kubectl("delete", "pdj", "high")
    record_property("seconds from preemption until no pod is left", [round(s, 2) for s in gone])
    record_property("until the quota is free", [round(s, 2) for s in free])
    assert max(free) <= FREE_SECONDS
