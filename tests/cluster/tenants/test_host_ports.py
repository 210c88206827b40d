"""A tenant whose pods are refused holds no port ranges, and never more than a part of them."""

from collections.abc import Callable, Iterator
from functools import partial

import pytest

from localcluster import Cluster
from tests.conftest import new_namespace
from tests.live.faulty import impose, restrict
from tests.live.lab import Lab, paddle_job, shell
from tests.live.tenant import Tenant

ALL_RANGES = 1550
RANGES_OF_A_NAMESPACE = 387
GREEDY = ("greedy-0", "greedy-1", "greedy-2", "greedy-3")
REFUSALS: dict[str, Callable[[Lab], None]] = {
    "quota": partial(impose, name="none", pods=0),
    "pod security": restrict,
}


@pytest.fixture(params=REFUSALS)
def tenant(operated: Cluster, request: pytest.FixtureRequest) -> Iterator[Tenant]:
    """Somebody in a namespace in which no pod on the host's network may be created."""
    with new_namespace(operated) as namespace:
        REFUSALS[request.param](Lab(operated, namespace))
        yield Tenant(operated, namespace)


def test_a_neighbour_gets_ports_beside_jobs_that_want_all(tenant: Tenant, lab: Lab) -> None:
    """Four jobs ask for what a namespace may hold, at once, and one for all that there is."""
    greedy = Lab(tenant.cluster, tenant.namespace)
    wide = paddle_job("wide", on_host(ALL_RANGES), intranet="Host")
    tenant.submit(wide, *(a_greedy_job(name) for name in GREEDY))
    for name in ("wide", *GREEDY):
        greedy.wait(lambda n=name: greedy.condition(n, "Pending").get("message"), f"{name} waits")
    lab.submit(paddle_job("calm", on_host(2), intranet="Host"))
    lab.wait(lambda: len(lab.status("calm").get("hostPorts") or ()) == 2, "ports")
    lab.wait(lambda: len(lab.pods("calm")) == 2, "pods")
    for name in ("wide", *GREEDY):
        greedy.wait(lambda n=name: "hostPorts" not in greedy.status(n), f"{name} holds none")
    assert "--host-port-share" in greedy.condition("wide", "Pending")["message"]


def a_greedy_job(name: str) -> dict:
    return paddle_job(name, on_host(RANGES_OF_A_NAMESPACE), intranet="Host")


def on_host(workers: int) -> dict:
    return {"worker": (workers, shell("exec sleep 3600"))}
