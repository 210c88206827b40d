"""The operator's own machine over a world in memory, one pass at a time and without threads.

Store, event handlers, queue, worker, memory and applier are the real ones. Around them: a client
that writes to the world and can fail at any write, watches that tell what happened as late as a
test likes, each kind for itself, and time that a test lets pass.
"""

import traceback
from collections.abc import Callable
from copy import deepcopy
from datetime import datetime

from api.constants import LABEL_JOB_UID
from api.objects import Raw, labels_of
from api.ownership import Key
from controller.cache.event_handler import EventHandler
from controller.cache.store import Store
from controller.client.errors import NotLeader
from controller.client.resources import PADDLE_JOB, VOLCANO_POD_GROUP, WORKLOAD, Resource
from controller.work.memory import JobMemory
from controller.work.observer import Observer
from controller.work.ports import PortRanges
from controller.work.worker import Worker
from controller.workqueue.queue import WorkQueue
from kube.errors import ApiError, Forbidden, Throttled, Transient
from metrics import Metrics
from reconcile.model.plan import Observed, Plan, Settings
from reconcile.reconcile import reconcile
from tests.memory.applier import Recorder, StepClock, an_applier
from tests.memory.client import RESOURCES, Client, WorldClient
from tests.memory.world import World

_METRICS = Metrics()
WRITE_FAULTS = (
    *("lost", "refused", "unheard", "not-leader", "throttled", "killed-before", "killed-after"),
)
"""What may become of a write: see `Faulty`."""
_ASKED_SECONDS = 10.0
_NOT_SENT: dict[str, Callable[[], ApiError]] = {
    "lost": lambda: Transient("the request was lost"),
    "not-leader": lambda: NotLeader("the lease did not cover it"),
    "throttled": lambda: Throttled("too many requests", retry_after=_ASKED_SECONDS),
    "refused": lambda: Forbidden("a webhook says no", code=403),
}


class Killed(BaseException):
    """The process ends here; nothing that catches Exception may hold it up."""


class Faulty:
    """A client whose writes meet faults; the list holds what becomes of the next ones.

    ok: as it should be; lost, not-leader, throttled and refused: not done, and an error; unheard:
    done, and an error; killed-before and killed-after: the operator's process ends around the
    write. Without rights every write is forbidden.
    """

    def __init__(self, client: Client, faults: list[str]) -> None:
        self._client = client
        self._faults = faults
        self.has_rights = True

    def get(self, path: str, query: object = None) -> Raw:
        return self._client.get(path, query)

    def create(self, path: str, body: Raw) -> Raw:
        return self._write(lambda: self._client.create(path, body))

    def merge_patch(self, path: str, body: Raw) -> Raw:
        return self._write(lambda: self._client.merge_patch(path, body))

    def delete(self, path: str, uid: str, grace_seconds: int | None = None) -> Raw:
        return self._write(lambda: self._client.delete(path, uid, grace_seconds))

    def _write(self, do: Callable[[], Raw]) -> Raw:
        fault = self._faults.pop(0) if self._faults else "ok"
        if fault == "killed-before":
            raise Killed
        if fault in _NOT_SENT:
            raise _NOT_SENT[fault]()
        if not self.has_rights:
            raise Forbidden("the operator may not write", code=403)
        result = do()
        if fault == "killed-after":
            raise Killed
        if fault == "unheard":
            raise Transient("the answer was lost")
        return deepcopy(result)


class StepQueue(WorkQueue):
    """The real queue; nothing is worked on but by `take`, which does not wait.

    Nor does a key rest after its pass: how late a test shows events is its own affair.
    """

    def done(self, key: Key, rest_seconds: float = 0.0) -> None:
        super().done(key)

    def take(self) -> Key | None:
        """What a worker would get now, or None."""
        with self._changed:
            self._take_due_locked()
            namespace = self._next_turn_locked()
            return self._take_locked(namespace) if namespace is not None else None

    def seconds_to_next(self) -> float | None:
        """Until something is to be taken that is not there yet; None where nothing is to come."""
        with self._changed:
            return self._idle_seconds_locked() if self._timers else None


class Log:
    """Says nothing, but keeps what a pass raised."""

    def __init__(self, raised: list[str]) -> None:
        self._raised = raised

    def bind(self, **_values: object) -> "Log":
        return self

    def debug(self, _event: str, **_values: object) -> None:
        """Every write is."""

    def info(self, _event: str, **_values: object) -> None:
        """Every wait begins and ends."""

    def warning(self, _event: str, **_values: object) -> None:
        """Refusals and lost writes are meant."""

    def exception(self, event: str, **_values: object) -> None:
        self._raised.append(f"{event}: {traceback.format_exc()}")


