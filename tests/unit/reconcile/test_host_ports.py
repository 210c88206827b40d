"""Port ranges for `intranet: Host`: written to status before any pod is made."""

from dataclasses import replace

import pytest

from api.constants import LABEL_QUEUE
from reconcile.children.host_ports import allocate_ports, free_bases
from reconcile.model.move import Move
from reconcile.model.plan import Refusal, Settings
from reconcile.objects.rendezvous import ENDPOINT_LISTS
from tests.memory.builders import a_job, a_template, cause_of, view_of
from tests.memory.world import World

HOST = {"intranet": "Host"}
FOUR_FOR_EACH = Settings(host_port_range=(30000, 30319))
"""Of 16 ranges one namespace may hold 4."""


def test_every_pod_gets_a_range_of_its_own(world):
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


ON_HOST = a_template(hostNetwork=True)
NETWORKS = {
    "intranet": (a_job().with_ps(1).with_workers(2).with_spec(**HOST), 3),
    "templates": (a_job().with_ps(1, ON_HOST).with_workers(2, ON_HOST), 3),
    "by-name": (
        a_job().with_ps(1, ON_HOST).with_workers(2, ON_HOST).with_spec(intranet="Service"),
        3,
    ),
    "servers-alone": (a_job().with_ps(2, ON_HOST).with_workers(2), 2),
    "one-server": (a_job().with_ps(1, ON_HOST).with_workers(2), 0),
    "one-worker": (a_job().with_workers(1, ON_HOST), 0),
    "nobody": (a_job().with_ps(1).with_workers(2), 0),
}


@pytest.mark.parametrize(("job", "ranges"), NETWORKS.values(), ids=NETWORKS)
def test_no_two_pods_on_the_host_get_one_endpoint(world, job, ranges):
    world.begin(job)
    for name in world.names("Pod"):
        on_host = world.get("Pod", name)["spec"].get("hostNetwork")
        world.kubelet.bind(name)
        if on_host:
            world.change("Pod", name, lambda pod: pod["status"].update(podIP="10.0.0.9"))
        else:
            world.kubelet.give_address(name)
    world.settle()
    data = world.get("ConfigMap", "train")["data"]
    lists = (data.get(name, "") for name in ENDPOINT_LISTS.values())
    endpoints = [each for each in ",".join(lists).split(",") if each]
    assert len(endpoints) == len({*endpoints}) == len(world.names("Pod"))
    ports = world.status().get("hostPorts", {})
    assert len(ports) == ranges
    for name in world.names("Pod"):
        (trainer,) = world.get("Pod", name)["spec"]["containers"]
        env = {each["name"]: each.get("value") for each in trainer["env"]}
        port = str(ports[name]) if name in ports else None
        assert env.get("PADDLE_PORT") == port
        assert env["PADDLE_CURRENT_ENDPOINT"].endswith(f":{port or 36000}")


def test_an_attempt_on_the_host_that_an_older_operator_began_goes_on(world):
    job = a_job().with_workers(2, ON_HOST)
    world.run(a_job().with_workers(2))
    world.edit_spec(**job.build()["spec"])
    ports = world.get("ConfigMap", "train")["data"]["PADDLE_TRAINER_ENDPOINTS"]
    assert ports.count(":36000") == 2
    world.restart()
    world.after(60)
    assert (world.phase(), world.status()["attempt"]) == ("Running", 1)
    assert "hostPorts" not in world.status()
    world.kubelet.vanish("train-worker-1")
    world.kubelet.let_go()
    world.after(60)
    assert (world.status()["attempt"], len(world.status()["hostPorts"])) == (2, 2)


def test_workers_of_a_template_on_the_host_do_not_share_a_node(world):
    """PaddlePaddle's launcher counts hosts, not endpoints."""
    world.begin(a_job().with_workers(2, ON_HOST))
    affinity = world.get("Pod", "train-worker-0")["spec"]["affinity"]["podAntiAffinity"]
    (rule,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]
    assert rule["topologyKey"] == "kubernetes.io/hostname"


def test_ranges_of_other_jobs_are_left_alone():
    settings = Settings(host_port_range=(30000, 30059), host_port_share=1)
    job = a_job().with_workers(2).with_spec(**HOST)
    view = view_of(job, settings=settings, taken_host_ports=frozenset({30020}))
    transition = allocate_ports(view)
    assert isinstance(transition, Move)
    assert set(transition.status.host_ports.values()) == {30000, 30040}


@pytest.mark.parametrize(("high", "count"), [(30018, 0), (30019, 1), (30039, 2), (60999, 1550)])
def test_a_range_fits_whole(high, count):
    settings = Settings(host_port_range=(30000, high))
    assert len(free_bases(view_of(a_job().with_workers(1), settings=settings))) == count


def test_jobs_begin_at_different_places():
    first = free_bases(view_of(a_job(uid="one").with_workers(1)))
    other = free_bases(view_of(a_job(uid="two").with_workers(1)))
    assert first[0] != other[0]


def test_job_without_free_ranges_waits_and_looks_again(world):
    world.settings = Settings(host_port_range=(30000, 30039), host_port_share=1)
    world.taken_host_ports = frozenset({30020})
    plan = world.begin(a_job().with_workers(2).with_spec(**HOST))
    assert world.names("Pod") == []
    assert waits_for(world) == "no free port ranges left in 30000-30039"
    assert plan.requeue_after == 30
    world.taken_host_ports = frozenset()
    world.settle()
    assert len(world.names("Pod")) == 2


