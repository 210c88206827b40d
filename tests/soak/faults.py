"""What fails, by kind. Each begins at once and returns how it ends; neither waits for anything.

A fault of which there is nothing to hit by now, or that the API server does not take because it is
away itself, does not happen.
"""

import contextlib
import re
import shutil
import signal
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from api.constants import LABEL_JOB_NAME
from api.objects import Raw, labels_of, name_of, namespace_of
from kube.client import MERGE_PATCH
from kube.errors import AlreadyExists
from localcluster.cluster.components import API_SERVER, CONTROLLER_MANAGER, ETCD, SCHEDULER
from tests.live.faulty import webhook
from tests.live.lab import CORE, ENDED
from tests.live.nodepods import kill_processes
from tests.live.operated import DEPLOYMENT
from tests.live.proxy import Act, FaultProxy, answer, cut, delay, lag, refuse
from tests.soak.ledger import Ledger
from tests.soak.place import BINDINGS, NAMESPACES, NODES, OPERATORS, WEBHOOKS, Place
from tests.soak.sequence import Fault

End = Callable[[], None]
SLOW_SECONDS = 3.0
WATCHED = ("paddlejobs", "pods", "services", "configmaps", "nodes")
LAGS_SECONDS = (3.0, 8.0, 30.0)


class NothingToHitError(Exception):
    """There is nothing of the kind just now."""


@dataclass
class Scene:
    """What faults act on. `on_restore` is called when the world has gone back in time."""

    place: Place
    ledger: Ledger
    folder: Path
    deaf: socket.socket
    """Connections wait here for ever."""
    on_restore: Callable[[], None]

    def seats(self, pick: float) -> Sequence[str]:
        """The leader, the standby, or both."""
        leader = self.place.leader
        (standby,) = (name for name in OPERATORS if name != leader)
        return [leader] if pick < 0.5 else [standby] if pick < 0.75 else OPERATORS

    def proxies(self, pick: float) -> list[FaultProxy]:
        return [self.place.seats[name].proxy for name in self.seats(pick)]

    def child(self, kind: str, pick: float, phase: str = "") -> Raw:
        """One of the jobs' children; its job may restart from now on."""
        found = [
            obj
            for obj in self.place.children(kind)
            if (namespace_of(obj), labels_of(obj).get(LABEL_JOB_NAME)) in self.ledger.expected
            and phase in ("", (obj.get("status") or {}).get("phase"))
        ]
        chosen = choose(sorted(found, key=lambda obj: (namespace_of(obj), name_of(obj))), pick)
        self.ledger.touch((namespace_of(chosen), labels_of(chosen)[LABEL_JOB_NAME]))
        return chosen

    def job(self, pick: float, is_wanted: Callable[[Raw], bool] = lambda _: True) -> Raw:
        found = [job for job, _ in self.ledger.jobs_in(self.place.jobs()) if is_wanted(job)]
        return choose(sorted(found, key=lambda job: (namespace_of(job), name_of(job))), pick)


def choose(found: list[Raw], pick: float) -> Raw:
    """The one that the number stands for."""
    if not found:
        raise NothingToHitError
    return found[int(pick * len(found))]


def nothing() -> None:
    """How a fault ends that is over at once."""


# Components


def away(*names: str) -> Callable[[Scene, Fault], End]:
    """Components of the control plane do not run."""

    def begin(scene: Scene, _fault: Fault) -> End:
        for name in names:
            scene.place.hold(name)
        return partial(scene.place.release, *names)

    return begin


def restore(scene: Scene, _fault: Fault) -> End:
    """A snapshot of etcd now; in the end it is restored, and all but the operators start anew."""
    place, snapshot = scene.place, scene.folder / "snapshot"
    scene.ledger.note_snapshot(place.jobs())
    stop_all(place, (API_SERVER, ETCD))
    shutil.rmtree(snapshot, ignore_errors=True)
    shutil.copytree(place.etcd_data(), snapshot)

    def end() -> None:
        stop_all(place, (API_SERVER, SCHEDULER, CONTROLLER_MANAGER, *NODES, ETCD))
        data = place.etcd_data()
        shutil.rmtree(data)
        shutil.copytree(snapshot, data)
        scene.ledger.note_restore()
        scene.on_restore()

    return end


def stop_all(place: Place, names: Sequence[str]) -> None:
    """Whatever is not held down starts again by itself."""
    for name in names:
        place.cluster.stop(name)


# Operators and nodes


def a_node(_scene: Scene, pick: float) -> Sequence[str]:
    return [NODES[int(pick * len(NODES))]]


def signalled(
    number: signal.Signals, which: Callable[[Scene, float], Sequence[str]]
) -> Callable[[Scene, Fault], End]:
    """Operators, or a node and all that runs there: dead, or silent. In the end they go on.

    What is stopped goes on as if nothing had been; pods of a silent node run on.
    """

    def begin(scene: Scene, fault: Fault) -> End:
        place, names = scene.place, which(scene, fault.pick)
        touch = scene.ledger.touch_all if which is a_node else nothing
        touch()
        stops = number == signal.SIGSTOP
        place.held.update(() if stops else names)
        place.signal(number, *names)

        def end() -> None:
            touch()
            place.signal(signal.SIGCONT, *names) if stops else place.release(*names)

        return end

    return begin


