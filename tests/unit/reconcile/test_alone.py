"""Workers of a job of several that have each trained alone, by what worker 0's launcher printed."""

import pytest

from reconcile.words.alone import trains_alone
from tests.memory.builders import JobBuilder, a_job
from tests.memory.kubelet import Kubelet, run_job
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
def test_launchers_words(lines: list[str], is_alone: bool) -> None:
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
def test_job_says_once_that_its_workers_trained_alone(
    world: World, kubelet: Kubelet, job: JobBuilder, index: int, is_known: bool
) -> None:
    world.submit(job)
    run_job(world, kubelet)
    kubelet.end(f"train-worker-{index}", 1, message="\n".join(config()))
    world.settle()
    world.advance(60)
    world.settle()
    found = [c for c in world.status()["conditions"] if c["type"] == "TrainedAlone"]
    told = [event.reason for event in world.told if event.reason == "TrainedAlone"]
    assert ([c["status"] for c in found], told) == (
        (["True"], ["TrainedAlone"]) if is_known else ([], [])
    )
