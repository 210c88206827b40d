"""Lists that are old or end halfway, and watches that end at once or come late."""

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from localcluster import Cluster
from localcluster.machine import clock
from tests.conftest import new_namespace
from tests.live.lab import CORE, PADDLE_JOBS, Lab, paddle_job, shell
from tests.live.operated import operator_behind
from tests.live.proxy import Counted, FaultProxy, answer, first, refuse

WAITS = {"worker": (2, shell("exec sleep 3600"))}
LOOK_SECONDS = 6.0
MOST_TRIES = 8
"""In LOOK_SECONDS: at 0, 0.8, 2.4 and 5.6 s where nothing is added at random."""
JSON = "application/json"


@dataclass
class Scene:
    """A namespace, and the proxy behind which its operators work, one after the other."""

    lab: Lab
    proxy: FaultProxy
    folder: Path
    stack: ExitStack

    def start(self) -> None:
        self.stack.close()
        self.stack.enter_context(operator_behind(self.proxy, self.lab.namespace, self.folder))

    def run(self, name: str) -> dict[str, str]:
        self.lab.submit(paddle_job(name, WAITS))
        self.lab.wait_phase(name, "Running")
        return self.uids(name)

    def uids(self, name: str) -> dict[str, str]:
        pods = [pod["metadata"] for pod in self.lab.pods(name)]
        return {pod["name"]: pod["uid"] for pod in pods}


@pytest.fixture
def scene(unattended: Cluster, tmp_path: Path) -> Iterator[Scene]:
    with (
        new_namespace(unattended) as namespace,
        closing(FaultProxy(unattended)) as proxy,
        ExitStack() as stack,
    ):
        scene = Scene(Lab(unattended, namespace), proxy, tmp_path, stack)
        scene.start()
        yield scene


def test_old_lists_undo_nothing(scene: Scene) -> None:
    """The lists show the job held and its first pods; it has run again since."""
    lab, proxy = scene.lab, scene.proxy
    before = scene.run("old")
    pods, jobs = lab.get(CORE, "pods"), lab.get(PADDLE_JOBS, "paddlejobs")
    jobs["items"][0]["spec"]["suspend"] = True
    lab.edit("old", suspend=True)
    lab.wait_phase("old", "Suspended")
    lab.edit("old", suspend=False)
    lab.wait_phase("old", "Running")
    after, status = scene.uids("old"), lab.status("old")
    assert not set(after.values()) & set(before.values())
    writes = Counted()
    with ExitStack() as rules:
        for kind, listed in (("pods", pods), ("paddlejobs", jobs)):
            old = answer(200, json.dumps(listed).encode(), JSON)
            rules.enter_context(proxy.rule("GET", f"/{kind}[?](?!watch)", old))
        rules.enter_context(proxy.rule("GET", "watch=true", refuse(503, "Unavailable")))
        rules.enter_context(proxy.rule("PATCH", "/status", writes))
        scene.start()
        lab.wait(lambda: writes.paths, "it believes what it was told")
        clock.sleep(LOOK_SECONDS)
        assert scene.uids("old") == after
        assert lab.status("old") == status
    scene.run("next")
    assert scene.uids("old") == after
    assert lab.status("old")["phase"] == "Running"


def test_what_came_and_went_unseen_changes_nothing(scene: Scene) -> None:
    lab = scene.lab
    before = scene.run("old")
    (pod, _) = lab.pods("old")
    scene.stack.close()
    for value in (True, False):
        lab.edit("old", suspend=value)
    kept = {key: pod["metadata"][key] for key in ("labels", "ownerReferences")}
    lab.submit({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "brief", **kept}})
    lab.kubectl("delete", "configmap", "brief")
    scene.start()
    scene.run("next")
    assert scene.uids("old") == before
    assert lab.status("old")["attempt"] == 1


def test_list_that_expires_halfway_is_read_anew(scene: Scene) -> None:
    before = {name: scene.run(name) for name in ("one", "two")}
    continued: list[str] = []

    def shorten(handler: BaseHTTPRequestHandler) -> bool:
        if "continue=" in handler.path:
            continued.append(handler.path)
        handler.path = re.sub(r"limit=\d+", "limit=1", handler.path)
        return False

    expired = first(4, refuse(410, "Expired"))
    with (
        scene.proxy.rule("GET", "limit=", shorten),
        scene.proxy.rule("GET", "continue=", expired),
    ):
        scene.start()
        scene.run("next")
    assert continued, "a list has gone on after those that expired"
    assert {name: scene.uids(name) for name in before} == before


def test_watch_that_ends_at_once_is_opened_ever_more_seldom(scene: Scene) -> None:
    scene.run("before")
    tries = Counted(answer(200, b"", JSON))
    with scene.proxy.rule("GET", "/pods.*watch=true", tries):
        clock.sleep(LOOK_SECONDS)
        assert len(tries.paths) <= MOST_TRIES
        scene.lab.wait(lambda: len(tries.paths) > 1, "it is opened again")
    scene.run("after")


def test_pods_that_the_watch_does_not_show_yet_are_not_made_twice(scene: Scene) -> None:
    lab = scene.lab
    scene.run("before")
    creates = Counted()
    with scene.proxy.rule("POST", "/pods", creates):
        with scene.proxy.rule("GET", "/pods[?]", refuse(503, "Unavailable")):
            lab.submit(paddle_job("late", WAITS))
            lab.wait(lambda: len(lab.pods("late")) == 2, "its pods")
            lab.kubectl("annotate", "pdj", "late", "looked=again")
            clock.sleep(LOOK_SECONDS)
        lab.wait_phase("late", "Running")
    assert len(creates.paths) == 2
