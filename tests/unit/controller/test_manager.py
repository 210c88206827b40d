"""The whole operator on an API server in memory: how it starts, when it may write, how it ends."""

import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler

import pytest
from kubernetes.client import Configuration

from api.objects import name_of
from controller.cache.reflector import Reflector
from controller.client.connection import Credentials, build_connection
from controller.leader import LeaderElector
from controller.manager import (
    DRAIN_SECONDS,
    EVENTS_SECONDS,
    EXIT_FAILED,
    JOIN_SECONDS,
    SYNC_SECONDS,
    Foundation,
    Manager,
)
from controller.options import parse_options
from controller.threads import Threads
from controller.work.events import EventRecorder
from kube.clock import Clock
from metrics import Metrics
from reconcile.model.plan import Plan
from reconcile.reconcile import reconcile
from tests.live import patience
from tests.live.processes import http_get
from tests.memory.builders import a_job, a_pod
from tests.unit.controller.fakes import Step, ended, eventually, reply, status
from tests.unit.controller.memory_api import MemoryApi
from tests.unit.controller.stored import a_lease

CORE = "/api/v1/namespaces/default"
JOBS = "/apis/batch.paddlepaddle.org/v1/namespaces/default/paddlejobs"
PODS = f"{CORE}/pods"
CONFIG_MAPS = f"{CORE}/configmaps"
POD_GROUPS = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/default/leases/paddlejob-operator-default"
ADDRESS = "127.0.0.1:0"
FLAGS = (
    "--namespace=default",
    "--workers=2",
    f"--health-probe-bind-address={ADDRESS}",
    f"--metrics-bind-address={ADDRESS}",
)
NO_ERROR = 'controller_runtime_reconcile_total{controller="paddlejob",result="error"} 0.0'
ELECTED = ("--leader-elect", "--leader-election-namespace=default")


class Operator:
    """A manager that runs in a thread; instead of ending the process it notes that it would."""

    def __init__(
        self, url: str, log, *flags: str, clock: Clock | None = None, decide=reconcile
    ) -> None:
        clock = clock or Clock()
        self.is_dead = threading.Event()
        connection = build_connection(
            Configuration(host=url), Credentials(lambda: None, 60.0, clock)
        )
        options = parse_options([*FLAGS, *flags], {})
        foundation = Foundation(options, connection, clock, log, Metrics())
        self.manager = Manager(foundation, decide, self.is_dead.set)
        self.exit_code: int | None = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        self.exit_code = self.manager.run()

    def ask(self, path: str) -> tuple[int, str]:
        """Status and text that its one server answers."""
        (port,) = (server.port for server in self.manager._servers)
        return http_get(f"http://127.0.0.1:{port}{path}")

    def is_ready(self) -> bool:
        return self.ask("/readyz")[0] == 200

    def is_serving(self) -> bool:
        try:
            self.ask("/healthz")
        except OSError:
            return False
        return True

    def wait(self) -> int | None:
        """Its exit code, once it has ended."""
        self._thread.join(patience.SECONDS)
        return self.exit_code

    def stop(self) -> int | None:
        self.manager.stop()
        return self.wait()


class Hold:
    """Keeps the answer to some requests back until it is let go."""

    def __init__(self, api: MemoryApi, method: str, collection: str) -> None:
        self._api, self._method, self._collection = api, method, collection
        self._is_over = threading.Event()
        self.has_caught = threading.Event()
        api.fault = self

    def __call__(self, method: str, path: str) -> Step | None:
        is_meant = (method, path) == (self._method, self._collection)
        return self._answer_later if is_meant and not self._is_over.is_set() else None

    def _answer_later(self, handler: BaseHTTPRequestHandler) -> None:
        self.has_caught.set()
        self._is_over.wait(patience.SECONDS)
        self._api(handler)

    def let_go(self) -> None:
        self._is_over.set()


@pytest.fixture(autouse=True)
def short_periods(monkeypatch) -> None:
    """The lease is asked for and renewed often, so that no test waits for that."""
    for name in ("STANDBY_PERIOD_SECONDS", "RENEW_PERIOD_SECONDS"):
        monkeypatch.setattr(sys.modules[LeaderElector.__module__], name, 0.1)


@pytest.fixture
def api(api) -> MemoryApi:
    api.put(f"{JOBS}/train", a_job().with_workers(1).build())
    return api


@pytest.fixture
def start(api, server, log) -> Iterator[Callable[..., Operator]]:
    with ended(partial(Operator, server.url, log), Operator.stop) as start:
        yield start
        server.released.set()
        api.fault = lambda *_: None


@pytest.fixture
def hold(api, start) -> Iterator[Callable[[str, str], Hold]]:
    """Lets go before the operators are stopped."""
    with ended(partial(Hold, api), Hold.let_go) as hold:
        yield hold


def pods(api: MemoryApi) -> list[str]:
    return [path.rpartition("/")[2] for path in list(api.objects) if path.startswith(f"{PODS}/")]


