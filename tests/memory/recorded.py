"""Jobs in every state that has a deadline or a next step, and what becomes of each.

`python -m tests.memory.recorded > tests/memory/recorded.json`, run in a release, records its
statuses with the objects that they were decided from. The next release is tested against them.
"""

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any

from api.objects import Raw, format_time, parse_time
from reconcile.model.plan import Refusal
from tests.memory.builders import a_job, a_template
from tests.memory.kubelet import Kubelet, run_job
from tests.memory.world import World

WORKER = "train-worker-0"
CONFIG_ERROR = "CreateContainerConfigError"
POLL_SECONDS = 61.7
"""No recorded moment is a multiple of it, so a missing timer shows."""
FOLLOWED_SECONDS = 1800.0
INVALID = Refusal("Pod", WORKER, "Invalid", "spec.x: Invalid value", 422, is_final=True)
FIELDS = ("volcano_served", "gang_served", "nodes", "namespace_host_ports")
STATES: dict[str, Callable[[World, Kubelet], object]] = {}


def state(make: Callable[[World, Kubelet], object]) -> Callable[[World, Kubelet], object]:
    """A job's state, by its name."""
    STATES[make.__name__] = make
    return make


def follow(world: World) -> list[Any]:
    """What becomes of the job if nothing around it changes: the moments, and what is then true."""
    began, steps = world.now, list[Any]()
    while (seconds := (world.now - began).total_seconds()) < FOLLOWED_SECONDS:
        plan = world.settle()
        if world.nodes is None:
            Kubelet(world).reap_all()
            plan = world.settle()
        facts = _facts(world)
        if not steps or steps[-1][1:] != facts:
            steps.append([round(seconds, 1), *facts])
        world.advance(min(plan.requeue_after or POLL_SECONDS, POLL_SECONDS))
    return steps


def _facts(world: World) -> list[Any]:
    if not world.of_kind("PaddleJob"):
        return ["gone"]
    status = world.status()
    counts = [status.get(name, 0) for name in ("attempt", "restartCount", "failureCount")]
    return [status.get("phase"), status.get("reason"), *counts, world.names("Pod")]


def dump(world: World) -> Raw:
    """A world as JSON, without what no pass reads."""
    objects = [json.loads(json.dumps(obj)) for obj in world.objects.values()]
    for obj in objects:
        labels = obj["metadata"].get("labels", {})
        obj["metadata"]["labels"] = {k: v for k, v in labels.items() if "app.kubernetes" not in k}
        if obj["kind"] == "Pod":
            obj["spec"] = {**obj["spec"], "containers": [{"name": "paddle", "image": "train:1"}]}
        if obj["kind"] == "ConfigMap":
            obj.pop("data", None)
    raw = {name: getattr(world, name) for name in FIELDS if getattr(world, name)}
    return raw | {
        "now": format_time(world.now),
        "objects": objects,
        "scheduling": world.settings.scheduling,
        "refused": sorted(world.refused_kinds),
        "refusals": [asdict(each) for each in world.refusals.values()],
        "taken": sorted(world.taken_host_ports),
    }


def load(raw: Raw) -> World:
    """The world again, and in it an operator that has just started."""
    world = World(**{name: raw[name] for name in FIELDS if name in raw})
    now = parse_time(raw["now"])
    assert now is not None
    world.now = now
    world.settings = type(world.settings)(scheduling=raw["scheduling"])
    world.refused_kinds = set(raw["refused"])
    for each in (Refusal(**fields) for fields in raw["refusals"]):
        world.refusals[each.child] = each
    world.taken_host_ports = frozenset(raw["taken"])
    for obj in raw["objects"]:
        world.put(obj)
    return world


def _waits(world: World, kubelet: Kubelet, reason: str, message: str) -> None:
    run_up(world, kubelet)
    kubelet.wait(WORKER, reason, message)
    world.settle()


def run_up(world: World, kubelet: Kubelet, **spec: object) -> None:
    """All pods have addresses, and none runs."""
    world.submit(a_job().with_workers(2).with_spec(**spec))
    world.settle()
    kubelet.place_all()
    world.settle()
    world.advance(3)


def _runs(world: World, kubelet: Kubelet, **spec: object) -> None:
    world.submit(a_job().with_workers(2).with_spec(**spec))
    run_job(world, kubelet)
    world.advance(7)


def _ends(world: World, kubelet: Kubelet, code: int = 1) -> None:
    _runs(world, kubelet)
    kubelet.see_end(WORKER, code)


STATES |= {
    "image_error": partial(_waits, reason="ErrImagePull", message="no such image"),
    "image_name": partial(_waits, reason="InvalidImageName", message="no name"),
    "missing_secret": partial(_waits, reason=CONFIG_ERROR, message='secret "s" not found'),
    "missing_key": partial(_waits, reason=CONFIG_ERROR, message="couldn't find key k in Secret s"),
    "running": _runs,
    "failed": _ends,
    "completing": partial(_ends, code=0),
    "active_deadline": partial(_runs, activeDeadlineSeconds=97),
    "starting_deadline": partial(run_up, startingDeadlineSeconds=97),
}


@state
def image_back_off(world: World, kubelet: Kubelet) -> None:
    _waits(world, kubelet, "ErrImagePull", "no such image")
    world.advance(11)
    kubelet.wait(WORKER, "ImagePullBackOff", "Back-off")
    world.settle()


