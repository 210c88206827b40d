"""A pass costs what it may write, not what is missing."""

import pytest

from api.constants import MAX_REPLICAS
from controller.work.applier import MAX_CREATES
from reconcile.children import children
from reconcile.model.pause import FIRST_PAUSE_SECONDS
from reconcile.reconcile import reconcile
from tests.memory.builders import a_job
from tests.memory.world import World


@pytest.mark.parametrize(
    "spec", [{}, {"intranet": "Service"}, {"elastic": 1}], ids=["PodIP", "Service", "elastic"]
)
def test_a_pass_over_ten_thousand_refused_pods_builds_no_manifest(spec, mocker):
    world = World()
    job = a_job().with_workers(MAX_REPLICAS).build()
    job["spec"] |= spec
    world.submit(job)
    world.refused_kinds = {"Pod", "Service"}
    world.work()
    world.advance(FIRST_PAUSE_SECONDS)
    observed = world.observe()
    assert observed.refusals
    builds = mocker.spy(children, "build_pod")
    creates = [
        create
        for group in reconcile(observed, world.now, world.settings).creates
        for create in group
    ]
    assert builds.call_count == 0
    pods = [create for create in creates if create.kind == "Pod"]
    assert MAX_CREATES < len(pods) < MAX_REPLICAS / 5, (
        "a plan lists what a pass sends, and a little more"
    )
    pods[0].build()
    assert builds.call_count == 1
