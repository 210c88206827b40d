"""The operator's own machine over a world in memory, one pass at a time and without threads.

Store, informers, expectations, refusals, worker and applier are the real ones. Around them: a
client that writes to the world and can fail at any write, watches that tell what happened as late
as a test likes, each kind for itself, and a queue that a test empties.
"""

import traceback
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Protocol

from api.constants import LABEL_JOB_UID
from api.objects import Raw, labels_of, name_of
from controller.applier import Applier
from controller.errors import AlreadyExists, Forbidden, NotFound, Transient
from controller.errors import Conflict as ApiConflict
from controller.expectations import Expectations
from controller.informer import Informer
from controller.observe import Observer
from controller.queue import NEWS_SECONDS
from controller.refusals import Refusals
from controller.resources import (
    CONFIG_MAP,
    PADDLE_JOB,
    POD,
    SERVICE,
    VOLCANO_POD_GROUP,
    Resource,
)
from controller.store import Key, Store
from controller.worker import Machine, Worker
from metrics import Metrics
from reconcile import Observed, Plan, Settings, reconcile
from tests.builders import NOW
from tests.world import Conflict, Refused, World

RESOURCES = {r.kind: r for r in (PADDLE_JOB, POD, SERVICE, CONFIG_MAP, VOLCANO_POD_GROUP)}
_BY_PLURAL = {r.plural: r.kind for r in RESOURCES.values()}
_METRICS = Metrics()


class Killed(BaseException):
    """The process ends here; nothing that catches Exception may hold it up."""


class Client(Protocol):
    """What the operator's machine reads and writes with."""

    def get(self, path: str, query: Any = None) -> Raw: ...

    def create(self, path: str, body: Raw) -> Raw: ...

    def merge_patch(self, path: str, body: Raw) -> Raw: ...

    def delete(self, path: str, uid: str, grace_seconds: int | None = None) -> Raw: ...


class Faulty:
    """A client whose writes meet faults; the list holds what becomes of the next ones.

    ok: as it should be; lost: not done, and an error; unheard: done, and an error; killed-before
    and killed-after: the operator's process ends around the write.
    """

    def __init__(self, client: Client, faults: list[str]) -> None:
        self._client = client
        self._faults = faults

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
        if fault == "lost":
            raise Transient("the request was lost")
        result = do()
        if fault == "killed-after":
            raise Killed
        if fault == "unheard":
            raise Transient("the answer was lost")
        return deepcopy(result)


class WorldClient:
    """Reads and writes a world in memory."""

    def __init__(self, world: World) -> None:
        self._world = world

    def get(self, path: str, query: object = None) -> Raw:
        kind, name = place_of(path)
        if (kind, name) not in self._world.objects:
            raise NotFound(path)
        return deepcopy(self._world.get(kind, name))

    def create(self, path: str, body: Raw) -> Raw:
        try:
            return self._world.create(body)
        except Refused as refused:
            refusal = refused.args[0]
            error = AlreadyExists if refusal.reason == "AlreadyExists" else Forbidden
            raise error(refusal.message, code=refusal.code, reason=refusal.reason) from None

    def merge_patch(self, path: str, body: Raw) -> Raw:
        kind, name = self._find(path)
        try:
            if kind == "PaddleJob":
                self._world.patch_status(name, body)
            else:
                self._world.patch(kind, name, body)
        except Conflict:
            raise ApiConflict(name) from None
        return self._world.get(kind, name)

    def delete(self, path: str, uid: str, grace_seconds: int | None = None) -> Raw:
        kind, name = self._find(path)
        try:
            self._world.delete(kind, name, uid, grace_seconds)
        except Conflict:
            raise ApiConflict(name) from None
        return {}

    def _find(self, path: str) -> tuple[str, str]:
        kind, name = place_of(path)
        if (kind, name) not in self._world.objects:
            raise NotFound(name)
        return kind, name


def place_of(path: str) -> tuple[str, str]:
    """Kind and name of an object's path; the subresource does not matter."""
    parts = path.removesuffix("/status").split("/")
    return _BY_PLURAL[parts[-2]], parts[-1]


class StepClock:
    """The world's time."""

    def __init__(self, world: World) -> None:
        self._world = world

    def now(self) -> datetime:
        return self._world.now

    def monotonic(self) -> float:
        return (self._world.now - NOW).total_seconds()


@dataclass
class StepQueue:
    """Keys that are due, and when the others will be. Nothing is worked on but by `take`."""

    clock: StepClock
    ready: dict[Key, None] = field(default_factory=dict)
    due: dict[Key, float] = field(default_factory=dict)
    held: set[Key] = field(default_factory=set)

    def add(self, key: Key) -> None:
        self.ready[key] = None

    def add_later(self, key: Key) -> None:
        if key in self.held:
            self.add(key)
        else:
            self.add_after(key, NEWS_SECONDS)

    def add_last(self, key: Key) -> None:
        if key in self.held:
            self.add(key)
        else:
            self.add_after(key, NEWS_SECONDS)

    def hold(self, key: Key, seconds: float) -> None:
        self.held.add(key)
        self.add_after(key, seconds)

    def add_after(self, key: Key, seconds: float) -> None:
        at = self.clock.monotonic() + seconds
        self.due[key] = min(at, self.due.get(key, at))

    def retry(self, key: Key, asked_seconds: float | None = None) -> None:
        self.add_after(key, max(1.0, asked_seconds or 0.0))

    def failures(self, key: Key) -> int:
        return 0

    def forget(self, key: Key) -> None:
        """There is no backoff to forget."""

    def is_crowded(self) -> bool:
        return bool(self.ready)

    def done(self, key: Key, rest_seconds: float = 0.0) -> None:
        """Keys are worked on one at a time."""

    def take(self) -> Key | None:
        """The key that has waited longest, or None."""
        now = self.clock.monotonic()
        for key in [key for key, at in self.due.items() if at <= now]:
            del self.due[key]
            self.ready[key] = None
        key = next(iter(self.ready), None)
        if key is not None:
            del self.ready[key]
            self.held.discard(key)
        return key


