"""Leader election as time passes: at most one writes, losing ends, releasing hands over."""

import threading
from collections.abc import Callable, Iterator

import pytest

from api.constants import OPERATOR_LABELS
from controller.leader import Candidate, LeaderElector
from tests.live import patience
from tests.unit.controller.fakes import SteppedClock, drop, ended, reply, status
from tests.unit.controller.memory_api import MemoryApi
from tests.unit.controller.stored import LEASE_SECONDS, a_lease

PATH = "/apis/coordination.k8s.io/v1/namespaces/ns/leases/operator"


class Timetable(SteppedClock):
    """A clock for several threads, of which one runs at a time; it stands still but for the test.

    A thread runs until it waits. `let_pass` wakes each when it is due, in their order.
    """

    def __init__(self) -> None:
        super().__init__()
        self._changed = threading.Condition()
        """Guards what follows."""
        self._due: dict[str, float] = {}
        self.running = ""
        """The name of the thread whose turn it is."""

    def wait(self, event: threading.Event, seconds: float) -> bool:
        with self._changed:
            me, self.running = self.running, ""
            self._due[me] = self.monotonic() + seconds
            self._changed.notify_all()
            self._changed.wait_for(lambda: self.running == me, patience.SECONDS)
        return event.is_set()

    def start(self, name: str, run: Callable[[], None]) -> None:
        """Have a thread run until it waits."""
        self._give_turn(name, threading.Thread(target=self._run, args=(run,), name=name).start)

    def let_pass(self, seconds: float) -> None:
        """Wake who is due meanwhile."""
        until = self.monotonic() + seconds
        while due := [name for name, at in self._due.items() if at <= until]:
            name = min(due, key=lambda name: self._due[name])
            self.step(max(0.0, self._due.pop(name) - self.monotonic()))
            self._give_turn(name)
        self.step(max(0.0, until - self.monotonic()))

    def _run(self, run: Callable[[], None]) -> None:
        try:
            run()
        finally:
            with self._changed:
                self.running = ""
                self._changed.notify_all()

    def _give_turn(self, name: str, start: Callable[[], None] = lambda: None) -> None:
        with self._changed:
            self.running = name
            self._changed.notify_all()
            start()
            assert self._changed.wait_for(lambda: not self.running, patience.SECONDS)


class Candidacy:
    """An elector in its thread."""

    def __init__(self, client, identity: str, time: Timetable, metrics, log) -> None:
        self.lost_at: float | None = None
        self._time = time
        candidate = Candidate("ns", "operator", identity)
        self.elector = LeaderElector(client, candidate, time, metrics, log, self._lose)

    def _lose(self) -> None:
        self.lost_at = self._time.monotonic()

    @property
    def leads(self) -> bool:
        return self.elector.acquired.is_set()

    @property
    def may_write(self) -> bool:
        return self.elector.write_seconds() > 0


@pytest.fixture
def time() -> Timetable:
    return Timetable()


@pytest.fixture
def start(client, time, metrics, log) -> Iterator[Callable[[str], Candidacy]]:
    def start(identity: str) -> Candidacy:
        candidacy = Candidacy(client, identity, time, metrics, log)
        time.start(identity, candidacy.elector.run)
        return candidacy

    with ended(start, lambda each: each.elector.stop()) as start_and_stop:
        yield start_and_stop
    time.let_pass(LEASE_SECONDS)


def lease(api: MemoryApi) -> dict:
    return api.objects[PATH]["spec"]


def holder(api: MemoryApi) -> str:
    return str(lease(api)["holderIdentity"])


# Getting the lease


TAKES = {"at once": (0, True, 10), "a while": (3, True, 7), "too long": (11, False, 0)}


@pytest.mark.parametrize(("seconds", "leads", "left"), TAKES.values(), ids=TAKES)
def test_the_first_gets_the_lease_from_when_it_asked(api, start, time, seconds, leads, left):
    api.fault = lambda method, _: time.step(seconds) if method == "POST" else None
    first = start("a")
    assert (first.leads, max(0, first.elector.write_seconds()), holder(api)) == (leads, left, "a")
    assert lease(api)["acquireTime"].endswith(".000000Z"), "Go wants six digits"