def have_pods(api: MemoryApi) -> bool:
    return pods(api) == ["train-worker-0"]


def holder(api: MemoryApi) -> str:
    return str(api.objects[LEASE]["spec"]["holderIdentity"])


# The training's progress


@pytest.mark.parametrize("flags", [(), ("--progress",)], ids=["off", "on"])
def test_logs_are_read_with_the_flag_alone(api, start, server, flags):
    job = a_job().with_workers(1).with_status(phase="Running", attempt=1).build()
    job = api.put(f"{JOBS}/train", job)
    api.put(f"{PODS}/train-worker-0", a_pod(job).bound().running().build())
    log = reply(200, b"2026-01-02T03:04:05.000000001Z iter: 500/1000, loss: 0.5\n")
    api.fault = lambda _, path: log if path.endswith("/log") else None
    operator = start(*flags)

    def written() -> dict:
        return api.objects[f"{JOBS}/train"].get("status", {})

    eventually(lambda: ("progress" if flags else "conditions") in written())
    operator.stop()
    assert any("/log?" in seen.path for seen in server.seen) == bool(flags)


# The start


def test_jobs_that_have_ended_do_not_hold_up_the_others_at_the_start(api, start, monkeypatch):
    monkeypatch.setattr("random.uniform", lambda _, most: most)
    over = a_job("over", "over-uid").with_workers(1).with_status(phase="Completed")
    api.put(f"{JOBS}/over", over.build())
    looked_at: list[str] = []

    def decide(observed, *_) -> Plan:
        looked_at.append(name_of(observed.job))
        return Plan()

    start(decide=decide)
    eventually(lambda: "train" in looked_at)
    assert "over" not in looked_at


CACHES = {
    "paddlejobs.batch.paddlepaddle.org/v1": JOBS,
    "pods.v1": PODS,
    "configmaps.v1": CONFIG_MAPS,
    "podgroups.scheduling.volcano.sh/v1beta1": POD_GROUPS,
}


@pytest.mark.parametrize(("kind", "collection"), CACHES.items(), ids=CACHES.keys())
def test_nothing_is_written_before_every_cache_is_full(api, start, hold, kind, collection):
    held = hold("GET", collection)
    operator = start()
    eventually(lambda: {each for each in CACHES if each in operator.ask("/readyz")[1]} == {kind})
    assert api.writes == []
    held.let_go()
    eventually(lambda: have_pods(api))


def test_caches_that_do_not_fill_in_time_end_the_process(api, start, hold, clock):
    held = hold("GET", PODS)
    operator = start(clock=clock)

    def has_given_up() -> bool:
        clock.step(SYNC_SECONDS + 1)
        return not operator.is_serving()

    eventually(has_given_up)
    held.let_go()
    assert operator.wait() == EXIT_FAILED


def test_a_stop_while_the_caches_fill_is_a_clean_end(api, start, hold):
    held = hold("GET", PODS)
    operator = start()
    held.has_caught.wait(patience.SECONDS)
    operator.manager.stop()
    held.let_go()
    assert operator.wait() == 0
    assert api.writes == []


# Readiness


NOT_FOUND = reply(404, status(404, "NotFound"))


def test_it_is_not_ready_without_its_own_kind(api, start):
    api.fault = lambda _, path: NOT_FOUND if path == JOBS else None
    operator = start()
    eventually(lambda: operator.ask("/readyz") == (503, "the PaddleJob CRD is not served\n"))


def test_an_operator_without_the_right_to_write_a_status_is_not_ready(api, start, clock):
    message = 'paddlejobs "train" is forbidden: User "operator" cannot patch resource'
    refused = reply(403, status(403, "Forbidden", message))
    api.fault = lambda method, _: refused if method == "PATCH" else None
    operator = start(clock=clock)
    said = "no right to patch paddlejobs/status in namespace default\n"
    # A watch may lag behind a clock that a test moves, which is said, too, until the clock rests.
    eventually(lambda: clock.step(0.3) or said in operator.ask("/readyz")[1])
    let_through: list[str] = []
    api.fault = lambda method, _: let_through.append(method)
    eventually(lambda: clock.step(0.3) or "PATCH" in let_through)
    eventually(operator.is_ready)


# A thread that ends


def exit_thread(*_) -> Plan:
    raise SystemExit(0)


@pytest.fixture
def short_drain(monkeypatch) -> None:
    """A worker that has ended with a job gives it back to nobody."""
    monkeypatch.setattr(sys.modules[Manager.__module__], "DRAIN_SECONDS", 0.1)


@pytest.mark.parametrize("loop", [Reflector, LeaderElector, EventRecorder])
def test_any_other_thread_that_ends_unasked_ends_it_too(start, monkeypatch, loop):
    monkeypatch.setattr(loop, "run", exit_thread)
    assert start(*ELECTED).is_dead.wait(patience.SECONDS)