def test_pods_that_exist_keep_their_range():
    job = a_job().with_elastic_workers(2, 1, 2).with_spec(**HOST)
    job.with_status(attempt=1, hostPorts={"train-worker-0": 30100})
    transition = allocate_ports(view_of(job))
    assert isinstance(transition, Move)
    ports = transition.status.host_ports
    assert ports["train-worker-0"] == 30100
    assert ports["train-worker-1"] != 30100


def test_next_attempt_gets_new_ranges(world):
    world.run(a_job().with_workers(1).with_spec(**HOST))
    world.kubelet.evict("train-worker-0")
    world.work()
    assert "hostPorts" not in world.status()
    world.settle()
    assert "hostPorts" not in world.status(), "the last pod is still there"
    world.kubelet.reap_all()
    world.settle()
    assert list(world.status()["hostPorts"]) == ["train-worker-0"]


def test_one_namespace_gets_a_quarter_of_the_ranges(world):
    plan = world.begin(a_job().with_workers(388).with_spec(**HOST))
    assert "hostPorts" not in world.status()
    assert waits_for(world).startswith(
        "the job needs 388 port ranges, and one namespace may use at most 387"
    )
    assert plan.requeue_after == 30


def test_jobs_of_one_namespace_share_its_part(world):
    world.settings = FOUR_FOR_EACH
    world.namespace_host_ports = 3
    world.begin(a_job().with_workers(2).with_spec(**HOST))
    assert waits_for(world) == (
        "no free port ranges left for this namespace: 3 of 4 are in use in it"
    )
    world.namespace_host_ports = 2
    world.settle()
    assert len(world.status()["hostPorts"]) == 2


def test_a_job_with_more_than_its_part_keeps_what_it_has(world):
    world.settings = replace(FOUR_FOR_EACH, host_port_share=1)
    world.run(a_job().with_workers(6).with_spec(**HOST))
    ports = world.status()["hostPorts"]
    world.settings = FOUR_FOR_EACH
    world.settle()
    assert world.status()["hostPorts"] == ports
    assert world.phase() == "Running"


def test_refused_pods_hold_no_ranges(world):
    world.refused_kinds = {"Pod"}
    plan = world.begin(a_job().with_workers(2).with_spec(**HOST))
    assert "hostPorts" not in world.status()
    assert world.condition("Pending")["reason"] == "QuotaExceeded"
    assert plan.requeue_after == 10, "creates are tried again after the pause"
    told = len(world.told)
    world.after(10)
    assert "hostPorts" not in world.status()
    assert len(world.told) == told, "nothing new to tell"
    world.refused_kinds = set()
    world.after(20)
    assert len(world.status()["hostPorts"]) == len(world.names("Pod")) == 2


def test_of_a_job_refused_in_part_the_pods_that_exist_keep_their_ranges(world):
    refusal = Refusal("Pod", "train-worker-1", "Forbidden", "exceeded quota", 403)
    world.refusals[("Pod", "train-worker-1")] = refusal
    world.submit(a_job().with_workers(2).with_spec(**HOST))
    world.work()
    given = world.status()["hostPorts"]["train-worker-0"]
    world.settle()
    assert world.status()["hostPorts"] == {"train-worker-0": given}
    world.refusals.clear()
    world.after(10)
    assert world.status()["hostPorts"]["train-worker-0"] == given
    assert len(world.status()["hostPorts"]) == len(world.names("Pod")) == 2


def test_a_job_that_waits_for_its_gang_holds_no_ranges(world):
    world.begin(a_job().with_workers(2).with_spec(**HOST, schedulingPolicy={}))
    assert world.condition("Pending")["reason"] == "PodGroupUnavailable"
    assert "hostPorts" not in world.status()
    world.volcano_served = True
    world.settle()
    assert len(world.status()["hostPorts"]) == len(world.names("Pod")) == 2


def test_a_job_that_waits_for_quota_holds_no_ranges(world):
    world.settings = Settings(kueue=True)
    world.workloads_served = True
    job = a_job().with_workers(2).with_spec(**HOST)
    world.begin(job.with_metadata(labels={LABEL_QUEUE: "q"}))
    assert world.condition("Pending")["reason"] == "Queued"
    assert "hostPorts" not in world.status()


def test_a_suspended_job_holds_no_ranges(world):
    world.run(a_job().with_workers(2).with_spec(**HOST))
    world.amend(suspend=True)
    assert "hostPorts" not in world.status()


def test_an_elastic_job_gets_as_many_ranges_as_there_are(world):
    world.settings = replace(FOUR_FOR_EACH, elastic_server="etcd:2379")
    world.namespace_host_ports = 1
    plan = world.begin(a_job().with_elastic_workers(5, 2, 5).with_spec(**HOST))
    assert len(world.status()["hostPorts"]) == len(world.names("Pod")) == 3
    assert plan.requeue_after == 30
    world.kubelet.start_all()
    world.edit_spec(worker=a_job().with_elastic_workers(2, 2, 5).build()["spec"]["worker"])
    world.kubelet.let_go()
    assert sorted(world.status()["hostPorts"]) == ["train-worker-0", "train-worker-1"]


def test_an_elastic_job_waits_for_the_ranges_of_its_least_workers(world):
    world.settings = replace(FOUR_FOR_EACH, elastic_server="etcd:2379")
    world.namespace_host_ports = 3
    world.begin(a_job().with_elastic_workers(5, 2, 5).with_spec(**HOST))
    assert "hostPorts" not in world.status()
    assert world.names("Pod") == []


def waits_for(world: World) -> str:
    """What the job says that it waits for, in want of ports."""
    pending = world.condition("Pending")
    assert pending["reason"] == "NoFreePorts"
    return cause_of(str(pending["message"]))