# The way to the API server


def network(method: str, pattern: str, act: Act) -> Callable[[Scene, Fault], End]:
    """Something happens to an operator's requests instead of what they ask for."""

    def begin(scene: Scene, fault: Fault) -> End:
        stack = contextlib.ExitStack()
        for proxy in scene.proxies(fault.pick):
            stack.enter_context(proxy.rule(method, pattern, act))
        return stack.close

    return begin


def half_open(scene: Scene, fault: Fault) -> End:
    """Connections stay open, and nothing comes through any more."""
    for proxy in scene.proxies(fault.pick):
        proxy.freeze(lambda _: True)
    return nothing


def watched_kind(pick: float) -> str:
    """One of the kinds, as the paths of its watches go."""
    return rf"/{WATCHED[int(pick * 1000) % len(WATCHED)]}\?.*watch=true"


def watch_late(scene: Scene, fault: Fault) -> End:
    """The watch of one kind lags; in the end it is opened anew, and has caught up."""
    stack, pattern = contextlib.ExitStack(), watched_kind(fault.pick)
    act = lag(LAGS_SECONDS[int(fault.pick * 100) % len(LAGS_SECONDS)])
    for proxy in scene.proxies(fault.pick):
        stack.callback(proxy.drop, lambda handler: bool(re.search(pattern, handler.path)))
        stack.enter_context(proxy.rule("GET", pattern, act))
    return stack.close


def watch_stopped(scene: Scene, fault: Fault) -> End:
    """The watch of one kind stays open, and brings nothing until the operator lists anew."""
    pattern = re.compile(watched_kind(fault.pick))
    for proxy in scene.proxies(fault.pick):
        proxy.freeze(lambda path: bool(pattern.search(path)))
    return nothing


def proxies_with(
    name: str, value: Any, usual: Any, drops: bool = False
) -> Callable[[Scene, Fault], End]:
    """The proxies are otherwise for a while; all connections end first, if this is of new ones."""

    def begin(scene: Scene, fault: Fault) -> End:
        stack = contextlib.ExitStack()
        for proxy in scene.proxies(fault.pick):
            setattr(proxy, name, value)
            stack.callback(setattr, proxy, name, usual)
            if drops:
                proxy.drop()
        return stack.close

    return begin


# Pods and other children


def pod_path(pod: Raw, subresource: str) -> str:
    return f"{CORE}/namespaces/{namespace_of(pod)}/pods/{name_of(pod)}/{subresource}"


def pod_killed(scene: Scene, fault: Fault) -> End:
    """All processes of a pod are killed."""
    pod = scene.child("Pod", fault.pick, "Running")
    if scene.place.process(pod["spec"]["nodeName"]) is None:
        raise NothingToHitError
    kill_processes(scene.place.cluster, pod)
    return nothing


def pod_evicted(scene: Scene, fault: Fault) -> End:
    """What `kubectl drain` asks for."""
    pod = scene.child("Pod", fault.pick, "Running")
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name_of(pod)}}
    scene.place.client.create(pod_path(pod, "eviction"), eviction)
    return nothing


