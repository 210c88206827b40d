"""Gathers the input of `reconcile` from the store and the memory.

Some objects are in no watch and are read from the API server: pods that another operator created,
and objects that queued jobs need. Thread-safe.
"""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from api.objects import Raw, condition_of, is_deleting, name_of, uid_of
from api.ownership import Key, Owner
from api.trainer import Devices, most_devices
from controller.cache.store import Family, Store
from controller.cache.trim import trim
from controller.client.resources import (
    CONFIG_MAP,
    GANG_POD_GROUP,
    NODE,
    POD,
    PRIORITY_CLASS,
    RESOURCE_FLAVOR,
    SERVICE,
    VOLCANO_POD_GROUP,
    WORKLOAD,
    WORKLOAD_PRIORITY_CLASS,
    Resource,
)
from controller.work.memory import JobMemory
from kube.errors import Forbidden, NotFound
from reconcile.attempt.adoption import names_to_ask_for
from reconcile.model.plan import Child, Observed
from reconcile.model.workload import objects_to_read

_UNWATCHED = {
    resource.kind: resource
    for resource in (RESOURCE_FLAVOR, WORKLOAD_PRIORITY_CLASS, PRIORITY_CLASS, WORKLOAD)
}


@dataclass(frozen=True, slots=True)
class Observer:
    """Builds the input of `reconcile`.

    `is_served` says whether the API server serves a kind in a namespace, `is_forbidden` whether the
    operator has no right to an optional kind, `is_backlogged` whether jobs of a namespace wait for
    a worker. `get` reads an object from the API server, by its path.
    """

    store: Store
    memory: JobMemory
    is_served: Callable[[Resource, str], bool]
    get: Callable[[str], Raw]
    is_backlogged: Callable[[str], bool] = lambda _: False
    is_forbidden: Callable[[Resource, str], bool] = lambda *_: False

    def observe(self, key: Key, family: Family) -> Observed:
        """The observation of a family. Raises ApiError if a request for it fails."""
        job, children = family.job, family.children
        uid = uid_of(job)
        pods = children.get(POD, ())
        volcano, gang = children.get(VOLCANO_POD_GROUP, ()), children.get(GANG_POD_GROUP, ())
        return Observed(
            job=job,
            pods=pods,
            former_children=family.former_children,
            services=children.get(SERVICE, ()),
            config_maps=children.get(CONFIG_MAP, ()),
            pod_groups=volcano + gang,
            named_pod_group=family.named_pod_group,
            volcano_served=self.is_served(VOLCANO_POD_GROUP, key.namespace),
            gang_served=self.is_served(GANG_POD_GROUP, key.namespace),
            workloads=children.get(WORKLOAD, ()),
            workloads_served=self.is_served(WORKLOAD, key.namespace),
            workloads_forbidden=self.is_forbidden(WORKLOAD, key.namespace),
            unwatched_objects=dict(self._unwatched_objects(key, family)),
            nodes=self._nodes(pods),
            most_devices=self._most_devices(pods),
            is_backlogged=self.is_backlogged(key.namespace),
            unseen_pods=tuple(self._unseen_pods(key, job, pods)),
            **self.memory.facts(key, uid)._asdict(),
        )

    def _unseen_pods(self, key: Key, job: Raw, pods: tuple[Raw, ...]) -> Iterator[Raw]:
        """The pods that another operator created for the job, which no watch shows."""
        owner, known = Owner(key, uid_of(job)), {name_of(pod) for pod in pods}
        for name in names_to_ask_for(job):
            if name not in known:
                with contextlib.suppress(NotFound):
                    pod = self.get(POD.path(owner.key.namespace, name))
                    if owner.controls(pod):
                        yield trim(POD, pod)

    def _unwatched_objects(self, key: Key, family: Family) -> Iterator[tuple[Child, Raw]]:
        """Unwatched objects that queued jobs need. An object that we must not read is empty."""
        if not self.is_served(WORKLOAD, key.namespace):
            return
        pods = len(family.children.get(POD, ()))
        for child in objects_to_read(family.job, family.children.get(WORKLOAD, ()), pods):
            with contextlib.suppress(NotFound):
                try:
                    resource = _UNWATCHED[child[0]]
                    namespace = key.namespace if resource is WORKLOAD else ""
                    yield child, self.get(resource.path(namespace, child[1]))
                except Forbidden:
                    yield child, {}

    def _nodes(self, pods: tuple[Raw, ...]) -> dict[str, Raw] | None:
        if not self.is_served(NODE, ""):
            return None
        names = {pod["spec"].get("nodeName", "") for pod in pods if is_deleting(pod)}
        found = {name: self.store.get(NODE, Key("", name)) for name in names}
        return {name: node for name, node in found.items() if node is not None}

    def _most_devices(self, pods: tuple[Raw, ...]) -> Devices | None:
        waiting = (pod for pod in pods if not pod["spec"].get("nodeName"))
        is_needed = any(condition_of(pod, "PodScheduled", "False") for pod in waiting)
        if not is_needed or not self.is_served(NODE, ""):
            return None
        # A set, because most nodes have the same devices, and comparing thousands takes long.
        return most_devices(map(dict, {facts.devices for _, facts in self.store.facts(NODE)}))