class Operator:
    """Lives of the operator, one after the other. `faults` meet the next writes.

    Without a client it writes to the world itself.
    """

    def __init__(self, world: World, client: Client | None = None) -> None:
        self.world = world
        self.faults: list[str] = []
        self.client = Faulty(client or WorldClient(world), self.faults)
        self.raised: list[str] = []
        self.seen: dict[str, int] = {}
        self._clock = StepClock(world)
        self._store = Store(RESOURCES.values())
        self._begin(is_warm=False)

    def restart(self, is_warm: bool) -> None:
        """Another process takes over: with fresh lists, or with a standby's late watches.

        A standby lists the jobs anew before it acts, and what decides on quota.
        """
        self._begin(is_warm)

    def work(self) -> bool:
        """One pass over the key that has waited longest; whether there was one."""
        key = self.queue.take()
        if key is None:
            return False
        try:
            self._worker.work(key)
        except Killed:
            self.restart(is_warm=False)
        assert not self.raised, self.raised[0]
        return True

    def fresh_plan(self) -> Plan:
        """What a process would do now that has just started, with the lists of this one."""
        (key,) = (key for key, _ in self._store.facts(PADDLE_JOB))
        family = self._store.family(key)
        assert family is not None
        memory = JobMemory(self._store, self._clock)
        observer = Observer(self._store, memory, self._is_served, self.client.get)
        observed = observer.observe(key, family)
        return self._decide(observed, self._clock.now(), self.world.settings)

    def show(self, kind: str, count: int | None = None, until: int | None = None) -> bool:
        """Let the watch of a kind tell its next changes, or all; whether there were any.

        `until` is a position in the world's changes that it does not pass.
        """
        first = self.seen[kind]
        shown = 0
        for position in range(first, len(self.world.changes) if until is None else until):
            change = self.world.changes[position]
            if change.place[0] == kind:
                if shown == count:
                    break
                shown += 1
                self._tell(change.place, change.version, change.obj)
            self.seen[kind] = position + 1
        return shown > 0

    def show_all(self) -> bool:
        """Let every watch catch up."""
        shown = [self.show(kind) for kind in RESOURCES]
        return any(shown)

    def relist(self, kind: str, until: int | None = None) -> None:
        """Have the watch of a kind begin anew with a list: of now, or of that position."""
        changes = self.world.changes[:until]
        known = {change.place: change.obj for change in changes if change.place[0] == kind}
        handler, version = self._handlers[kind], changes[-1].version if changes else 0
        objects = [deepcopy(o) for o in known.values() if o is not None and _is_watched(o)]
        handler.replace([handler.pack(o) for o in objects], str(version))
        self.seen[kind] = len(changes)

    def _watch(self, store: Store) -> None:
        """Let the watches fill this store from now on."""
        self._store = store
        self.queue = StepQueue(self._clock, _METRICS.queue, 1)
        self._memory = JobMemory(store, self._clock)
        self._handlers = {
            kind: EventHandler(resource, store, self.queue.add, "", self._memory.awaiting)
            for kind, resource in RESOURCES.items()
        }

    def _begin(self, is_warm: bool) -> None:
        self._watch(self._store if is_warm else Store(RESOURCES.values()))
        store = self._store
        listed_again = (*(["Workload", "Pod"] if self.world.workloads_served else []), "PaddleJob")
        for kind in listed_again if is_warm else RESOURCES:
            self.relist(kind)
        memory = self._memory
        self._worker = Worker(
            queue=self.queue,
            store=store,
            memory=memory,
            observer=Observer(
                store, memory, self._is_served, self.client.get, self.queue.is_backlogged
            ),
            applier=an_applier(self.client, memory, Recorder(self.world), _METRICS),
            clock=self._clock,
            metrics=_METRICS,
            log=Log(self.raised),  # type: ignore[arg-type]
            settings=self.world.settings,
            decide=self._decide,
            ports=PortRanges(store),
        )
        self.queue.open()
        for key, _ in store.facts(PADDLE_JOB):
            self.queue.add(key)

    def _tell(self, place: tuple[str, str], version: int, obj: Raw | None) -> None:
        handler, resource = self._handlers[place[0]], RESOURCES[place[0]]
        if obj is not None and _is_watched(obj):
            handler.put(deepcopy(obj))
            return
        known = self._store.get(resource, Key(self.world.namespace, place[1]))
        if known is None:
            handler.advance(str(version))
        else:
            gone = deepcopy(known)
            gone["metadata"]["resourceVersion"] = str(version)
            handler.remove(gone)

    def _is_served(self, resource: Resource, _namespace: str) -> bool:
        """Whether the API server serves a kind that may be absent. No node may be read here."""
        is_kueues = resource is WORKLOAD and self.world.workloads_served
        return resource is VOLCANO_POD_GROUP or is_kueues

    def _decide(self, observed: Observed, now: datetime, settings: Settings) -> Plan:
        before = deepcopy(observed)
        plan = reconcile(observed, now, settings)
        assert observed == before, "a pass changed what the store holds"
        return plan


def _is_watched(obj: Raw) -> bool:
    """What the operator's selectors let through."""
    return obj["kind"] in ("PaddleJob", "PodGroup", "Workload") or bool(
        labels_of(obj).get(LABEL_JOB_UID)
    )