LEASES = {
    "usual": ({"leaseTransitions": 4}, 12.9, 13.1, 5),
    "renewed by a wrong wall clock": ({"renewTime": "1990-01-01T00:00:00.000000Z"}, 12.9, 13.1, 1),
    "of a day": ({"leaseDurationSeconds": 86_400}, 57, 60, 1),
    "handed over too often to count": ({"leaseTransitions": 2**31 - 1}, 12.9, 13.1, 2**31 - 1),
}


@pytest.mark.parametrize(("spec", "not_at", "at", "transitions"), LEASES.values(), ids=LEASES)
def test_a_lease_that_stands_still_is_taken_before_its_duration_is_over(
    api, start, time, spec, not_at, at, transitions
):
    """Only that it changes counts; and it lasts for a minute at most, whatever its holder wrote."""
    api.put(PATH, a_lease("dead", **spec))
    standby = start("a")
    time.let_pass(not_at)
    assert not standby.leads
    time.let_pass(at - not_at)
    assert (standby.leads, holder(api)) == (True, "a")
    assert lease(api)["leaseDurationSeconds"] == LEASE_SECONDS
    assert lease(api)["leaseTransitions"] == transitions


def test_nobody_leads_where_a_silent_holders_lease_cannot_be_taken(api, start, time):
    api.put(PATH, a_lease("dead"))
    forbidden = reply(403, status(403, "Forbidden"))
    api.fault = lambda method, _path: forbidden if method == "PUT" else None
    standby = start("a")
    time.let_pass(20)
    assert standby.elector.is_led
    time.let_pass(10)
    assert not standby.elector.is_led


def test_a_request_that_fails_does_not_put_off_the_take_over(api, start, time):
    """The node that dies may take one of the API servers with it."""
    api.put(PATH, a_lease("dead"))
    standby = start("b")
    for seconds, answer in ((8, None), (2, drop), (4, None)):
        api.fault = lambda *_, answer=answer: answer
        assert not standby.may_write
        time.let_pass(seconds)
    assert standby.leads


def test_a_lease_that_is_renewed_is_never_taken(api, start, time):
    first, second = start("a"), start("b")
    time.let_pass(60)
    assert (first.may_write, second.may_write, holder(api)) == (True, False, "a")
    assert second.elector.is_led


def test_who_reads_before_another_writes_does_not_get_it(api, start, time):
    api.put(PATH, a_lease("dead"))
    second = start("b")

    def write_first(method, _path):
        if method == "PUT" and holder(api) == "dead":
            api.put(PATH, a_lease("c"))

    api.fault = write_first
    time.let_pass(LEASE_SECONDS)
    assert (second.leads, holder(api)) == (False, "c")


def test_fields_that_others_wrote_stay(api, start):
    api.put(PATH, a_lease("", strategy="x") | {"metadata": {"labels": {"own": "label"}}})
    start("a")
    assert lease(api)["strategy"] == "x"
    assert api.objects[PATH]["metadata"]["labels"] == {"own": "label", **OPERATOR_LABELS}


# Keeping it, and losing it


def test_one_failed_renewal_is_survived(api, start, time):
    first = start("a")
    for seconds, answer in ((3, drop), (20, None)):
        api.fault = lambda *_, answer=answer: answer
        time.let_pass(seconds)
    assert (first.lost_at, first.may_write, holder(api)) == (None, True, "a")


def test_writes_end_before_another_may_lead(api, start, time):
    first, second = start("a"), start("b")
    api.fault = lambda *_: drop if time.running == "a" else None
    writers = []
    for _ in range(40):
        time.let_pass(0.5)
        writers.append((first.may_write, second.may_write))
    assert (True, True) not in writers
    assert writers[-1] == (False, True)


