"""What stands between the operator and the API server answers in its place."""

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from controller.cache import reflector
from localcluster import Cluster
from localcluster.machine import clock
from tests.conftest import new_namespace
from tests.live.lab import Lab, paddle_job, shell
from tests.live.operated import operator_behind, readiness
from tests.live.proxy import Counted, FaultProxy, answer

WAITS = shell("exec sleep 3600")
JOBS = [f"calm-{number}" for number in range(5)]
WATCHED = {"paddlejobs", "pods", "services", "configmaps"}
TRIES = 3
"""In vain, for each kind that is affected: the pauses between them grow to some seconds."""
FAILING_SECONDS = reflector.FAILING_SECONDS + 2.0
"""After so long, a watch that brings nothing has ended readiness, whatever others do."""
NO_BACKEND = answer(404, b"default backend - 404")
GARBAGE = answer(200, b"<html>\n")


@dataclass
class Scene:
    """The operator of a namespace, and the proxy behind which it works."""

    lab: Lab
    proxy: FaultProxy
    operator: subprocess.Popen[bytes]

    def wait_in_step(self) -> None:
        """Wait until every kind is watched, and the operator is ready."""
        self.lab.wait(lambda: self.proxy.watches() >= WATCHED, "every watch is open")
        self.lab.wait(lambda: self.readiness() == 200, "ready")

    def readiness(self) -> int:
        return readiness(self.operator)

    def pods(self) -> dict[str, str]:
        pods = [pod["metadata"] for job in JOBS for pod in self.lab.pods(job)]
        return {pod["name"]: pod["uid"] for pod in pods}


@contextmanager
def new_scene(cluster: Cluster, folder: Path) -> Iterator[Scene]:
    with ExitStack() as stack:
        lab = Lab(cluster, stack.enter_context(new_namespace(cluster)))
        proxy = FaultProxy(cluster)
        stack.callback(proxy.close)
        operator = stack.enter_context(operator_behind(proxy, lab.namespace, folder))
        yield Scene(lab, proxy, operator)


@pytest.fixture(scope="module")
def scene(unattended: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with new_scene(unattended, tmp_path_factory.mktemp("proxied")) as made:
        made.lab.submit(*(paddle_job(name, {"worker": (1, WAITS)}) for name in JOBS))
        made.lab.wait_all(JOBS, "Running")
        yield made


@pytest.mark.parametrize("kinds", [{"pods"}, WATCHED], ids=["pods", "everything"])
def test_not_found_of_a_load_balancer_restarts_nothing(scene: Scene, kinds: set[str]) -> None:
    lab, before = scene.lab, scene.pods()
    assert len(before) == len(JOBS)
    answered = Counted(NO_BACKEND)

    def is_tried() -> bool:
        asked = [path.partition("?")[0].rpartition("/")[2] for path in list(answered.paths)]
        tries = [kind for kind in asked if kind in kinds]
        return kinds <= set(tries) and len(tries) >= TRIES * len(kinds)

    with scene.proxy.rule("GET", "/pods" if kinds == {"pods"} else "", answered):
        lab.wait(is_tried, "every kind is asked for in vain")
    afterwards = f"after-{len(kinds)}"
    lab.submit(paddle_job(afterwards, {"worker": (1, WAITS)}))
    lab.wait_phase(afterwards, "Running")
    scene.wait_in_step()
    assert scene.pods() == before
    assert {lab.status(job)["attempt"] for job in JOBS} == {1}


def test_readiness_ends_while_a_watch_brings_nothing(unattended, tmp_path_factory):
    """With an operator for each answer: what takes its time in them does so at once."""
    with ExitStack() as stack:
        broken: list[tuple[Scene, Counted]] = []
        for act in (NO_BACKEND, GARBAGE):
            scene = stack.enter_context(new_scene(unattended, tmp_path_factory.mktemp("broken")))
            scene.wait_in_step()
            broken.append((scene, Counted(act)))
        with ExitStack() as rules:
            for scene, tries in broken:
                rules.enter_context(scene.proxy.rule("GET", "/paddlejobs.*watch=true", tries))
            for scene, tries in broken:
                scene.lab.wait(lambda tries=tries: tries.paths, "the first try")
            over = clock.monotonic() + FAILING_SECONDS
            for scene, tries in broken:
                scene.lab.wait(lambda: clock.monotonic() > over, "it has failed")
                scene.lab.wait(lambda scene=scene: scene.readiness() == 503, "not ready")
                known = len(tries.paths)
                scene.lab.wait(lambda t=tries, n=known: len(t.paths) > n, "it is tried again")
            scenes = [scene for scene, _ in broken]
            assert not clock.wait_until(lambda: any(s.readiness() == 200 for s in scenes), 2.0)
        for scene in scenes:
            scene.wait_in_step()