@pytest.mark.usefixtures("short_drain")
def test_a_worker_that_ends_unasked_ends_the_process_and_the_probes_name_it(start):
    operator = start("--workers=1", decide=exit_thread)
    assert operator.is_dead.wait(patience.SECONDS)
    ended = [(503, f"thread worker-{number} has ended\n") for number in range(2)]
    eventually(lambda: operator.ask("/healthz") in ended and operator.ask("/readyz") in ended)


# The lease


def test_a_standby_writes_nothing_and_the_leader_alone_counts_the_jobs(api, start, server):
    api.put(LEASE, a_lease("another"))
    operator = start(*ELECTED, "--metrics-by-namespace")
    eventually(lambda: [request.path for request in server.seen].count(LEASE) >= 2)
    eventually(operator.is_ready)
    shown = operator.ask("/metrics")[1]
    assert NO_ERROR in shown
    assert "paddlejob_jobs{" not in shown and "paddlejob_namespace_jobs{" not in shown
    assert api.writes == []
    api.put(LEASE, a_lease(""))
    eventually(lambda: 'paddlejob_jobs{mode="Single",phase=' in operator.ask("/metrics")[1])
    assert "paddlejob_namespace_jobs{" in operator.ask("/metrics")[1]


def test_a_leader_whose_lease_is_taken_ends_the_process_and_writes_no_more(api, start):
    operator = start(*ELECTED)
    eventually(lambda: have_pods(api))
    api.put(LEASE, a_lease("another"))
    assert operator.is_dead.wait(patience.SECONDS)
    api.put(f"{JOBS}/late", a_job("late", uid="late-uid").with_workers(1).build())
    eventually(lambda: NO_ERROR not in operator.ask("/metrics")[1])
    assert have_pods(api)


# The end


def test_the_lease_is_given_up_after_the_last_write(api, start, hold):
    held = hold("POST", PODS)
    operator = start(*ELECTED)
    held.has_caught.wait(patience.SECONDS)
    operator.manager.stop()
    held.let_go()
    assert (operator.wait(), operator.is_dead.is_set(), operator.is_serving()) == (0, False, False)
    assert (have_pods(api), holder(api), api.writes[-1][1]) == (True, "", LEASE)


def test_no_thread_ends_by_a_stop_that_the_manager_has_not_seen(start, monkeypatch):
    """It would count as dead, and end the process before its pods and its lease are seen to."""
    expect_returns = Threads.expect_returns

    def expect_late(threads: Threads) -> None:
        threads.join(0.3)
        expect_returns(threads)

    monkeypatch.setattr(Threads, "expect_returns", expect_late)
    operator = start(*ELECTED, "--namespace=")
    eventually(lambda: {"rivals", "events", "worker-1"} <= {t.name for t in threading.enumerate()})
    assert (operator.stop(), operator.is_dead.is_set()) == (0, False)


@pytest.mark.usefixtures("short_drain")
def test_the_lease_is_left_to_expire_where_a_write_does_not_end(api, start, hold):
    held = hold("POST", PODS)
    operator = start(*ELECTED)
    held.has_caught.wait(patience.SECONDS)
    operator.manager.stop()
    eventually(lambda: not operator.is_serving())
    assert holder(api)
    held.let_go()
    api.put(LEASE, a_lease("another"))  # which ends the election
    assert operator.wait() == 0


@pytest.mark.usefixtures("short_drain")
def test_a_write_that_does_not_end_holds_up_no_shutdown(api, start, hold, monkeypatch):
    monkeypatch.setattr(sys.modules[Manager.__module__], "JOIN_SECONDS", 0.1)
    api.put(f"{JOBS}/train", a_job().with_workers(3).build())
    held = hold("POST", PODS)
    # The worker itself creates the first pod; a helper meets what hangs.
    api.fault = lambda *asked: held(*asked) if pods(api) else None
    operator = start("--leader-elect=false")
    held.has_caught.wait(patience.SECONDS)
    operator.manager.stop()
    eventually(lambda: operator.exit_code == 0)
    assert pods(api) == ["train-worker-0"]
    held.let_go()


def test_all_waits_of_the_shutdown_fit_into_the_grace_period_of_a_pod():
    assert DRAIN_SECONDS + EVENTS_SECONDS + JOIN_SECONDS < 30


def test_a_new_leader_acts_on_no_view_older_than_its_lease(api, start):
    api.put(LEASE, a_lease("another"))
    standby = start(*ELECTED)
    eventually(standby.is_ready)
    api.is_watch_silent = True
    api.remove(f"{JOBS}/train")
    api.put(f"{JOBS}/later", a_job("later").with_workers(1).build())
    api.put(LEASE, a_lease(""))
    eventually(lambda: pods(api) != [])
    assert pods(api) == ["later-worker-0"]
    assert "paddlejob_leader_catch_up_seconds 0.0\n" not in standby.ask("/metrics")[1]
