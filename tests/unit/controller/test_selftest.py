"""What `helm test` says: who leads, and what does not work."""

import pytest

from controller.options import parse_options
from controller.selftest import LEASE_WAIT_SECONDS, Failed, checks
from tests.unit.controller.fakes import reply, status

OPTIONS = parse_options(
    ["--namespace=team-a", "--leader-elect", "--leader-election-namespace=ns"], {}
)
JOBS = reply(200, {"items": []})


def lease(holder: str, time: str) -> object:
    return reply(200, {"spec": {"holderIdentity": holder, "renewTime": time}})


def test_who_renews_the_lease_leads(server, client, clock) -> None:
    server.steps = [JOBS, lease("a", "1"), lease("b", "2"), lease("b", "2"), lease("b", "3")]
    assert [*checks(client, OPTIONS, clock)] == [
        "the PaddleJobs of team-a can be read",
        "b leads",
    ]


def test_a_lease_that_nobody_renews_is_not_held(server, client, clock) -> None:
    server.steps = [JOBS, lease("a", "1")]
    with pytest.raises(Failed, match="nobody has renewed the lease ns/paddlejob-operator-team-a"):
        [*checks(client, OPTIONS, clock)]
    assert clock.monotonic() == LEASE_WAIT_SECONDS


def test_a_missing_kind_is_named(server, client, clock) -> None:
    server.steps = [reply(404, status(404, "NotFound", "the server could not find it"))]
    with pytest.raises(Failed, match=r"team-a cannot be read: .*could not find it"):
        [*checks(client, OPTIONS, clock)]
