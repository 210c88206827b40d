"""Pods that wait for the attempt's ConfigMap are woken once it exists, three times at most.

Worker 0 of a collective job comes first: its peers follow once it runs, or does not come.
"""

from collections import Counter
from itertools import product

import pytest

from api.constants import ANNOTATION_WOKEN, Role
from api.objects import Raw, name_of, uid_of
from reconcile.children.wake import (
    CALL_SECONDS,
    HEAD_START_SECONDS,
    MAX_CALLS,
    MAX_HEAD_START_SECONDS,
    WAITING,
    next_wake,
    wake_patches,
)
from reconcile.model.plan import Wait
from reconcile.model.view import View
from reconcile.objects.rendezvous import build_config_map
from tests.memory.builders import JobBuilder, PodBuilder, a_job, a_pod, stamp, view_of
from tests.memory.world import World

JOB = a_job().with_ps(1).with_workers(1).build()
RUNNING = a_pod(JOB, Role.PS).running()
CONFIG_MAP = build_config_map(view_of(JOB, RUNNING, a_pod(JOB).running()))
LATER = CALL_SECONDS
FIRST = "train-worker-0"


def worker(reason: str = WAITING) -> PodBuilder:
    """The worker, whose container waits."""
    return a_pod(JOB).bound().with_address("10.0.1.1").waiting(reason, "not found")


def told(text: str) -> Raw:
    """The worker that waits, with this annotation."""
    pod = worker().build()
    pod["metadata"]["annotations"] = {ANNOTATION_WOKEN: text}
    return pod


def called(times: int, seconds: float = 0.0) -> Raw:
    """The worker that waits although it was called so often, the last time then."""
    return told(f"attempt=1,call={times},at={stamp(seconds)}")


def initialized(seconds: float, status: str = "True") -> Raw:
    condition = {"type": "Initialized", "status": status, "lastTransitionTime": stamp(seconds)}
    return worker("PodInitializing").with_status(conditions=[condition]).build()


def seen(pod: PodBuilder | Raw, seconds: float = LATER, *, published: bool = True) -> View:
    """The job with a server that runs and this worker."""
    config_maps = (CONFIG_MAP,) if published else ()
    return view_of(JOB, RUNNING, pod, seconds=seconds, config_maps=config_maps)


@pytest.mark.parametrize(
    ("view", "wakes"),
    [
        pytest.param(seen(worker()), True, id="waits"),
        pytest.param(seen(worker(), published=False), False, id="no-config-map-yet"),
        pytest.param(seen(worker("ContainerCreating")), False, id="pulls-its-image"),
        pytest.param(seen(a_pod(JOB).running()), False, id="runs"),
        pytest.param(seen(worker().deleting()), False, id="goes"),
        pytest.param(seen(called(1)), True, id="still-waits"),
        pytest.param(seen(called(1), LATER - 1), False, id="was-just-called"),
        pytest.param(seen(called(MAX_CALLS)), False, id="was-called-in-vain"),
        pytest.param(seen(initialized(0)), True, id="init-containers-ended-a-while-ago"),
        pytest.param(seen(initialized(1)), False, id="init-containers-have-just-ended"),
        pytest.param(seen(initialized(0, "False")), False, id="an-init-container-runs"),
        pytest.param(seen(called(1, 9_999)), True, id="the-clock-was-set-back"),
        pytest.param(seen(told("me")), True, id="somebody-wrote-there"),
        pytest.param(seen(told("attempt=1,call=3,at=9999-99-99T99:99:99Z")), True, id="no-time"),
        pytest.param(seen(told("attempt=1,call=1,at=2026-01-02T03:04:05")), True, id="no-zone"),
    ],
)
def test_pods_that_wait_for_the_config_map_are_woken(view, wakes):
    assert [patch.target.name for patch in wake_patches(view)] == ["train-worker-0"] * wakes


def test_two_seconds_pass_between_two_calls_whenever_the_first_one_comes():
    (first,) = wake_patches(seen(worker(), 0.9))
    pod = told(first.body["metadata"]["annotations"][ANNOTATION_WOKEN])
    assert next_wake(seen(pod, 2.5))[0] == pytest.approx(CALL_SECONDS - 1.6)