def pod_squeezed_out(scene: Scene, fault: Fault) -> End:
    """What a kubelet says whose node runs out of something."""
    pod = scene.child("Pod", fault.pick, "Running")
    status = {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource"}
    scene.place.client.patch(pod_path(pod, "status"), {"status": status}, MERGE_PATCH)
    return nothing


def child_deleted(
    kind: str, plural: str, grace_seconds: int | None = None
) -> Callable[[Scene, Fault], End]:
    """Somebody deletes a pod, a Service or a ConfigMap."""

    def begin(scene: Scene, fault: Fault) -> End:
        child = scene.child(kind, fault.pick)
        path = f"{CORE}/namespaces/{namespace_of(child)}/{plural}/{name_of(child)}"
        scene.place.client.delete(path, grace_seconds=grace_seconds)
        return nothing

    return begin


# Those who administer the cluster, and its users


def rights_taken(scene: Scene, _fault: Fault) -> End:
    """The operators may do nothing."""
    scene.place.client.delete(f"{BINDINGS}/{DEPLOYMENT}")
    return scene.place.bind


def quota(scene: Scene, fault: Fault) -> End:
    """A namespace may have no more pods."""
    path = f"{CORE}/namespaces/{NAMESPACES[fault.pick > 0.5]}/resourcequotas"
    body = {"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}}
    scene.place.client.create(path, body)
    return partial(remove, scene, f"{path}/none")


def pods_refused(is_slow: bool) -> Callable[[Scene, Fault], End]:
    """A webhook for the pods of a namespace hangs, or nothing is there to answer."""

    def begin(scene: Scene, fault: Fault) -> End:
        namespace = NAMESPACES[fault.pick > 0.5]
        port = scene.deaf.getsockname()[1] if is_slow else 1
        scene.place.client.create(WEBHOOKS, webhook(namespace, port))
        return partial(remove, scene, f"{WEBHOOKS}/{namespace}")

    return begin


def remove(scene: Scene, path: str) -> None:
    """Delete an object of a fault's; a restore may have done that already."""
    if scene.place.client.find(path) is not None:
        scene.place.client.delete(path)


def job_recreated(scene: Scene, fault: Fault) -> End:
    """A user deletes a job and submits it again at once."""
    job = scene.job(fault.pick)
    namespace = namespace_of(job)
    again = {key: job[key] for key in ("apiVersion", "kind", "spec")}
    scene.place.client.delete(scene.place.job_path(namespace, name_of(job)))

    def end() -> None:
        body = {**again, "metadata": {"name": name_of(job)}}
        with contextlib.suppress(AlreadyExists):
            scene.place.client.create(scene.place.job_path(namespace), body)

    return end


def job_suspended(scene: Scene, fault: Fault) -> End:
    """A user suspends a job and resumes it."""
    job = scene.job(fault.pick, lambda job: (job.get("status") or {}).get("phase") not in ENDED)
    name = (namespace_of(job), name_of(job))
    scene.ledger.touch(name)
    patch_job(scene, name, {"suspend": True})
    return partial(patch_job, scene, name, {"suspend": False})


def job_scaled(scene: Scene, fault: Fault) -> End:
    """A user changes the workers of an elastic job."""
    job = scene.job(fault.pick, lambda job: "elastic" in job["spec"])
    name = (namespace_of(job), name_of(job))
    scene.ledger.touch(name)
    patch_job(scene, name, {"worker": {"replicas": 1 + int(fault.pick * 10) % 3}})
    return nothing


def patch_job(scene: Scene, name: tuple[str, str], spec: Raw) -> None:
    """Change a job's spec, if it is there."""
    path = scene.place.job_path(*name)
    if scene.place.client.find(path) is not None:
        scene.place.client.patch(path, {"spec": spec}, MERGE_PATCH)


@dataclass(frozen=True, slots=True)
class Kind:
    """How a kind of fault begins, and how long it may last if not as long as others."""

    begin: Callable[[Scene, Fault], End]
    most_seconds: float = 0.0


_GONE = refuse(410, "Expired")
_BUSY = refuse(429, "TooManyRequests", retry_after=1)
_BROKEN = refuse(500, "InternalError")
KINDS = {
    "api server away": Kind(away(API_SERVER)),
    "etcd away": Kind(away(ETCD), 6.0),
    "etcd restored": Kind(restore, 8.0),
    "controller manager away": Kind(away(CONTROLLER_MANAGER)),
    "scheduler away": Kind(away(SCHEDULER)),
    "operator killed": Kind(signalled(signal.SIGKILL, Scene.seats), 5.0),
    "operator terminated": Kind(signalled(signal.SIGTERM, Scene.seats), 5.0),
    "operator frozen": Kind(signalled(signal.SIGSTOP, Scene.seats), 30.0),
    "node killed": Kind(signalled(signal.SIGKILL, a_node), 20.0),
    "node frozen": Kind(signalled(signal.SIGSTOP, a_node), 20.0),
    "network cut": Kind(network("", "", cut), 20.0),
    "lease cut": Kind(network("", "/leases", cut), 20.0),
    "network slow": Kind(network("", "", delay(SLOW_SECONDS))),
    "404 of a load balancer": Kind(network("GET", "", answer(404, b"default backend - 404"))),
    "410 of watches": Kind(network("GET", "watch=true", _GONE), 6.0),
    "429": Kind(network("", "", _BUSY)),
    "500": Kind(network("", "", _BROKEN)),
    "half-open connections": Kind(half_open),
    "watch of a kind late": Kind(watch_late, 40.0),
    "watch of a kind stopped": Kind(watch_stopped),
    "slow TLS": Kind(proxies_with("handshake_seconds", SLOW_SECONDS, 0.0, drops=True)),
    "answers lost": Kind(proxies_with("after_write", lambda _: False, lambda _: True)),
    "pod killed": Kind(pod_killed),
    "pod deleted": Kind(child_deleted("Pod", "pods")),
    "pod gone at once": Kind(child_deleted("Pod", "pods", 0)),
    "pod evicted": Kind(pod_evicted),
    "pod squeezed out": Kind(pod_squeezed_out),
    "Service deleted": Kind(child_deleted("Service", "services")),
    "ConfigMap deleted": Kind(child_deleted("ConfigMap", "configmaps")),
    "rights taken": Kind(rights_taken),
    "quota": Kind(quota),
    "webhook hangs": Kind(pods_refused(True), 20.0),
    "webhook away": Kind(pods_refused(False)),
    "job recreated": Kind(job_recreated, 2.0),
    "job suspended": Kind(job_suspended),
    "job scaled": Kind(job_scaled),
}
