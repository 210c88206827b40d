"""Workers of a job of several that have each trained alone, by what worker 0's launcher printed."""

from typing import Any

import pytest

from reconcile.words.alone import trains_alone
from tests.memory.builders import a_job
from tests.memory.world import World

HEAD = "LAUNCH INFO 2026-11-24 14:22:05,430 "


def config(ips: str = "None", nnodes: str = "1") -> list[str]:
    """A part of what PaddlePaddle 2.6.2 and 3.3.1 print, recorded."""
    said = ("host: None", f"ips: {ips}", "job_id: default", "master: None", f"nnodes: {nnodes}")
    return [f"{HEAD}{line}" for line in (*said, "nproc_per_node: None")]


PEERS = "10.0.0.1,10.0.0.2"


@pytest.mark.parametrize(
    ("lines", "is_alone"),
    [
        pytest.param(config(), True, id="one-node"),
        pytest.param(config("127.0.0.1"), True, id="its-own-address"),
        pytest.param(config(nnodes=""), True, id="an-empty-number"),
        pytest.param([line.rstrip() for line in config(nnodes="")], True, id="empty-and-cut"),
        pytest.param(config(PEERS, nnodes=""), False, id="empty-with-ips"),
        pytest.param(config(nnodes="1:1"), True, id="a-range-of-one"),
        pytest.param(config(nnodes="1:2"), False, id="a-range"),
        pytest.param(config(nnodes="2"), False, id="two-nodes"),
        pytest.param(config(nnodes="12"), False, id="twelve-nodes"),
        pytest.param(config(PEERS), False, id="nodes-by-ips"),
        pytest.param(config()[4:], False, id="cut-off-before-ips"),
        pytest.param([*config(), "prepared", *config(nnodes="2")], False, id="another-launcher"),
        pytest.param([*config(nnodes="2"), *config()], True, id="the-last-launcher"),
        pytest.param(["ips: None", "nnodes: 1"], False, id="a-programs-own-words"),
        pytest.param([], False, id="nothing"),
    ],
)
def test_launchers_words(lines, is_alone):
    assert trains_alone(lines) == is_alone


@pytest.mark.parametrize(
    ("job", "index", "is_known"),
    [
        pytest.param(a_job().with_workers(2), 0, True, id="two-workers"),
        pytest.param(a_job().with_workers(2).with_spec(backoffLimit=1), 0, True, id="restarts"),
        pytest.param(a_job().with_workers(2), 1, False, id="another-workers-words"),
        pytest.param(a_job().with_workers(1), 0, False, id="one-worker"),
        pytest.param(a_job().with_workers(2).with_ps(1), 0, False, id="servers"),
        pytest.param(a_job().with_elastic_workers(2, 1, 3), 0, False, id="elastic"),
    ],
)
def test_job_says_once_that_its_workers_trained_alone(world, job, index, is_known):
    world.run(job)
    world.kubelet.see_end(f"train-worker-{index}", 1, message="\n".join(config()))
    world.after(60)
    told = [event.reason for event in world.told if event.reason == "TrainedAlone"]
    assert (is_alone(world), told) == (("True", ["TrainedAlone"]) if is_known else (None, []))


def is_alone(world: World) -> str | None:
    """The condition's status; None without one."""
    return world.condition("TrainedAlone").get("status")


def train_alone(world: World, **spec: Any) -> None:
    """An attempt of two workers runs and ends, and worker 0 shows that it knew of no other."""
    world.run(a_job().with_workers(2).with_spec(backoffLimit=3, **spec))
    assert is_alone(world) is None
    world.kubelet.see_end("train-worker-0", 1, message="\n".join(config()))
    assert is_alone(world) == "True"
    world.kubelet.let_go()


def test_condition_ends_once_the_next_attempt_runs_and_returns_with_its_cause(world):
    train_alone(world)
    world.run()
    assert (world.phase(), is_alone(world)) == ("Running", "False")
    world.kubelet.see_end("train-worker-0", 1, message="\n".join(config(nnodes="2")))
    assert (world.status()["attempt"], is_alone(world)) == (3, "False")
    world.advance(60)
    world.kubelet.let_go()
    world.run()
    world.kubelet.see_end("train-worker-0", 1, message="\n".join(config()))
    assert is_alone(world) == "True"


def test_condition_ends_for_an_attempt_that_is_over_before_it_is_seen_to_run(world):
    train_alone(world)
    world.kubelet.place_all()
    world.settle()
    world.kubelet.start_all()
    for name in ("train-worker-0", "train-worker-1"):
        world.kubelet.end(name, 0)
    world.settle()
    assert (world.phase(), is_alone(world)) == ("Completed", "False")


def test_condition_ends_after_a_resume(world):
    train_alone(world)
    world.amend(suspend=True)
    assert is_alone(world) == "True"
    world.edit_spec(suspend=False)
    world.run()
    assert (world.phase(), is_alone(world)) == ("Running", "False")


def test_condition_ends_with_all_workers_but_one(world):
    train_alone(world)
    world.amend(suspend=True)
    world.amend(worker=world.job()["spec"]["worker"] | {"replicas": 1})
    assert is_alone(world) == "False"


def test_next_job_of_the_name_has_not_trained_alone(world):
    train_alone(world)
    world.run()
    world.kubelet.end("train-worker-0", 1, message="\n".join(config()))
    world.forget("PaddleJob", "train")
    world.begin(a_job().with_workers(2).with_metadata(uid="another"))
    assert "train-worker-0" in world.names("Pod"), "the former job's"
    assert (world.phase(), is_alone(world)) == ("Pending", None)


FAMILIES = {
    "ipv6": (["fd00::1", "fd00::2"], {}, True),
    "ipv4": (["10.0.0.1", "10.0.0.2"], {}, False),
    "ipv6-by-name": (["fd00::1", "fd00::2"], {"intranet": "Service"}, False),
    "ipv6-alone": (["fd00::1"], {}, False),
}


@pytest.mark.parametrize(("addresses", "spec", "is_known"), FAMILIES.values(), ids=FAMILIES)
def test_addresses_that_mislead_launchers_are_told_before_they_start(
    world, addresses, spec, is_known
):
    world.begin(a_job().with_workers(len(addresses)).with_spec(**spec))
    for index, address in enumerate(addresses):
        world.kubelet.bind(f"train-worker-{index}")
        world.change(
            "Pod", f"train-worker-{index}", lambda pod, a=address: pod["status"].update(podIP=a)
        )
    world.settle()
    assert (is_alone(world) == "True") == is_known
    assert ("IPv6" in world.condition("TrainedAlone").get("message", "")) == is_known
    world.kubelet.start_all()
    world.settle()
    world.kubelet.end_all("worker")
    world.settle()
    assert (world.phase(), is_alone(world) == "True") == ("Completed", is_known)
    assert [event.reason for event in world.told].count("TrainedAlone") == is_known