def test_a_pod_that_was_called_is_looked_at_again():
    assert next_wake(seen(worker()))[0] == CALL_SECONDS
    assert next_wake(seen(called(1), 0.5))[0] == CALL_SECONDS - 0.5
    assert next_wake(seen(called(MAX_CALLS))) == (None, frozenset())
    assert next_wake(seen(a_pod(JOB).running())) == (None, frozenset())


class Nodes:
    """Kubelets that try a container again when its pod was annotated, or after a long sleep.

    `delays` says how many seconds after its annotation a pod starts; a deaf one sleeps on. What is
    annotated within the first `blind` seconds comes before the kubelets see the ConfigMap.
    """

    SLEEP, DEAF = 10.0, 99.0

    def __init__(self, world: World, delays: dict[str, float]) -> None:
        self.world, self.delays = world, delays
        self.due: dict[str, float] = {}
        self.heard: dict[str, str | None] = {}
        self.seconds = self.blind = 0.0
        self.started: dict[str, float] = {}
        self.writes: Counter[str] = Counter()

    def live(self, seconds: float, until: tuple[str, ...] = ("Running",)) -> None:
        """Let so much time pass in steps of a tenth of a second, or until the job is so far."""
        end = self.seconds + seconds
        while self.seconds < end and self.world.phase() not in until:
            self._operate()
            self.world.kubelet.reap_all()
            self.world.kubelet.place_all()
            for pod in self.world.of_kind("Pod"):
                self._try(pod)
            self.seconds += 0.1
            self.world.advance(0.1)

    def _operate(self) -> None:
        plan = self.world.work()
        self.writes["status"] += plan.status is not None
        self.writes["patches"] += len(plan.patches)

    def _try(self, pod: Raw) -> None:
        name, uid = name_of(pod), uid_of(pod)
        if uid in self.started or "deletionTimestamp" in pod["metadata"]:
            return
        called = (pod["metadata"].get("annotations") or {}).get(ANNOTATION_WOKEN)
        if uid not in self.heard:  # the first try, before the ConfigMap is there
            self.due[uid] = self.seconds
        elif called != self.heard[uid] and self.seconds >= self.blind:
            self.due[uid] = min(self.due[uid], self.seconds + self.delays.get(name, 0.0))
        self.heard[uid] = called
        if self.seconds >= self.due[uid]:
            self.due[uid] = self.seconds + self.SLEEP
            if self.world.kubelet.start(name):
                self.started[uid] = self.seconds

    def start_of(self, name: str) -> float:
        return self.started[self.world.kubelet.uid(name)]


def start(job: JobBuilder, **delays: float) -> Nodes:
    """A new job on such nodes; `worker_1` is the delay of train-worker-1."""
    world = World(spares_writes=True)
    world.submit(job)
    return Nodes(world, {f"train-{key.replace('_', '-')}": each for key, each in delays.items()})


def starts(nodes: Nodes, count: int) -> list[float]:
    """When each worker's trainer started, by index."""
    return [nodes.start_of(f"train-worker-{index}") for index in range(count)]


@pytest.mark.parametrize(
    ("intranet", "workers"), [("PodIP", 2), ("PodIP", 64), ("Service", 8), ("Host", 8)]
)
def test_the_peers_of_worker_0_start_once_it_runs(intranet, workers):
    nodes = start(a_job().with_workers(workers).with_spec(intranet=intranet), worker_0=0.9)
    nodes.live(10)
    first, *peers = starts(nodes, workers)
    least = min(HEAD_START_SECONDS * len(peers), MAX_HEAD_START_SECONDS)
    assert all(first + least < peer <= first + least + 0.3 for peer in peers)


def test_worker_0_starts_first_also_if_its_kubelet_sees_the_config_map_late():
    nodes = start(a_job().with_workers(8))
    nodes.blind = 1.0
    nodes.live(10)
    first, *peers = starts(nodes, 8)
    assert first >= CALL_SECONDS
    assert all(first + MAX_HEAD_START_SECONDS < peer <= first + 1.3 for peer in peers)
    assert nodes.writes["patches"] == 9


