"""Leader election on a stepped clock: at most one writes, losing ends, releasing hands over."""

import re
import threading

import pytest

from controller.leader import Candidate, LeaderElector
from tests.unit.controller.fakes import SteppedClock, drop, reply, status
from tests.unit.controller.memory_api import MemoryApi

COLLECTION = "/apis/coordination.k8s.io/v1/namespaces/ns/leases"
PATH = f"{COLLECTION}/operator"


@pytest.fixture
def api(server) -> MemoryApi:
    return MemoryApi(server)


@pytest.fixture
def make(client, clock, metrics, log):
    def make(identity: str, own_clock: SteppedClock = clock, on_lost=lambda: None):
        candidate = Candidate("ns", "operator", identity)
        return LeaderElector(client, candidate, own_clock, metrics, log, on_lost)

    return make


def holder(api: MemoryApi) -> str:
    return str(api.objects[PATH]["spec"]["holderIdentity"])


def test_the_first_gets_the_lease(api, make):
    elector = make("a")
    assert elector.write_seconds() == 0
    assert elector._attempt()
    assert holder(api) == "a"
    assert elector.write_seconds() == 10


def test_the_second_waits(api, make):
    make("a")._attempt()
    second = make("b")
    assert not second._attempt()
    assert second.write_seconds() == 0
    assert holder(api) == "a"


def test_a_lease_that_is_renewed_is_never_taken(api, make, clock):
    first, second = make("a"), make("b")
    first._attempt()
    for _ in range(30):
        assert not second._attempt()
        clock.step(2)
        assert first._attempt()


def test_a_lease_that_stands_still_is_taken_before_its_duration_is_over(api, make, clock):
    first, second = make("a"), make("b")
    first._attempt()
    second._attempt()
    clock.step(12.9)
    assert not second._attempt()
    assert second._standby_seconds() == pytest.approx(0.1)
    clock.step(0.1)
    assert second._attempt()
    assert holder(api) == "b"
    assert api.objects[PATH]["spec"]["leaseTransitions"] == 2


def test_two_that_see_it_expire_do_not_both_get_it(api, make, clock):
    api.put(PATH, {"spec": {"holderIdentity": "dead", "leaseDurationSeconds": 15}})
    second, third = make("b"), make("c")
    for elector in (second, third):
        assert not elector._attempt()
        elector._read()
    clock.step(16)
    third._read = lambda: None  # it read before the other wrote
    assert second._attempt()
    assert not third._attempt()
    assert holder(api) == "b"


def test_the_write_gate_closes_before_another_may_lead(api, make, clock):
    first, second = make("a"), make("b")
    first._attempt()
    second._attempt()
    while first.write_seconds() > 0:
        assert not second._attempt()
        clock.step(0.5)
    assert not second._attempt()


def test_a_renewal_counts_from_when_it_was_sent(api, make, clock):
    elector = make("a")

    def slow(_method, _path):
        clock.step(3)

    api.fault = slow
    elector._attempt()
    assert elector.write_seconds() <= 7


def test_a_wrong_wall_clock_changes_nothing(api, make, clock):
    """The holder's timestamps are from the past; only that they change counts."""
    api.put(
        PATH,
        {
            "spec": {
                "holderIdentity": "a",
                "leaseDurationSeconds": 15,
                "renewTime": "1990-01-01T00:00:00.000000Z",
            }
        },
    )
    second = make("b")
    assert not second._attempt()
    clock.step(12)
    assert not second._attempt()


def test_times_have_six_digits(api, make):
    make("a")._attempt()
    spec = api.objects[PATH]["spec"]
    for field in ("acquireTime", "renewTime"):
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", spec[field])


def test_fields_that_others_wrote_stay(api, make):
    api.put(PATH, {"spec": {"holderIdentity": "", "strategy": "x"}, "metadata": {"labels": {}}})
    make("a")._attempt()
    assert api.objects[PATH]["spec"]["strategy"] == "x"
    assert api.objects[PATH]["metadata"]["labels"] == {}


FAULTS = {
    "connection dropped": drop,
    "server error": reply(500, status(500, "InternalError")),
    "forbidden": reply(403, status(403, "Forbidden")),
    "throttled": reply(429, status(429, "TooManyRequests"), Retry_After="3600"),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_a_leader_that_cannot_renew_ends_at_the_deadline(api, make, clock, fault):
    lost = threading.Event()
    elector = make("a", on_lost=lost.set)

    def fail_once_leading(_method, _path):
        return fault if elector.acquired.is_set() else None

    api.fault = fail_once_leading
    elector.run()
    assert lost.is_set()
    assert 10 <= clock.monotonic() <= 12
    assert elector.write_seconds() == 0


def test_a_leader_whose_lease_was_taken_ends_at_once(api, make, clock):
    lost = threading.Event()
    elector = make("a", on_lost=lost.set)

    def take_once_leading(method, _path):
        if elector.acquired.is_set() and method == "PUT" and holder(api) == "a":
            api.put(PATH, {"spec": {"holderIdentity": "b", "leaseDurationSeconds": 15}})

    api.fault = take_once_leading
    elector.run()
    assert lost.is_set()
    assert holder(api) == "b"
    assert clock.monotonic() < 10


def test_one_failed_renewal_is_survived(api, make, clock):
    elector = make("a", on_lost=lambda: pytest.fail("lost"))
    elector._attempt()
    clock.step(2)
    api.fault = lambda _method, _path: drop
    assert not elector._attempt()
    api.fault = lambda _method, _path: None
    clock.step(2)
    assert elector._attempt()
    assert elector.write_seconds() == 10


def test_a_stop_releases_and_the_next_leads_at_once(api, make):
    first, second = make("a"), make("b")
    first._attempt()
    assert not second._attempt()
    first.stop()
    first._release()
    assert holder(api) == ""
    assert first.write_seconds() == 0
    assert second._attempt()


def test_a_standby_that_is_stopped_leaves_the_lease_alone(api, make):
    make("a")._attempt()
    standby = make("b")
    standby.stop()
    standby.run()
    assert holder(api) == "a"


def test_the_metric_tells_who_leads(api, make, metrics):
    line = 'leader_election_master_status{name="operator"}'
    elector = make("a")
    assert f"{line} 0.0" in metrics.exposition("")[0].decode()
    elector.stop()
    elector._attempt()
    api.fault = lambda _m, _p: None
    elector._metrics.set_leader("operator", True)
    assert f"{line} 1.0" in metrics.exposition("")[0].decode()
    elector._release()
    assert f"{line} 0.0" in metrics.exposition("")[0].decode()
