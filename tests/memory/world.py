"""An API server in memory, on a stepped clock, and the operator's passes over it.

It keeps what a plan relies on: UIDs and resource versions, names taken once, deletes and patches
with a UID precondition, graceful deletion, owner references, merge patches of status. Pods move
only when a test moves them (`tests.memory.kubelet`). It checks two things itself: a pass changes
nothing of what it was given, and a job fails only with a reason whose metric starts at zero.
"""

import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property

from api.job import parse_prebuilt
from api.objects import (
    Raw,
    controller_of,
    format_time,
    is_deleting,
    name_of,
    namespace_of,
    uid_of,
)
from api.ownership import Key, Owner, owner_of
from controller.cache.store import Family, Store
from controller.client.resources import (
    CONFIG_MAP,
    POD,
    SERVICE,
    VOLCANO_POD_GROUP,
    WORKLOAD,
    Resource,
)
from controller.work.applier import Applier
from controller.work.memory import JobMemory
from kube.errors import AlreadyExists, ApiError, Conflict, Forbidden
from reconcile.model.plan import EmitEvent, Observed, Outcome, Plan, Refusal, Settings
from reconcile.model.training import Reading
from reconcile.reconcile import reconcile
from tests.memory.applier import Counter, Recorder, StepClock, an_applier
from tests.memory.builders import NOW, JobBuilder
from tests.memory.client import RESOURCES, WorldClient
from tests.memory.kubelet import Kubelet, run_job

GRACE_SECONDS = 30.0
MAX_PASSES = 40
FORMER = ("Pod", "ConfigMap")
"""The kinds of a former job's children that its successor waits for."""
CHILDREN = ("Pod", "Service", "ConfigMap", "PodGroup", "Workload")

Place = tuple[str, str]
"""An object's kind and name."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change of one object, as a watch would tell it; `obj` is None once it is gone."""

    version: int
    place: Place
    obj: Raw | None