FAULTS = {
    "connection dropped": drop,
    "server error": reply(500, status(500, "InternalError")),
    "forbidden": reply(403, status(403, "Forbidden")),
    "throttled": reply(429, status(429, "TooManyRequests"), Retry_After="3600"),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_a_leader_that_cannot_renew_ends_at_the_deadline(api, start, time, fault):
    first = start("a")

    def fail_slowly(_method, _path):
        time.step(0.4)  # so that no renewal falls on the deadline by itself
        return fault

    api.fault = fail_slowly
    time.let_pass(LEASE_SECONDS)
    assert (first.lost_at, first.may_write) == (pytest.approx(10), False)


def test_a_leader_whose_lease_was_taken_ends_at_once(api, start, time):
    first = start("a")
    api.put(PATH, a_lease("b"))
    time.let_pass(4)
    assert (first.lost_at, holder(api)) == (4, "b")


# A renewal that would succeed after writes had to stop


NEAR_MISSES = {"answered too late": (9.0, 3.0), "to be sent too late": (9.5, 0.0)}


@pytest.mark.parametrize(("ends_at", "late"), NEAR_MISSES.values(), ids=NEAR_MISSES)
def test_a_leader_whose_writes_have_stopped_ends_and_renews_no_more(
    api, start, time, ends_at, late
):
    """Requests are cut for a while; then they succeed, and renewals are answered late."""
    leader = start("a")
    sent_at: list[float] = []
    may_write: list[bool] = []

    def cut_then_answer_late(method, _path):
        sent_at.append(time.monotonic())
        may_write.append(leader.may_write)
        is_cut = time.monotonic() < ends_at
        time.step(0.4 if is_cut else late if method == "PUT" else 0.0)
        may_write.append(leader.may_write)
        return drop if is_cut else None

    api.fault = cut_then_answer_late
    time.let_pass(30)
    assert leader.lost_at
    assert may_write == sorted(may_write, reverse=True)
    assert max(sent_at) < 10


# The end


def test_a_leader_that_is_stopped_releases_the_lease_and_the_next_leads_at_once(api, start, time):
    first, second = start("a"), start("b")
    first.elector.stop()
    time.let_pass(2 + 1.2)
    assert (first.may_write, first.lost_at, second.leads, holder(api)) == (False, None, True, "b")


@pytest.mark.parametrize("is_late_renewal", [False, True], ids=["no answer", "conflict"])
def test_a_release_that_fails_is_tried_again(api, start, time, is_late_renewal):
    first = start("a")
    failed: list[str] = []

    def fail_once(method, path):
        if method != "PUT" or failed:
            return None
        failed.append(path)
        if is_late_renewal:
            api.put(PATH, a_lease("a"))
        return None if is_late_renewal else drop

    api.fault = fail_once
    first.elector.stop()
    time.let_pass(3)
    assert (failed, holder(api)) == ([PATH], "")


def test_a_release_that_never_succeeds_ends(api, start, time):
    first = start("a")
    sent_at: list[float] = []

    def refuse(*_):
        sent_at.append(time.monotonic())
        return drop

    api.fault = refuse
    first.elector.stop()
    time.let_pass(60)
    assert max(sent_at) < 10


@pytest.mark.parametrize("has_led", [True, False], ids=["was the leader", "a standby"])
def test_a_lease_of_another_is_not_released(api, start, time, has_led):
    api.put(PATH, a_lease("" if has_led else "b"))
    stopped = start("a")
    assert stopped.leads == has_led
    api.put(PATH, a_lease("b"))
    stopped.elector.stop()
    time.let_pass(60)
    assert holder(api) == "b"


def test_lease_that_was_taken_without_an_answer_is_released_on_a_stop(api, start, time):
    api.put(PATH, a_lease(""))

    def lose_answer(method, _path):
        if method == "PUT":
            api.put(PATH, a_lease("a"))
            return drop
        return None

    api.fault = lose_answer
    first = start("a")
    assert (holder(api), first.leads) == ("a", False)
    api.fault = lambda *_: None
    first.elector.stop()
    time.let_pass(2)
    assert (holder(api), first.leads) == ("", False)


@pytest.mark.parametrize(
    ("there", "stops", "shown"),
    [("", False, 1.0), ("another", False, 0.0), ("", True, 0.0)],
    ids=["leader", "standby", "stopped"],
)
def test_the_metric_tells_who_leads(api, start, time, metrics, there, stops, shown):
    api.put(PATH, a_lease(there))
    candidacy = start("a")
    if stops:
        candidacy.elector.stop()
    time.let_pass(2)
    line = f'leader_election_master_status{{name="operator"}} {shown}'
    assert line in metrics.exposition("")[0].decode()
