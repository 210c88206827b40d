"""Jobs in every state that has a deadline or a next step, and what becomes of each.

`python -m tests.memory.recorded > tests/memory/recorded.json`, run in a release, records its
statuses with the objects that they were decided from. The next release is tested against them.
"""

import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any

from api.objects import Raw, format_time, parse_time
from reconcile.model.plan import Refusal, Settings
from tests.memory.builders import a_job, a_template
from tests.memory.world import World

WORKER = "train-worker-0"
CONFIG_ERROR = "CreateContainerConfigError"
POLL_SECONDS = 61.7
"""No recorded moment is a multiple of it, so a missing timer shows."""
FOLLOWED_SECONDS = 1800.0
INVALID = Refusal("Pod", WORKER, "Invalid", "spec.x: Invalid value", 422, is_final=True)
FIELDS = ("volcano_served", "gang_served", "nodes", "namespace_host_ports")


def follow(world: World) -> list[Any]:
    """What becomes of the job if nothing around it changes: the moments, and what is then true."""
    began, steps = world.now, list[Any]()
    while (seconds := (world.now - began).total_seconds()) < FOLLOWED_SECONDS:
        plan = world.settle()
        if world.nodes is None:
            world.kubelet.reap_all()
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


Step = Callable[[World], object]


def do(name: str, *arguments: object, **fields: object) -> Step:
    """What a world's kubelet does, or else the world."""

    def step(world: World) -> object:
        owner = world.kubelet if hasattr(world.kubelet, name) else world
        return getattr(owner, name)(*arguments, **fields)

    return step


def submit(workers: int = 2, template: Raw | None = None, **spec: Any) -> Step:
    return lambda world: world.begin(a_job().with_workers(workers, template).with_spec(**spec))


def elastic(replicas: int) -> Step:
    """A running job of one to four workers."""
    return lambda world: world.run(a_job().with_elastic_workers(replicas, 1, 4))


def advance(seconds: float) -> Step:
    return do("advance", seconds)


def end(code: int = 1, **fields: object) -> Step:
    return do("see_end", WORKER, code, **fields)


def run_up(**spec: Any) -> tuple[Step, ...]:
    """All pods have addresses, and none runs."""
    return submit(**spec), do("place_all"), SETTLE, advance(3)


def waits(reason: str, message: str) -> tuple[Step, ...]:
    return *run_up(), do("wait", WORKER, reason, message), SETTLE


def runs(**spec: Any) -> tuple[Step, ...]:
    return submit(**spec), RUN, advance(7)


def change(edit: Callable[[World, Raw], object]) -> Step:
    """Change the job otherwise than the operator does."""
    return lambda world: world.change("PaddleJob", "train", lambda job: edit(world, job))


def place(**fields: Any) -> Step:
    """The world around the job is like this."""
    return lambda world: vars(world).update(fields)


def scale(world: World) -> Raw:
    return world.edit_spec(worker=world.job()["spec"]["worker"] | {"replicas": 3})


def lose_node(world: World) -> None:
    since = format_time(world.now)
    ready = {"type": "Ready", "status": "Unknown", "lastTransitionTime": since}
    taint = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "timeAdded": since}
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "node-1", "creationTimestamp": since},
        "spec": {"taints": [taint]},
        "status": {"conditions": [ready]},
    }
    world.nodes = {"node-1": node}


def adopt(world: World, job: Raw) -> None:
    since = {"reason": "Adopted", "message": "", "lastTransitionTime": format_time(world.now)}
    job["status"]["conditions"].append({"type": "Adopted", "status": "True", **since})


def delete(world: World, job: Raw) -> None:
    deleted = {"deletionTimestamp": format_time(world.now), "finalizers": ["foregroundDeletion"]}
    job["metadata"] |= deleted


def garble(_: World, job: Raw) -> None:
    job["status"]["startTime"] = "yesterday"


SETTLE, RUN, REAP = do("settle"), do("run"), do("reap_all")
NO_PODS = place(refused_kinds={"Pod"})
RETRY = (end(), REAP, advance(3), RUN)
SUSPENDED = (*runs(), do("edit_spec", suspend=True), SETTLE)
LOST_NODE = (*runs(backoffLimit=1), lose_node, do("see_end", "train-worker-1", 1))
IN_PLACE = submit(1, a_template(restartPolicy="OnFailure"))
LOST_PEER = "RuntimeError: [gloo] Connection closed by peer [10.1.0.2]:1"
STATES: dict[str, Iterable[Step]] = {
    "image_error": waits("ErrImagePull", "no such image"),
    "image_name": waits("InvalidImageName", "no name"),
    "missing_secret": waits(CONFIG_ERROR, 'secret "s" not found'),
    "missing_key": waits(CONFIG_ERROR, "couldn't find key k in Secret s"),
    "running": runs(),
    "failed": (*runs(), end()),
    "completing": (*runs(), end(0)),
    "active_deadline": runs(activeDeadlineSeconds=97),
    "starting_deadline": run_up(startingDeadlineSeconds=97),
    "image_back_off": (
        *waits("ErrImagePull", "no such image"),
        *(advance(11), do("wait", WORKER, "ImagePullBackOff", "Back-off"), SETTLE),
    ),
    "invalid_child": (place(refusals={INVALID.child: INVALID}), submit(), advance(9)),
    "quota": (NO_PODS, submit(startingDeadlineSeconds=101), advance(9)),
    "back_off": (*runs(backoffLimit=3), *RETRY, *RETRY),
    "restarted_by_quota": (*runs(backoffLimit=3), end(), NO_PODS, REAP, advance(60), SETTLE),
    "restarted_uncharged": (*runs(), do("evict", WORKER), SETTLE, advance(2)),
    "failing_without_limit": (*runs(), do("end", WORKER, 1)),
    "scaling": (elastic(2), scale, SETTLE, advance(7)),
    "elastic_loss": (elastic(3), end()),
    "suspended": SUSPENDED,
    "resuming": (*SUSPENDED, do("edit_spec", suspend=False), do("work")),
    "verdict": (*runs(backoffLimit=1), end(message=LOST_PEER), advance(2)),
    "ports_held": (submit(intranet="Host"),),
    "ports_short": (place(namespace_host_ports=387), submit(intranet="Host")),
    "gang_held": (
        place(volcano_served=True, settings=Settings(scheduling="volcano")),
        submit(startingDeadlineSeconds=97),
    ),
    "adopted": (*runs(backoffLimit=1), change(adopt), do("end", WORKER, 1)),
    "completed_with_ttl": (
        *runs(ttlSecondsAfterFinished=97),
        *(do("end_all", "worker"), SETTLE, advance(7)),
    ),
    "lost_node": LOST_NODE,
    "terminating": (*LOST_NODE, change(delete), SETTLE),
    "restarts_in_place": (IN_PLACE, RUN, *3 * (do("restart", WORKER), SETTLE)),
    "unreadable": (*runs(), change(garble), SETTLE),
}


def record() -> Raw:
    """Every state with what this release does next."""
    found: Raw = {}
    for name, steps in STATES.items():
        world = World()
        for step in steps:
            step(world)
        raw = dump(world)
        found[name] = raw | {"steps": follow(load(raw))}
    return found


if __name__ == "__main__":
    json.dump(record(), sys.stdout, separators=(",", ":"))
