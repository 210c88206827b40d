"""An API server in memory, on a stepped clock, and the operator's passes over it.

It keeps what a plan relies on: UIDs and resource versions, names taken once, deletes and patches
with a UID precondition, graceful deletion, owner references, merge patches of status. Pods move
only when a test moves them (`tests.kubelet`). It checks two things itself: a pass changes
nothing of what it was given, and a job fails only with a reason whose metric starts at zero.
"""

import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from api.constants import FAILURE_REASONS
from api.objects import (
    Raw,
    format_time,
    is_controlled_by,
    is_deleting,
    name_of,
    parse_time,
    uid_of,
)
from controller.observe import PATIENCE
from reconcile import Observed, Plan, Settings, reconcile
from reconcile.plan import Create, Delete, EmitEvent, Outcome, Patch, PutOff, Refusal
from tests.builders import NOW, JobBuilder

GRACE_SECONDS = 30.0
PAUSE_SECONDS = 10.0
"""After a refusal nothing is created for so long, as the controller has it."""
MAX_PASSES = 40
CHILDREN = ("Pod", "Service", "ConfigMap", "PodGroup")

Place = tuple[str, str]
"""An object's kind and name."""


class Conflict(Exception):
    """A precondition on a UID or a resource version did not hold."""


class Refused(Exception):
    """A create that no retry mends; the argument is the Refusal."""


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
    objects: dict[Place, Raw] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    refusals: dict[Place, Refusal] = field(default_factory=dict)
    refused_kinds: set[str] = field(default_factory=set)
    told: list[EmitEvent] = field(default_factory=list)
    counted: list[Outcome] = field(default_factory=list)
    nodes: dict[str, Raw] | None = None
    taken_host_ports: frozenset[int] = frozenset()
    spares_writes: bool = False
    """Whether passes are told when status was last written, so that counts alone wait."""
    is_crowded: bool = False
    """Whether passes are told that the first status was put off when the job came."""
    before_write: Callable[[str], None] = lambda verb: None
    """Called before each write with its verb; what it raises is raised to the test."""
    _number: int = 0
    _refused: dict[Place, Refusal] = field(default_factory=dict)
    _create_again_at: datetime = NOW
    _written_at: datetime | None = None

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
            if is_controlled_by(child, kind, uid_of(obj)):
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
        """Create an object; raises Refused where the name is taken or creation is refused."""
        kind, name = place = (body["kind"], name_of(body))
        if kind in self.refused_kinds:
            raise Refused(Refusal(kind, name, "Forbidden", f"exceeded quota: {kind}", 403))
        if place in self.refusals:
            raise Refused(self.refusals[place])
        if place in self.objects:
            raise Refused(Refusal(kind, name, "AlreadyExists", f"{name} already exists", 409))
        return self.put(body)

    def delete(self, kind: str, name: str, uid: str = "", grace: float | None = None) -> None:
        """Delete an object: a bound pod by its kubelet after its grace, all else at once."""
        obj = self.objects.get((kind, name))
        if obj is None:
            return
        if uid and uid_of(obj) != uid:
            raise Conflict(name)
        is_bound = kind == "Pod" and obj["spec"].get("nodeName")
        if not is_bound or grace == 0:
            self.remove(kind, name)
        elif not is_deleting(obj):
            due = format_time(self.now + timedelta(seconds=grace or GRACE_SECONDS))
            self.change(kind, name, lambda o: o["metadata"].update(deletionTimestamp=due))

    def patch(self, kind: str, name: str, body: Raw) -> None:
        """A merge patch of an object; raises Conflict on another UID."""
        obj = self.get(kind, name)
        if (body.get("metadata") or {}).get("uid", uid_of(obj)) != uid_of(obj):
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

    def edit_spec(self, name: str = "train", **fields: object) -> Raw:
        """Change fields of a job's spec, as an update that the schema accepts would."""

        def edit(job: Raw) -> None:
            job["spec"] |= fields
            job["metadata"]["generation"] += 1

        return self.change("PaddleJob", name, edit)

    def job(self, name: str = "train") -> Raw:
        """The job as stored."""
        return self.get("PaddleJob", name)

    def status(self, name: str = "train") -> Raw:
        """The job's status as stored."""
        status: Raw = self.job(name).get("status") or {}
        return status

    def phase(self, name: str = "train") -> str:
        """The job's phase as stored."""
        return str(self.status(name).get("phase", ""))

    def condition(self, type_: str, name: str = "train") -> Raw:
        """The job's condition of this type; empty where it was never set."""
        conditions = self.status(name).get("conditions") or ()
        return next((c for c in conditions if c["type"] == type_), {})

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.now += timedelta(seconds=seconds)

    # The operator

    def observe(self, name: str = "train") -> Observed:
        """What a store without lag shows of a job."""
        job = self.job(name)
        created = parse_time(job["metadata"]["creationTimestamp"])
        children = {
            kind: tuple(
                obj for obj in self.of_kind(kind) if is_controlled_by(obj, "PaddleJob", uid_of(job))
            )
            for kind in CHILDREN
        }
        return Observed(
            job=job,
            pods=children["Pod"],
            services=children["Service"],
            config_maps=children["ConfigMap"],
            pod_groups=children["PodGroup"],
            named_pod_group=self.objects.get(("PodGroup", name)),
            nodes=self.nodes,
            refusals=tuple(self._refused.values()),
            status_written_at=self._written_at if self.spares_writes else None,
            put_off=PutOff(created, created + PATIENCE) if self.is_crowded else None,
            taken_host_ports=self.taken_host_ports,
        )

    def work(self, name: str = "train") -> Plan:
        """One pass over one job: look, decide, write."""
        observed = self.observe(name)
        before = deepcopy(observed)
        plan = reconcile(observed, self.now, self.settings)
        assert observed == before, "a pass changed what the store holds"
        if self.now < self._create_again_at:
            plan = replace(plan, creates=())
        self.apply(observed.job, plan)
        return plan

    def settle(self, name: str = "train") -> Plan:
        """Passes until one finds nothing to write; that one's plan."""
        for _ in range(MAX_PASSES):
            if ("PaddleJob", name) not in self.objects:
                return Plan()
            plan = self.work(name)
            if plan.is_empty:
                return plan
        raise AssertionError(f"still writing after {MAX_PASSES} passes: {plan}")

    def apply(self, job: Raw, plan: Plan) -> None:
        """Carry a plan out in the controller's order."""
        if any(self._lives(job, name) for name in plan.verify_gone):
            return
        for delete in plan.deletes:
            self._write("delete", lambda item=delete: self._delete(item))
        for patch in plan.patches:
            self._write("patch", lambda item=patch: self._patch(item))
        self._create_all(job, plan)
        self._write_status(job, plan)
        if plan.delete_job:
            self._write("delete", lambda: self.delete("PaddleJob", name_of(job), uid_of(job)))

    def _write(self, verb: str, do: Callable[[], object]) -> None:
        self.before_write(verb)
        do()

    def _delete(self, item: Delete) -> None:
        try:
            self.delete(item.kind, item.name, item.uid, item.grace_seconds)
        except Conflict:
            return

    def _patch(self, item: Patch) -> None:
        if (item.kind, item.name) in self.objects:
            self.patch(item.kind, item.name, {**item.body, "metadata": {"uid": item.uid}})

    def _create_all(self, job: Raw, plan: Plan) -> None:
        for group in plan.creates:
            for item in group:
                try:
                    self._write("create", lambda item=item: self._create(job, item))
                except Refused as refused:
                    refusal = refused.args[0]
                    self._refused[(refusal.kind, refusal.name)] = refusal
                    self._create_again_at = self.now + timedelta(seconds=PAUSE_SECONDS)
                    return

    def _create(self, job: Raw, item: Create) -> None:
        there = self.objects.get((item.kind, item.name))
        if there is None or not is_controlled_by(there, "PaddleJob", uid_of(job)):
            self.create(item.body)
        self._refused.pop((item.kind, item.name), None)

    def _write_status(self, job: Raw, plan: Plan) -> None:
        if plan.status is not None:
            version = {"resourceVersion": job["metadata"]["resourceVersion"]}
            patch = {**plan.status, "metadata": version}
            try:
                self._write("status", lambda: self.patch_status(name_of(job), patch))
            except Conflict:
                return
            self._written_at = self.now
        failed = [outcome.reason for outcome in plan.outcomes if outcome.kind == "failed"]
        assert set(failed) <= set(FAILURE_REASONS), "a metric's series that starts at one"
        self.told += plan.events
        self.counted += plan.outcomes

    def _lives(self, job: Raw, name: str) -> bool:
        pod = self.objects.get(("Pod", name))
        return pod is not None and is_controlled_by(pod, "PaddleJob", uid_of(job))


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