@dataclass
class World:
    """Everything that exists. `objects` are never changed in place, only replaced."""

    settings: Settings = field(default_factory=Settings)
    namespace: str = "default"
    now: datetime = NOW
    set_back_seconds: float = 0.0
    objects: dict[Place, Raw] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    refusals: dict[Place, Refusal] = field(default_factory=dict)
    refused_kinds: set[str] = field(default_factory=set)
    refused_patches: set[str] = field(default_factory=set)
    """Kinds whose objects a policy lets nobody change."""
    refused_deletes: set[str] = field(default_factory=set)
    told: list[EmitEvent] = field(default_factory=list)
    counted: list[Outcome] = field(default_factory=list)
    nodes: dict[str, Raw] | None = None
    taken_host_ports: frozenset[int] = frozenset()
    namespace_host_ports: int = 0
    spares_writes: bool = False
    """Whether passes are told when status was last written, so that counts alone wait."""
    is_backlogged: bool = False
    """Whether passes are told that other jobs wait for a worker."""
    volcano_served: bool = False
    gang_served: bool = False
    workloads_served: bool = False
    unwatched_objects: dict[Place, Raw] = field(default_factory=dict)
    """Flavors and priority classes, as the operator reads them."""
    training: Reading | None = None
    """What passes are told of the first worker's log."""
    error: ApiError | None = None
    """What the last pass met, to be tried again later."""
    before_write: Callable[[str], None] = lambda verb: None
    """Called before each write with its verb; what it raises is raised to the test."""
    _number: int = 0

    # The API server

    def get(self, kind: str, name: str) -> Raw:
        """One object; raises KeyError where there is none."""
        return self.objects[(kind, name)]

    def of_kind(self, kind: str) -> list[Raw]:
        """The objects of a kind, by name."""
        return [obj for place, obj in sorted(self.objects.items()) if place[0] == kind]

    def names(self, kind: str) -> list[str]:
        """The names of a kind, sorted."""
        return [name_of(obj) for obj in self.of_kind(kind)]

    @property
    def version(self) -> int:
        """The resource version of the newest change."""
        return self._number

    def put(self, obj: Raw) -> Raw:
        """Store an object as it is now: a new resource version, and a UID if it has none."""
        self._number += 1
        obj = json.loads(json.dumps(obj))
        metadata = obj["metadata"]
        metadata.setdefault("namespace", self.namespace)
        metadata.setdefault("uid", f"{self._number:08x}-uid")
        metadata.setdefault("creationTimestamp", format_time(self.now))
        metadata["resourceVersion"] = str(self._number)
        place = (obj["kind"], name_of(obj))
        self.objects[place] = obj
        self.changes.append(Change(self._number, place, obj))
        return obj

    def remove(self, kind: str, name: str) -> None:
        """The object is gone at once, and what it controls with it."""
        obj = self.get(kind, name)
        self.forget(kind, name)
        for place, child in list(self.objects.items()):
            if (controller_of(child) or {}).get("uid") == uid_of(obj):
                self.remove(*place)

    def forget(self, kind: str, name: str) -> None:
        """The object is gone, and what it controls is not yet."""
        del self.objects[(kind, name)]
        self._number += 1
        self.changes.append(Change(self._number, (kind, name), None))

    def change(self, kind: str, name: str, edit: Callable[[Raw], object]) -> Raw:
        """Change an object by a function that edits a copy in place."""
        obj = deepcopy(self.get(kind, name))
        edit(obj)
        return self.put(obj)

    def create(self, body: Raw) -> Raw:
        """Create an object; raises AlreadyExists or Forbidden."""
        kind, name = place = (body["kind"], name_of(body))
        if kind in self.refused_kinds:
            raise Forbidden(f"exceeded quota: {kind}", code=403)
        if place in self.refusals:
            refusal = self.refusals[place]
            error = Forbidden(refusal.message, code=refusal.code, reason=refusal.reason)
            error.is_final = refusal.is_final
            raise error
        if place in self.objects:
            raise AlreadyExists(f"{name} already exists", code=409)
        return self.put(body)

    def delete(self, kind: str, name: str, uid: str = "", grace: float | None = None) -> None:
        """Delete an object: a bound pod by its kubelet after its grace, all else at once."""
        obj = self.objects.get((kind, name))
        if obj is None:
            return
        if kind in self.refused_deletes:
            raise Forbidden(f"{name} is denied: {kind}s stay", code=403, reason="Forbidden")
        if uid and uid_of(obj) != uid:
            raise Conflict(name)
        is_bound = kind == "Pod" and obj["spec"].get("nodeName")
        if not is_bound or grace == 0:
            self.remove(kind, name)
        elif not is_deleting(obj):
            seconds = grace or GRACE_SECONDS
            due = format_time(self.now + timedelta(seconds=seconds))
            leaving = {"deletionTimestamp": due, "deletionGracePeriodSeconds": int(seconds)}
            self.change(kind, name, lambda o: o["metadata"].update(leaving))

    def patch(self, kind: str, name: str, body: Raw) -> None:
        """A merge patch of an object; raises Conflict on another UID."""
        obj = self.get(kind, name)
        if kind in self.refused_patches:
            raise Forbidden(f"{name} is denied: {kind}s stay", code=403, reason="Forbidden")
        if (body.get("metadata") or {}).get("uid", uid_of(obj)) != uid_of(obj):
            raise Conflict(name)
        version = obj["metadata"]["resourceVersion"]
        if (body.get("metadata") or {}).get("resourceVersion", version) != version:
            raise Conflict(name)
        self.put(merge(obj, body))

    def patch_status(self, name: str, patch: Raw) -> None:
        """A merge patch of a job's status, at the version that it names; Conflict at another."""
        job = self.get("PaddleJob", name)
        if patch["metadata"]["resourceVersion"] != job["metadata"]["resourceVersion"]:
            raise Conflict(name)
        self.put({**job, "status": merge(job.get("status") or {}, patch["status"])})

    # Users

    def submit(self, job: JobBuilder | Raw) -> Raw:
        """Create a job, now."""
        raw = job.build() if isinstance(job, JobBuilder) else job
        raw["metadata"]["creationTimestamp"] = format_time(self.now)
        return self.put(raw)

    def edit_spec(self, name: str = "train", /, **fields: object) -> Raw:
        """Change fields of a job's spec, as an update that the schema accepts would."""

        def edit(job: Raw) -> None:
            job["spec"] |= fields
            job["metadata"]["generation"] += 1

        return self.change("PaddleJob", name, edit)

    def job(self, name: str = "train") -> Raw:
        return self.get("PaddleJob", name)

    def status(self, name: str = "train") -> Raw:
        status: Raw = self.job(name).get("status") or {}
        return status

    def phase(self, name: str = "train") -> str:
        return str(self.status(name).get("phase", ""))

    def condition(self, type_: str, name: str = "train") -> Raw:
        """The job's condition of this type; empty where it was never set."""
        conditions = self.status(name).get("conditions") or ()
        return next((c for c in conditions if c["type"] == type_), {})

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def set_clock_back(self, seconds: float) -> None:
        """Have the wall clock show less; what is measured by the other one goes on."""
        self.now -= timedelta(seconds=seconds)
        self.set_back_seconds += seconds

    # The nodes

    @cached_property
    def kubelet(self) -> Kubelet:
        """What moves the pods."""
        return Kubelet(self)

    def run(self, job: JobBuilder | None = None) -> None:
        """Take the submitted job, or this one, to where all its pods run, or as far as it gets."""
        run_job(self, self.kubelet, job)

    # The operator

    def observe(self, name: str = "train") -> Observed:
        """What a store without lag shows of a job."""
        job = self.job(name)
        children = self._children(job)
        facts = self._memory.facts(self._key(name), uid_of(job))
        if not self.spares_writes:
            facts = facts._replace(status_written_at=None)
        observed = Observed(
            job=job,
            pods=children[POD],
            former_children=self._former_children(job),
            services=children[SERVICE],
            config_maps=children[CONFIG_MAP],
            pod_groups=children[VOLCANO_POD_GROUP],
            named_pod_group=self.objects.get(("PodGroup", name)),
            volcano_served=self.volcano_served,
            gang_served=self.gang_served,
            workloads=children[WORKLOAD],
            workloads_served=self.workloads_served,
            unwatched_objects=self.unwatched_objects | self._prebuilt(job, children[WORKLOAD]),
            nodes=self.nodes,
            is_backlogged=self.is_backlogged,
            taken_host_ports=self.taken_host_ports,
            namespace_host_ports=self.namespace_host_ports,
            **facts._asdict(),
        )
        return replace(observed, training=self.training)

    def _former_children(self, job: Raw) -> tuple[str, ...]:
        owner = Owner(self._key(name_of(job)), uid_of(job))
        there = self.objects.items()
        found = [p for p, child in there if p[0] in FORMER and owner.has_inherited(child)]
        return tuple(sorted(" ".join(place) for place in found))

    def _prebuilt(self, job: Raw, own: tuple[Raw, ...]) -> dict[Place, Raw]:
        place = (WORKLOAD.kind, parse_prebuilt(job))
        return {place: self.objects[place]} if place in self.objects and not own else {}

    def work(self, name: str = "train") -> Plan:
        """One pass over one job: look, decide, write."""
        observed = self.observe(name)
        before = deepcopy(observed)
        plan = reconcile(observed, self.now, self.settings)
        self.apply(observed.job, plan)
        assert observed == before, "a pass changed what the store holds"
        return plan

    def settle(self, name: str = "train") -> Plan:
        """Passes until one finds nothing to write, or meets what only time mends; its plan."""
        for _ in range(MAX_PASSES):
            if ("PaddleJob", name) not in self.objects:
                return Plan()
            plan = self.work(name)
            if writes_nothing(plan) or self.error:
                return plan
        raise AssertionError(f"still writing after {MAX_PASSES} passes: {plan}")

    def begin(self, job: JobBuilder | Raw) -> Plan:
        """Create a job, and settle; the plan of the last pass."""
        return self.settle(name_of(self.submit(job)))

    def amend(self, **fields: object) -> Plan:
        """Change fields of the job's spec, and settle; the plan of the last pass."""
        self.edit_spec(**fields)
        return self.settle()

    def after(self, seconds: float) -> Plan:
        """Let time pass, and settle; the plan of the last pass."""
        self.advance(seconds)
        return self.settle()

    def apply(self, job: Raw, plan: Plan) -> None:
        """Carry a plan out with the operator's own applier."""
        owner = Owner(self._key(name_of(job)), uid_of(job))
        result = self._applier.apply(owner, Family(job, self._children(job), None), plan)
        self.error = next(iter(result.errors), None)
        self._memory.learn(self._key(name_of(job)), uid_of(job), plan, result)

    def lead_anew(self) -> None:
        """Another process leads from here on; it remembers nothing."""
        del self._memory, self._applier

    @cached_property
    def _applier(self) -> Applier:
        return an_applier(WorldClient(self), self._memory, Recorder(self), Counter(self))

    @cached_property
    def _memory(self) -> JobMemory:
        return JobMemory(Store(RESOURCES.values()), StepClock(self))

    def restart(self) -> None:
        """Another process takes over, which remembers nothing."""
        del self._applier, self._memory

    def _children(self, job: Raw) -> dict[Resource, tuple[Raw, ...]]:
        return {
            RESOURCES[kind]: tuple(obj for obj in self.of_kind(kind) if is_child(obj, job))
            for kind in CHILDREN
        }

    def _key(self, name: str) -> Key:
        return Key(self.namespace, name)


def is_child(obj: Raw, job: Raw) -> bool:
    return owner_of(obj) == ((namespace_of(job), name_of(job)), uid_of(job))


def writes_nothing(plan: Plan) -> bool:
    """Whether the pass found nothing to write."""
    return not (plan.deletes or plan.patches or plan.creates or plan.status)


def merge(target: Raw, patch: Raw) -> Raw:
    """RFC 7386: null removes, objects merge, all else replaces."""
    merged = dict(target)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict):
            before = merged.get(key)
            merged[key] = merge(before if isinstance(before, dict) else {}, value)
        else:
            merged[key] = value
    return merged