@pytest.mark.parametrize("peers", range(1, 8))
def test_no_rest_of_a_float_prolongs_a_head_start(peers):
    job = a_job().with_workers(peers + 1).build()
    pods = [a_pod(job, index=i).bound().with_address(f"10.0.1.{i}") for i in range(peers + 1)]
    pods = [pods[0].running(), *(pod.waiting(WAITING) for pod in pods[1:])]
    config_map = build_config_map(view_of(job, *pods))
    waited = {Wait.HEAD_START: min(2 * peers, 10) / 10}
    view = view_of(job, *pods, config_maps=(config_map,), waited=waited)
    assert len(wake_patches(view)) == peers


def test_a_peer_that_is_seen_to_wait_late_is_woken_at_once(world):
    """Worker 0 has had its head start by then."""
    world.begin(a_job().with_workers(9))
    world.kubelet.place_all()
    world.kubelet.wait("train-worker-1", WAITING)
    world.settle()
    world.kubelet.start(FIRST)
    for _ in range(2):
        world.after(MAX_HEAD_START_SECONDS)
    world.kubelet.wait("train-worker-2", WAITING)
    world.settle()
    pods = world.of_kind("Pod")
    woken = [name_of(pod) for pod in pods if ANNOTATION_WOKEN in pod["metadata"]["annotations"]]
    assert woken == ["train-worker-1", "train-worker-2"]


def test_a_worker_0_that_goes_leaves_the_next_one_its_whole_head_start():
    nodes = start(a_job().with_workers(9))
    while not nodes.started:
        nodes.live(0.1)
    nodes.live(0.5)
    nodes.world.kubelet.vanish(FIRST)
    nodes.live(30, until=())
    first, *peers = starts(nodes, 9)
    assert all(first + 0.8 < peer for peer in peers)


def test_a_new_leader_gives_the_head_start_once_more():
    nodes = start(a_job().with_workers(9))
    while not nodes.started:
        nodes.live(0.1)
    nodes.live(0.5)
    nodes.world.lead_anew()
    nodes.live(10)
    first, *peers = starts(nodes, 9)
    assert all(first + 1.4 < peer <= first + 2.0 for peer in peers)


def test_so_they_do_in_a_later_attempt():
    nodes = start(a_job().with_workers(3).with_spec(backoffLimit=1), worker_0=0.9)
    nodes.live(10)
    nodes.world.kubelet.vanish("train-worker-1")
    nodes.live(1, until=())
    nodes.live(20)
    assert nodes.world.status()["attempt"] == 2
    first, *peers = starts(nodes, 3)
    assert all(first + 0.4 < peer <= first + 0.7 for peer in peers)


def test_the_head_start_costs_no_write():
    together = start(a_job().with_ps(1).with_workers(7))
    ahead = start(a_job().with_workers(8))
    for nodes in (together, ahead):
        nodes.live(10)
    assert ahead.writes == together.writes
    assert ahead.writes["patches"] == 8


@pytest.mark.parametrize(
    "job",
    [
        pytest.param(a_job().with_workers(1), id="one-worker"),
        pytest.param(a_job().with_ps(1).with_workers(2), id="servers"),
    ],
)
def test_who_has_no_store_in_worker_0_starts_together(job):
    nodes = start(job, worker_0=0.9)
    nodes.live(10)
    assert nodes.world.phase() == "Running"
    others = [at for uid, at in nodes.started.items() if uid != nodes.world.kubelet.uid(FIRST)]
    assert all(at < nodes.start_of(FIRST) for at in others)


def test_elastic_workers_start_together():
    nodes = start(a_job().with_elastic_workers(2, 1, 3))
    nodes.live(10)
    assert len(set(nodes.started.values())) == 1


