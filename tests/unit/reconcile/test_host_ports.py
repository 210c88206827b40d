"""Port ranges for `intranet: Host`: written to status before any pod is made."""

import pytest

from reconcile import Settings
from reconcile.host_ports import find_allocation, free_bases
from tests.builders import a_job, view_of
from tests.kubelet import Kubelet, run_job
from tests.world import World

HOST = {"intranet": "Host"}


def test_every_pod_gets_a_range_of_its_own(world: World) -> None:
    world.submit(a_job().with_ps(2).with_workers(2).with_spec(**HOST))
    plan = world.work()
    assert not plan.creates
    world.settle()
    ports = world.status()["hostPorts"]
    assert len(set(ports.values())) == 4
    assert all((port - 30000) % 20 == 0 for port in ports.values())
    for name in world.names("Pod"):
        container = world.get("Pod", name)["spec"]["containers"][0]
        assert container["ports"][0]["hostPort"] == ports[name]


def test_ranges_of_other_jobs_are_left_alone() -> None:
    settings = Settings(host_port_range=(30000, 30059))
    job = a_job().with_workers(2).with_spec(**HOST)
    view = view_of(job, settings=settings, taken_host_ports=frozenset({30020}))
    transition = find_allocation(view)
    assert transition is not None
    assert set(transition.status.host_ports.values()) == {30000, 30040}


@pytest.mark.parametrize(("high", "count"), [(30018, 0), (30019, 1), (30039, 2), (60999, 1550)])
def test_a_range_fits_whole(high: int, count: int) -> None:
    settings = Settings(host_port_range=(30000, high))
    assert len(free_bases(view_of(a_job().with_workers(1), settings=settings))) == count


def test_jobs_begin_at_different_places() -> None:
    first = free_bases(view_of(a_job(uid="one").with_workers(1)))
    other = free_bases(view_of(a_job(uid="two").with_workers(1)))
    assert first[0] != other[0]


def test_job_without_free_ranges_waits_and_looks_again(world: World) -> None:
    world.settings = Settings(host_port_range=(30000, 30019))
    world.submit(a_job().with_workers(2).with_spec(**HOST))
    plan = world.settle()
    assert world.names("Pod") == []
    assert world.condition("Pending")["reason"] == "NoFreePorts"
    assert plan.requeue_after == 30


def test_pods_that_exist_keep_their_range() -> None:
    job = a_job().with_elastic_workers(2, 1, 2).with_spec(**HOST)
    job.with_status(attempt=1, hostPorts={"train-worker-0": 30100})
    transition = find_allocation(view_of(job))
    assert transition is not None
    ports = transition.status.host_ports
    assert ports["train-worker-0"] == 30100
    assert ports["train-worker-1"] != 30100


def test_next_attempt_gets_new_ranges(world: World, kubelet: Kubelet) -> None:
    world.submit(a_job().with_workers(1).with_spec(**HOST))
    run_job(world, kubelet)
    kubelet.evict("train-worker-0")
    world.work()
    assert "hostPorts" not in world.status()
    kubelet.reap_all()
    world.settle()
    assert list(world.status()["hostPorts"]) == ["train-worker-0"]


def test_collective_pods_never_share_a_host(world: World) -> None:
    world.submit(a_job().with_workers(2).with_spec(**HOST))
    world.settle()
    spec = world.get("Pod", "train-worker-0")["spec"]
    rule = "requiredDuringSchedulingIgnoredDuringExecution"
    assert spec["hostNetwork"] is True
    assert spec["affinity"]["podAntiAffinity"][rule][0]["topologyKey"] == "kubernetes.io/hostname"


def test_servers_and_workers_may_share_a_host(world: World) -> None:
    world.submit(a_job().with_ps(1).with_workers(2).with_spec(**HOST))
    world.settle()
    assert "affinity" not in world.get("Pod", "train-worker-0")["spec"]
