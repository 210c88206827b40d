"""All watches of the operator: a reflector for each kind, for all namespaces or for each given one.

If there are several namespaces, none delays the others. The API server refuses the watches of a
namespace that does not exist yet, or lacks the operator's Role. The other namespaces work, and
`problems` names the refused one until it can be read. In each of several namespaces, jobs are
listed after everything else, so that no pass decides about a job whose pods it cannot see.

The manager's thread calls `start`, `list_again` and `stop`; any thread can call the rest.
"""

import threading
from collections.abc import Callable, Sequence
from operator import or_

from api.constants import LABEL_JOB_UID
from controller.cache.reflector import Reflector, Scope
from controller.client.resources import (
    CONFIG_MAP,
    GANG_POD_GROUP,
    NODE,
    PADDLE_JOB,
    POD,
    SERVICE,
    VOLCANO_POD_GROUP,
    WORKLOAD,
    Resource,
)

_POLL_SECONDS = 0.05

Build = Callable[[Resource, Scope], Reflector]
_Group = dict[Resource, Reflector]
"""The watches of one namespace, or of all namespaces at once."""


class Watches:
    """The reflectors of all kinds and namespaces. No namespaces means all of them."""

    def __init__(self, namespaces: Sequence[str], build: Build, *, kueue: bool = False) -> None:
        self._stop = threading.Event()
        self._groups: dict[str, _Group] = {
            namespace: {r: build(r, scope) for r, scope in watched(namespace, kueue=kueue)}
            for namespace in namespaces or ("",)
        }

    def start(self, start_thread: Callable[[str, Callable[[], None]], None]) -> None:
        """Start a named thread for each watch."""
        for group in self._groups.values():
            for resource, reflector in group.items():
                waits = resource is PADDLE_JOB and self._is_list
                run = self._after_children(group, reflector) if waits else reflector.run
                start_thread(f"watch-{self._name(reflector)}", run)

    def stop(self) -> None:
        """Stop all watches."""
        self._stop.set()
        for reflector in self._all():
            reflector.stop()

    def are_full(self) -> bool:
        """Whether every watch has listed.

        With several namespaces, one of them must be full, and each other one full or refused.
        """
        return self._are_all(lambda reflector: reflector.has_listed)

    def list_again(self) -> None:
        """List the jobs again, with Kueue also Workloads and pods. Then wait for `are_current`.

        Without Kueue the jobs are enough. A status is written before its pods change, so a pass can
        act on a fresh job with old children, but not on an old job with fresh children. With Kueue,
        a job with fresh pods and an old Workload would seem to have lost its quota. A job whose
        pods are not shown yet would give its quota back while they run.
        """
        for group in self._groups.values():
            group[PADDLE_JOB].list_again()
            if WORKLOAD in group:
                group[WORKLOAD].list_again()
                group[POD].list_again()

    def are_current(self) -> bool:
        """Like `are_full`, but whether the store is as new as the last `list_again`."""
        return self._are_all(lambda reflector: reflector.is_current)

    def _are_all(self, is_done: Callable[[Reflector], bool]) -> bool:
        groups = [group.values() for group in self._groups.values()]
        full = [all(map(is_done, group)) for group in groups]
        if not self._is_list:
            return all(full)
        refused = [any(each.is_refused for each in group) for group in groups]
        return any(full) and all(map(or_, full, refused))

    def empty(self) -> list[str]:
        """The names of the watches that have not listed yet."""
        return [self._name(each) for each in self._all() if not each.has_listed]

    def problems(self) -> list[str]:
        """A line for each watch that is not up to date."""
        lines = []
        for reflector in self._all():
            if not reflector.is_healthy:
                hint = "; the namespace or the Role in it is missing"
                why = hint if self._is_list and reflector.is_refused else ""
                lines.append(f"not synced: {self._name(reflector)}{why}")
            elif not reflector.is_current:
                lines.append(f"not yet as new as the lease: {self._name(reflector)}")
        return lines

    def is_served(self, resource: Resource, namespace: str = "") -> bool:
        """Whether the API server serves the kind to the operator in this namespace."""
        reflector = self._of(resource, namespace)
        return reflector is not None and reflector.is_served

    def is_forbidden(self, resource: Resource, namespace: str = "") -> bool:
        """Whether the operator has no right to an optional kind in this namespace."""
        reflector = self._of(resource, namespace)
        return reflector is not None and reflector.is_forbidden

    def lacks_paddle_jobs(self) -> bool:
        """Whether the API server says in every namespace that it does not serve PaddleJobs."""
        found = [group[PADDLE_JOB] for group in self._groups.values()]
        return all(each.has_listed and not each.is_served for each in found)

    @property
    def _is_list(self) -> bool:
        return len(self._groups) > 1

    def _of(self, resource: Resource, namespace: str) -> Reflector | None:
        group = self._groups.get(namespace) or self._groups.get("")
        return group.get(resource) if group is not None else None

    def _all(self) -> list[Reflector]:
        return [each for group in self._groups.values() for each in group.values()]

    def _name(self, reflector: Reflector) -> str:
        return f"{reflector.kind} in {reflector.namespace}" if self._is_list else reflector.kind

    def _after_children(self, group: _Group, reflector: Reflector) -> Callable[[], None]:
        children = [each for resource, each in group.items() if resource is not PADDLE_JOB]

        def run() -> None:
            while not all(each.has_listed for each in children):
                if self._stop.wait(_POLL_SECONDS):
                    return
            reflector.run()

        return run


def watched(namespace: str, *, kueue: bool = False) -> list[tuple[Resource, Scope]]:
    """The kinds to watch, and the scope of each. All children but kept logs have LABEL_JOB_UID."""
    everything, children = Scope(namespace), Scope(namespace, LABEL_JOB_UID)
    kinds = [
        (PADDLE_JOB, everything),
        (POD, children),
        (SERVICE, children),
        (CONFIG_MAP, children),
        # Without a selector, because a user's own PodGroup has no label of ours.
        (VOLCANO_POD_GROUP, Scope(namespace, is_optional=True)),
        (GANG_POD_GROUP, Scope(namespace, LABEL_JOB_UID, is_optional=True)),
    ]
    if kueue:
        kinds.append((WORKLOAD, Scope(namespace, LABEL_JOB_UID, is_optional=True)))
    if not namespace:
        # Only a cluster-wide role can read nodes; without it, pods on lost nodes are left alone.
        kinds.append((NODE, Scope(is_optional=True)))
    return kinds