@pytest.mark.parametrize("state", ["ContainerCreating", "ImagePullBackOff"])
def test_the_peers_do_not_wait_for_a_worker_0_that_does_not_wait_for_the_config_map(state):
    job = a_job().with_workers(2).build()
    first = a_pod(job).bound().with_address("10.0.1.1").waiting(state)
    peer = a_pod(job, index=1).bound().with_address("10.0.1.2").waiting(WAITING)
    config_map = build_config_map(view_of(job, first, peer))
    patches = wake_patches(view_of(job, first, peer, config_maps=(config_map,)))
    assert [patch.target.name for patch in patches] == ["train-worker-1"]


@pytest.mark.parametrize(
    ("first", "wakes", "again"),
    [
        pytest.param({}, ["train-worker-0"], CALL_SECONDS, id="both-are-due"),
        pytest.param(
            {"called": "attempt=1,call=1,at=" + stamp(LATER)},
            [],
            CALL_SECONDS + HEAD_START_SECONDS,
            id="just-woken",
        ),
        pytest.param({"state": "running"}, [], HEAD_START_SECONDS, id="has-just-started"),
        pytest.param(
            {"state": "running", "seconds": 0.3}, ["train-worker-1"], CALL_SECONDS, id="runs"
        ),
    ],
)
def test_worker_0_comes_first_after_init_containers_too(first, wakes, again):
    job = a_job().with_workers(2).build()
    both = [initialized_worker(job, index) for index in range(2)]
    if called := first.get("called"):
        both[0]["metadata"]["annotations"] = {ANNOTATION_WOKEN: called}
    if first.get("state"):
        both[0] = a_pod(job).running().build()
    config_map = build_config_map(view_of(job, *both))
    waited = {Wait.HEAD_START: first.get("seconds", 0.0)}
    view = view_of(job, *both, seconds=LATER, config_maps=(config_map,), waited=waited)
    assert [patch.target.name for patch in wake_patches(view)] == wakes
    assert next_wake(view)[0] == again


def initialized_worker(job: Raw, index: int) -> Raw:
    """A worker whose init containers ended at the beginning."""
    condition = {"type": "Initialized", "status": "True", "lastTransitionTime": stamp()}
    pod = a_pod(job, index=index).bound().with_address(f"10.0.1.{index}").waiting("PodInitializing")
    return pod.with_status(conditions=[condition]).build()


@pytest.mark.parametrize("delays", list(product([0.0, 1.8, Nodes.DEAF], repeat=2)))
def test_all_are_woken_soon_whoever_comes_late_or_never_hears(delays):
    nodes = start(a_job().with_workers(2), worker_0=delays[0], worker_1=delays[1])
    nodes.live(30)
    for delay, at in zip(delays, starts(nodes, 2), strict=True):
        assert at <= (CALL_SECONDS + delay + 0.5 if delay < Nodes.DEAF else Nodes.SLEEP + 0.5)
    assert nodes.writes["patches"] <= 2 * MAX_CALLS


@pytest.mark.parametrize("seconds", [0.2, 0.4, 1.6, 2.4])
@pytest.mark.parametrize("delay", [0.9, Nodes.DEAF])
def test_a_worker_0_that_goes_after_its_wake_holds_nobody_up(seconds, delay):
    nodes = start(a_job().with_workers(3), worker_0=delay)
    nodes.live(seconds)
    nodes.world.delete("Pod", FIRST)
    nodes.live(30, until=())
    assert nodes.world.phase() == "Running"


def test_deaf_kubelets_are_called_three_times_and_the_annotation_names_the_attempt(world):
    world.begin(a_job().with_workers(2))
    world.kubelet.place_all()
    for name in world.names("Pod"):
        world.kubelet.wait(name, WAITING)
    heard: dict[str, list[str]] = {name: [] for name in world.names("Pod")}
    for _ in range(10):
        world.settle()
        for pod in world.of_kind("Pod"):
            called = (pod["metadata"].get("annotations") or {}).get(ANNOTATION_WOKEN)
            heard[name_of(pod)] += [called] if called else []
        world.advance(1)
    for calls in heard.values():
        told = list(dict.fromkeys(call.rpartition(",")[0] for call in calls))
        assert told == [f"attempt=1,call={n}" for n in (1, 2, 3)]