class Inline:
    """A pool of threads that runs everything at once, in order."""

    def submit(self, do: Callable[..., Any], *args: object) -> "Done":
        return Done(do(*args))


@dataclass
class Done:
    """A future that is over."""

    value: Any

    def result(self) -> Any:
        return self.value


class Log:
    """Says nothing, but keeps what a pass raised."""

    def __init__(self, raised: list[str]) -> None:
        self._raised = raised

    def bind(self, **_values: object) -> "Log":
        return self

    def warning(self, _event: str, **_values: object) -> None:
        """Refusals and lost writes are meant."""

    def exception(self, event: str, **_values: object) -> None:
        self._raised.append(f"{event}: {traceback.format_exc()}")


class Recorder:
    """Keeps the Events of a world."""

    def __init__(self, world: World) -> None:
        self._world = world

    def record(self, _job: Raw, event: Any) -> None:
        self._world.told.append(event)


class Operator:
    """Lives of the operator, one after the other. `faults` meet the next writes.

    Without a client it writes to the world itself.
    """

    def __init__(self, world: World, client: Client | None = None) -> None:
        self.world = world
        self.faults: list[str] = []
        self._client = Faulty(client or WorldClient(world), self.faults)
        self.raised: list[str] = []
        self.seen: dict[str, int] = {}
        self._clock = StepClock(world)
        self._store = Store(RESOURCES.values())
        self._begin(is_warm=False)

    def restart(self, is_warm: bool) -> None:
        """Another process takes over: with fresh lists, or with a standby's late watches."""
        self._begin(is_warm)

    def work(self) -> bool:
        """One pass over the key that has waited longest; whether there was one."""
        key = self.queue.take()
        if key is None:
            return False
        try:
            self._worker.work(key)
        except Killed:
            self._begin(is_warm=False)
        assert not self.raised, self.raised[0]
        return True

    def show(self, kind: str, count: int | None = None) -> bool:
        """Let the watch of a kind tell its next changes, or all; whether there were any."""
        first = self.seen[kind]
        shown = 0
        for position in range(first, len(self.world.changes)):
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

    def _begin(self, is_warm: bool) -> None:
        store = self._store if is_warm else Store(RESOURCES.values())
        self._store = store
        self.queue = StepQueue(self._clock)
        self._informers = {k: Informer(r, store, self.queue) for k, r in RESOURCES.items()}
        if not is_warm:
            self._list_all()
        refusals, expectations = Refusals(self._clock), Expectations(store, self._clock)
        client: Any = self._client
        applier = Applier(client, expectations, Recorder(self.world), _METRICS)  # type: ignore[arg-type]
        applier.close()
        applier._tools = replace(applier._tools, pool=Inline())  # type: ignore[arg-type]
        machine = Machine(
            queue=self.queue,  # type: ignore[arg-type]
            store=store,
            observer=Observer(store, refusals, self.world.settings, _is_served, self._clock),
            expectations=expectations,
            refusals=refusals,
            applier=applier,
            clock=self._clock,  # type: ignore[arg-type]
            metrics=_METRICS,
            decide=self._decide,
        )
        self._worker = Worker(machine, Log(self.raised))  # type: ignore[arg-type]
        for job in store.all(PADDLE_JOB):
            self.queue.add(Key(self.world.namespace, name_of(job)))

    def _list_all(self) -> None:
        version = str(self.world.version)
        for kind, informer in self._informers.items():
            objects = [o for o in self.world.of_kind(kind) if _is_watched(o)]
            informer.replace([informer.pack(deepcopy(o)) for o in objects], version)
            self.seen[kind] = len(self.world.changes)

    def _tell(self, place: tuple[str, str], version: int, obj: Raw | None) -> None:
        informer, resource = self._informers[place[0]], RESOURCES[place[0]]
        if obj is not None and _is_watched(obj):
            informer.put(deepcopy(obj))
            return
        known = self._store.get(resource, Key(self.world.namespace, place[1]))
        if known is None:
            informer.advance(str(version))
        else:
            gone = deepcopy(known)
            gone["metadata"]["resourceVersion"] = str(version)
            informer.remove(gone)

    def _decide(self, observed: Observed, now: datetime, settings: Settings) -> Plan:
        before = deepcopy(observed)
        plan = reconcile(observed, now, settings)
        assert observed == before, "a pass changed what the store holds"
        return plan


def _is_served(resource: Resource) -> bool:
    """Whether the API server serves a kind that may be absent. No node may be read here."""
    return resource is VOLCANO_POD_GROUP


def _is_watched(obj: Raw) -> bool:
    """What the operator's selectors let through."""
    return obj["kind"] in ("PaddleJob", "PodGroup") or bool(labels_of(obj).get(LABEL_JOB_UID))
