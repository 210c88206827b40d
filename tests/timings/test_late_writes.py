"""A write that a new connection holds up until after the lease: none is made then."""

from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler

import pytest

from localcluster import Cluster
from localcluster.machine import clock
from tests.cluster.surroundings.test_new_connections import WAITS, Renewals, leader
from tests.conftest import new_namespace
from tests.live.certificates import write_certificate
from tests.live.lab import PADDLE_JOBS, Lab, paddle_job
from tests.live.proxy import NOT_COUNTED, WRITES, FaultProxy, cut

WRITE_SECONDS = 10.0
"""For so long after its last renewal an operator may write."""
HANDSHAKE_SECONDS = 2.5
"""Less than the 3 s after which no connection counts as made."""
SILENT_SECONDS = 4.0
"""More than the 3 s for which a renewal is waited for. The second one that fails is under way when
the lease ends: began at once, each comes 2 s after the last has failed."""
LATE_SECONDS = 1.0
"""So long the proxy may take to see what was sent; without a gate it sees writes for 2.5 s."""
BEGINS_SECONDS, ENDS_SECONDS = 5.0, 10.5


@pytest.fixture
def lab(unattended: Cluster) -> Iterator[Lab]:
    with new_namespace(unattended) as namespace:
        yield Lab(unattended, namespace)


def test_nothing_is_written_by_a_connection_that_came_about_after_the_lease(lab, tmp_path):
    written: list[float] = []

    def note_and_close(handler: BaseHTTPRequestHandler) -> bool:
        handler.close_connection = True
        if handler.command in WRITES and not any(part in handler.path for part in NOT_COUNTED):
            written.append(renewals.seconds())
        return False

    with (
        closing(FaultProxy(lab.cluster, certificate=write_certificate(tmp_path))) as proxy,
        leader(proxy, lab, tmp_path) as (operator, renewals),
        proxy.rule("", "", note_and_close),
    ):
        lab.wait(lambda: len(proxy.watches()) >= 4, "every watch is open again")
        known = len(renewals.times)
        lab.wait(lambda: len(renewals.times) > known, "the lease is renewed once more")
        written.clear()
        proxy.handshake_seconds = HANDSHAKE_SECONDS
        with proxy.rule("", "/leases/", unanswered):
            submit_until_the_lease_ends(lab, renewals)
            lab.wait(lambda: operator.poll() is not None, "the operator has ended")
    assert max(written, default=0.0) > BEGINS_SECONDS, "it wrote while it might"
    assert max(written) <= WRITE_SECONDS + LATE_SECONDS


def unanswered(handler: BaseHTTPRequestHandler) -> bool:
    """Say nothing until nobody waits any more."""
    clock.sleep(SILENT_SECONDS)
    return cut(handler)


def submit_until_the_lease_ends(lab: Lab, renewals: Renewals) -> None:
    """A job every moment, each of which wants to be written about."""
    clock.sleep(BEGINS_SECONDS - renewals.seconds())
    number = 0
    while renewals.seconds() < ENDS_SECONDS:
        number += 1
        path = f"{PADDLE_JOBS}/namespaces/{lab.namespace}/paddlejobs"
        lab.cluster.client.create(path, paddle_job(f"late-{number}", WAITS))
        clock.sleep(0.2)
