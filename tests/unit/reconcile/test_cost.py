"""A pass costs what it may write, not what is missing."""

import time
from collections.abc import Callable

import pytest

from api.constants import MAX_REPLICAS, Role
from controller.work.applier import MAX_CREATES
from reconcile.build.rendezvous import build_config_map, moved_pods
from reconcile.model.pause import FIRST_PAUSE_SECONDS
from reconcile.model.plan import Plan
from reconcile.reconcile import reconcile
from tests.memory.builders import a_job, a_pod, view_of
from tests.memory.world import World

PART = 1 / 2
"""Of what it takes to build the manifests: usually a tenth, and more than all if it builds them."""
TENTH = 10
"""Every tenth is built, and the time for all follows."""
MANY = 2000
"""With so many pods, a list that is read anew for each takes longer than all the rest."""


@pytest.mark.parametrize(
    "spec", [{}, {"intranet": "Service"}, {"elastic": 1}], ids=["PodIP", "Service", "elastic"]
)
def test_a_pass_over_ten_thousand_refused_pods_is_short(spec):
    world = World()
    job = a_job().with_workers(MAX_REPLICAS).build()
    job["spec"] |= spec
    world.submit(job)
    world.refused_kinds = {"Pod", "Service"}
    world.work()
    world.advance(FIRST_PAUSE_SECONDS)
    observed = world.observe()
    assert observed.refusals

    def decide() -> Plan:
        return reconcile(observed, world.now, world.settings)

    creates = [create for group in decide().creates for create in group]
    pods = sum(create.kind == "Pod" for create in creates)
    assert MAX_CREATES < pods < MAX_REPLICAS / 5, (
        "a plan lists what a pass sends, and a little more"
    )
    built = creates[::TENTH]
    building = _seconds(lambda: [create.build() for create in built]) * MAX_REPLICAS / len(built)
    assert min(_seconds(decide) for _ in range(5)) < building * PART


def test_addresses_of_thousands_are_compared_in_less_time_than_their_pods_are_read():
    job = a_job().with_workers(MANY).build()
    pods = [a_pod(job, Role.WORKER, index).running().build() for index in range(MANY)]
    config_map = build_config_map(view_of(job, *pods))

    def compare() -> tuple[float, float]:
        view = view_of(job, *pods, config_maps=(config_map,))
        return _seconds(lambda: view.pods), _seconds(lambda: moved_pods(view))

    reading, comparing = map(min, zip(*(compare() for _ in range(5)), strict=True))
    assert comparing < reading


def _seconds(do: Callable[[], object]) -> float:
    """The CPU time that it takes."""
    start = time.process_time()
    do()
    return time.process_time() - start
