"""A pass as data: what it observes, and the changes that it asks the controller to apply."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from api.accelerators import ACCELERATORS
from api.objects import Raw, is_deleting, name_of, uid_of

EventType = Literal["Normal", "Warning"]
Child = tuple[str, str]
"""A child's kind and name."""


@dataclass(frozen=True, slots=True)
class ObjectReference:
    """One child as it was observed. The namespace is the job's."""

    api_version: str
    kind: str
    name: str
    uid: str

    @classmethod
    def of(cls, obj: Raw) -> "ObjectReference":
        """The reference to an object that the store holds."""
        return cls(obj["apiVersion"], obj["kind"], name_of(obj), uid_of(obj))


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete one child, only if it still has its UID."""

    target: ObjectReference
    grace_seconds: int | None = None


def deletes_of(objects: Iterable[Raw]) -> tuple[Delete, ...]:
    """Deletes of those of the children that are not being deleted."""
    return tuple(Delete(ObjectReference.of(obj)) for obj in objects if not is_deleting(obj))


@dataclass(frozen=True, slots=True)
class Create:
    """Create one child, whose full manifest `build` returns.

    `build` is pure and is called just before the create: a pass creates a few hundred of ten
    thousand missing pods at most, and none if a quota allows none.
    """

    kind: str
    name: str
    build: Callable[[], Raw] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Patch:
    """Change a child by a JSON merge patch, only if it still has its UID."""

    target: ObjectReference
    body: Raw


@dataclass(frozen=True, slots=True)
class EmitEvent:
    """A Kubernetes Event about the job; sent after the status write has succeeded."""

    type: EventType
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """Something that metrics count once, after the status write that records it.

    `kind` is one of created, running, completed, failed, restarted, lost; `seconds` is the time
    since the job's creation, where the kind has a histogram, or the time that was lost; `reason`
    comes from a bounded list. `gpus` are those of the job, where time was lost.
    """

    kind: str
    mode: str
    reason: str = ""
    seconds: float | None = None
    gpus: int = 0


FORMER_JOB = "FormerJob"
"""Reason of a refusal: the name is held by a child of a deleted job of the same name."""
YOUNG_KIND = "YoungKind"
"""Reason of a refusal: the API server's admission does not know PaddleJobs yet."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A create or a delete that the API server refused, as the last pass met it.

    `reason` is the API server's (Invalid, Forbidden, AlreadyExists, ...) or one of those above.
    AlreadyExists stands here only when the name is held by an object that this job does not
    control.
    `is_final`: the child as the spec makes it is invalid, which no waiting mends.
    """

    kind: str
    name: str
    reason: str
    message: str
    code: int
    is_delete: bool = False
    is_final: bool = False

    @property
    def child(self) -> Child:
        """The child that was refused."""
        return self.kind, self.name


@dataclass(frozen=True, slots=True)
class Plan:
    """The changes that a pass wants, in the order of the fields.

    `creates` holds groups in order; the members of one group are created in parallel.
    `status` is a JSON merge patch for the status subresource: `{"status": {...}}`. It holds only
    for the version of the job that was observed, and is to be refused on another.
    `requeue_after` is in seconds; None means that only an event wakes the job again.
    `delete_job` asks for the deletion of the job itself (ttlSecondsAfterFinished).
    `is_move` says that the status moves the job to another state, on which the next pass acts.
    `verify_gone` names pods that the plan takes for gone. The cache may lag behind: they are
    read from the API server first, and where one lives, nothing is applied and the key retries.
    `moot` names children whose refusals matter no more, `assumed` are refusals that the job has not
    met itself. `is_paused`: creates pause, so what is refused meanwhile makes no pause longer.
    """

    deletes: tuple[Delete, ...] = ()
    patches: tuple[Patch, ...] = ()
    creates: tuple[tuple[Create, ...], ...] = ()
    status: Raw | None = None
    events: tuple[EmitEvent, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    requeue_after: float | None = None
    delete_job: bool = False
    is_move: bool = False
    verify_gone: tuple[str, ...] = ()
    moot: frozenset[Child] = frozenset()
    assumed: tuple[Refusal, ...] = ()
    is_paused: bool = False

    @property
    def given_host_ports(self) -> tuple[int, ...]:
        """The first ports of the ranges that the status gives to pods."""
        ports = ((self.status or {}).get("status") or {}).get("hostPorts") or {}
        return tuple(port for port in ports.values() if port is not None)


@dataclass(frozen=True, slots=True)
class Observed:
    """All that a pass may look at, as of one moment of the store. Every object is read-only.

    `pods`, `services`, `config_maps` and `pod_groups` are controlled by the job (UID checked).
    `named_pod_group` is the PodGroup with the job's own name, whoever made it.
    `volcano_served` and `gang_served` say whether the API server serves PodGroups of
    scheduling.volcano.sh/v1beta1 and scheduling.k8s.io/v1alpha2.
    `nodes` maps names to nodes, as far as pods on them are being deleted, or is None where the
    operator may not read nodes.
    `refusals` holds what the previous passes could not create or delete, and why; `refused_times`
    says how often in a row creates were refused, 0 where the job itself has tried none, and
    `refused_seconds` how long ago that was last noted.
    `paused_in_namespace` counts the jobs of the namespace that have refusals.
    `slow_create` is the namespace's latest create that took seconds to fail, `slow_seconds` how
    long ago it failed.
    `status_written_at` is when this process last wrote the job's status.
    `is_backlogged`: jobs of the namespace wait for a worker, or did a moment ago.
    `taken_host_ports` are the values of `hostPorts` in the statuses of all other jobs that have
    not ended, `namespace_host_ports` how many of them are held in the job's namespace; gathered
    only for jobs with `intranet: Host`.
    `unseen_pods` are those that another operator has made: asked for while the job's status is
    that operator's.
    """

    job: Raw
    pods: tuple[Raw, ...] = ()
    services: tuple[Raw, ...] = ()
    config_maps: tuple[Raw, ...] = ()
    pod_groups: tuple[Raw, ...] = ()
    named_pod_group: Raw | None = None
    volcano_served: bool = False
    gang_served: bool = False
    nodes: dict[str, Raw] | None = None
    refusals: tuple[Refusal, ...] = ()
    refused_times: int = 0
    refused_seconds: float = 0.0
    paused_in_namespace: int = 0
    slow_create: Refusal | None = None
    slow_seconds: float = 0.0
    status_written_at: datetime | None = None
    is_backlogged: bool = False
    taken_host_ports: frozenset[int] = frozenset()
    namespace_host_ports: int = 0
    unseen_pods: tuple[Raw, ...] = ()


@dataclass(frozen=True, slots=True)
class Settings:
    """What the command line decides for every job.

    `scheduling` is none, volcano or kubernetes. `elastic_server` is empty where the elastic jobs of
    each namespace have an etcd of their own. `host_port_range` is inclusive, and the jobs of one
    namespace may hold `host_port_share` of it.
    The graces are how long a pod may wait for an image or a configuration that cannot heal by
    itself before the job fails. `accelerators` are patterns of resources' names.
    """

    scheduling: str = "none"
    elastic_server: str = ""
    elastic_timeout_seconds: int = 120
    force_delete_after_seconds: float = 300.0
    config_error_grace_seconds: float = 60.0
    image_pull_grace_seconds: float = 600.0
    host_port_range: tuple[int, int] = (30000, 60999)
    host_port_share: float = 0.25
    accelerators: tuple[str, ...] = ACCELERATORS