@state
def invalid_child(world: World, _: Kubelet) -> None:
    world.refusals[INVALID.child] = INVALID
    world.submit(a_job().with_workers(2))
    world.settle()
    world.advance(9)


@state
def quota(world: World, _: Kubelet) -> None:
    world.refused_kinds.add("Pod")
    world.submit(a_job().with_workers(2).with_spec(startingDeadlineSeconds=101))
    world.settle()
    world.advance(9)


@state
def back_off(world: World, kubelet: Kubelet) -> None:
    _runs(world, kubelet, backoffLimit=3)
    for _ in range(2):
        kubelet.see_end(WORKER, 1)
        kubelet.reap_all()
        world.advance(3)
        run_job(world, kubelet)


@state
def restarted_by_quota(world: World, kubelet: Kubelet) -> None:
    _runs(world, kubelet, backoffLimit=3)
    kubelet.see_end(WORKER, 1)
    world.refused_kinds.add("Pod")
    kubelet.reap_all()
    world.advance(60)
    world.settle()


@state
def restarted_uncharged(world: World, kubelet: Kubelet) -> None:
    _runs(world, kubelet)
    kubelet.evict(WORKER)
    world.settle()
    world.advance(2)


@state
def failing_without_limit(world: World, kubelet: Kubelet) -> None:
    _runs(world, kubelet)
    kubelet.end(WORKER, 1)


@state
def scaling(world: World, kubelet: Kubelet) -> None:
    world.submit(a_job().with_elastic_workers(2, 1, 4))
    run_job(world, kubelet)
    world.edit_spec(worker={**world.job()["spec"]["worker"], "replicas": 3})
    world.settle()
    world.advance(7)


@state
def elastic_loss(world: World, kubelet: Kubelet) -> None:
    world.submit(a_job().with_elastic_workers(3, 1, 4))
    run_job(world, kubelet)
    kubelet.see_end(WORKER, 1)


@state
def suspended(world: World, kubelet: Kubelet) -> None:
    _runs(world, kubelet)
    world.edit_spec(suspend=True)
    world.settle()


@state
def resuming(world: World, kubelet: Kubelet) -> None:
    suspended(world, kubelet)
    world.edit_spec(suspend=False)
    world.work()


@state
def verdict(world: World, kubelet: Kubelet) -> None:
    _runs(world, kubelet, backoffLimit=1)
    lost = "RuntimeError: [gloo] Connection closed by peer [10.1.0.2]:1"
    kubelet.see_end(WORKER, 1, message=lost)
    world.advance(2)


@state
def ports_held(world: World, _: Kubelet) -> None:
    world.submit(a_job().with_workers(2).with_spec(intranet="Host"))
    world.settle()


@state
def ports_short(world: World, _: Kubelet) -> None:
    world.namespace_host_ports = 387
    world.submit(a_job().with_workers(2).with_spec(intranet="Host"))
    world.settle()


@state
def gang_held(world: World, _: Kubelet) -> None:
    world.volcano_served = True
    world.settings = type(world.settings)(scheduling="volcano")
    world.submit(a_job().with_workers(2).with_spec(startingDeadlineSeconds=97))
    world.settle()


@state
def adopted(world: World, kubelet: Kubelet) -> None:
    _runs(world, kubelet, backoffLimit=1)
    since = {"reason": "Adopted", "message": "", "lastTransitionTime": format_time(world.now)}
    condition = {"type": "Adopted", "status": "True", **since}
    world.change("PaddleJob", "train", lambda job: job["status"]["conditions"].append(condition))
    kubelet.end(WORKER, 1)


@state
def completed_with_ttl(world: World, kubelet: Kubelet) -> None:
    _runs(world, kubelet, ttlSecondsAfterFinished=97)
    kubelet.end_all("worker")
    world.settle()
    world.advance(7)


@state
def lost_node(world: World, kubelet: Kubelet) -> None:
    _runs(world, kubelet, backoffLimit=1)
    world.nodes = {"node-1": _lost_node(world)}
    kubelet.see_end("train-worker-1", 1)


@state
def terminating(world: World, kubelet: Kubelet) -> None:
    lost_node(world, kubelet)
    world.change(
        "PaddleJob",
        "train",
        lambda job: job["metadata"].update(
            deletionTimestamp=format_time(world.now), finalizers=["foregroundDeletion"]
        ),
    )
    world.settle()


@state
def restarts_in_place(world: World, kubelet: Kubelet) -> None:
    world.submit(a_job().with_workers(1, a_template(restartPolicy="OnFailure")))
    run_job(world, kubelet)
    for _ in range(3):
        kubelet.restart(WORKER)
        world.settle()


@state
def unreadable(world: World, kubelet: Kubelet) -> None:
    _runs(world, kubelet)
    world.change("PaddleJob", "train", lambda job: job["status"].update(startTime="yesterday"))
    world.settle()


def _lost_node(world: World) -> Raw:
    ready = {"type": "Ready", "status": "Unknown", "lastTransitionTime": format_time(world.now)}
    taint = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "node-1", "creationTimestamp": format_time(world.now)},
        "spec": {"taints": [taint | {"timeAdded": format_time(world.now)}]},
        "status": {"conditions": [ready]},
    }


def record() -> Raw:
    """Every state with what this release does next."""
    found: Raw = {}
    for name, make in STATES.items():
        world = World()
        make(world, Kubelet(world))
        raw = dump(world)
        found[name] = raw | {"steps": follow(load(raw))}
    return found


if __name__ == "__main__":
    json.dump(record(), sys.stdout, separators=(",", ":"))
