"""A pass as data: what it observes, and the changes that the controller should apply."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, auto
from typing import Literal, NamedTuple

from api.constants import CleanPodPolicy
from api.objects import Raw, is_deleting, name_of, uid_of
from api.trainer import ACCELERATORS, Devices
from reconcile.model.training import Reading

EventType = Literal["Normal", "Warning"]
Child = tuple[str, str]
"""A child's kind and name."""


@dataclass(frozen=True, slots=True)
class ObjectReference:
    """One child, as it was observed in the job's namespace."""

    api_version: str
    kind: str
    name: str
    uid: str

    @property
    def child(self) -> Child:
        """Its kind and name."""
        return self.kind, self.name

    @classmethod
    def of(cls, obj: Raw) -> "ObjectReference":
        """The reference to an object from the store."""
        return cls(obj["apiVersion"], obj["kind"], name_of(obj), uid_of(obj))


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete one child, but not another object that has taken its name meanwhile."""

    target: ObjectReference
    grace_seconds: int | None = None


def deletes_of(objects: Iterable[Raw]) -> tuple[Delete, ...]:
    """Deletes of the children that are not being deleted already."""
    return tuple(Delete(ObjectReference.of(obj)) for obj in objects if not is_deleting(obj))


@dataclass(frozen=True, slots=True)
class Create:
    """Create one child, whose full manifest `build` returns.

    `build` is pure. It is called just before the create, because one pass creates at most a few
    hundred of perhaps ten thousand missing pods, and few if a quota refuses them.
    """

    kind: str
    name: str
    build: Callable[[], Raw] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class KeepLog:
    """Keep the end of this container's log, in the ConfigMap that `build` makes of it.

    `former` names an older attempt's ConfigMap, which is deleted after that; empty if none is.
    """

    pod: str
    container: str
    build: Callable[[bytes], Raw] = field(repr=False, compare=False)
    former: str = ""


@dataclass(frozen=True, slots=True)
class Patch:
    """Change a child by a JSON merge patch; the API server refuses it if the UID has changed."""

    target: ObjectReference
    body: Raw
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class EmitEvent:
    """A Kubernetes Event about the job; sent after the status write has succeeded."""

    type: EventType
    reason: str
    message: str


class Outcome(NamedTuple):
    """Something that metrics count once, after the status write that records it.

    `kind` is one of created, running, started, completed, failed, restarted, lost, stalled. For
    running, completed and failed, `seconds` is the time since the job's creation; for started, the
    time since its start; for lost, the lost time; for stalled, the time without progress. `reason`
    comes from a bounded list. `gpus` is the job's number of accelerators; only lost has it.
    """

    kind: str
    mode: str
    reason: str = ""
    seconds: float | None = None
    gpus: int = 0


class Wait(Enum):
    """What passes wait for that no object shows: this process remembers since when."""

    END_OF_LOG = auto()
    """The end of the first worker's log is being read."""
    HEAD_START = auto()
    """Worker 0 runs, and not all of its peers do."""


FORMER_JOB = "FormerJob"
"""Reason of a refusal: a child of a deleted job of the same name still has the name."""
OWNERLESS = "Ownerless"
"""Reason of a refusal: a restored child of a former job has the name. Message: that job's UID."""
ALTERED = "Altered"
"""Reason of a refusal: admission changed the child so that the operator could not find it."""
YOUNG_KIND = "YoungKind"
"""Reason of a refusal: the API server's admission does not know PaddleJobs yet."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A write of a child that the API server refused in an earlier pass, or that keeps failing.

    `reason` is the API server's (Invalid, Forbidden, AlreadyExists, ...), or one of those above.
    AlreadyExists means that an object which this job does not control has the name. `is_final`: the
    child is invalid because of the job's spec, and waiting does not help. A write that is neither
    `is_delete` nor `is_patch` is a create.
    """

    kind: str
    name: str
    reason: str
    message: str
    code: int
    is_delete: bool = False
    is_final: bool = False
    is_patch: bool = False

    @property
    def child(self) -> Child:
        """The child that was refused."""
        return self.kind, self.name


@dataclass(frozen=True, slots=True)
class Plan:
    """The changes that a pass wants: deletes first, then patches, creates, status, Events, metrics.

    `creates` has groups, created one after the other; a group's members are created in parallel.
    `status` is a JSON merge patch for the status subresource: `{"status": {...}}`. The API server
    must refuse it unless the job still has the observed version.
    `requeue_after` is in seconds; None means that only an event triggers the next pass.
    `is_move`: the status moves the job to another state, and the next pass acts on it.
    `verify_gone` names pods that the plan assumes gone. Because the cache can lag, they are read
    from the API server first. If one is alive, nothing is applied and the key is retried.
    `moot` names children whose refusals no longer matter. `assumed` are refusals that another job
    has met. `is_paused`: creates pause, and refusals in that time do not lengthen the pause.
    `keep_log` is carried out after the status is written, before the next pass deletes the pod.
    `waits`: what the pass waits for that no object shows; the next one knows for how long.
    """

    deletes: tuple[Delete, ...] = ()
    patches: tuple[Patch, ...] = ()
    creates: tuple[tuple[Create, ...], ...] = ()
    status: Raw | None = None
    events: tuple[EmitEvent, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    requeue_after: float | None = None
    is_move: bool = False
    verify_gone: tuple[str, ...] = ()
    moot: frozenset[Child] = frozenset()
    assumed: tuple[Refusal, ...] = ()
    is_paused: bool = False
    keep_log: KeepLog | None = None
    waits: frozenset[Wait] = frozenset()

    @property
    def given_host_ports(self) -> tuple[int, ...]:
        """The first ports of the ranges that the status gives to pods."""
        ports = ((self.status or {}).get("status") or {}).get("hostPorts") or {}
        return tuple(port for port in ports.values() if port is not None)


@dataclass(frozen=True, slots=True)
class Observed:
    """Everything that a pass reads. Every object is read-only.

    `pods`, `services`, `config_maps` and `pod_groups` are controlled by the job (UID checked).
    `former_children` gives kind and name of the pods and ConfigMaps that are left of deleted jobs
    of that name. `named_pod_group` is the PodGroup with the job's own name, whoever made it.
    `volcano_served` and `gang_served` say whether the API server serves PodGroups of
    scheduling.volcano.sh/v1beta1 and scheduling.k8s.io/v1alpha2.
    `workloads` are Kueue's objects that the job controls; `workloads_served` says whether the API
    server serves this kind, `workloads_forbidden` whether the operator has no right to read it.
    `unwatched_objects` has by kind and name the objects of `objects_to_read` that exist; an object
    that the operator has no right to get is empty.
    `nodes` maps names to nodes that have pods being deleted; None if the operator has no
    permission to read nodes.
    `most_devices` is the most of each device that any node has. None if the operator reads no nodes
    or there are none, and for a job without pods that the scheduler cannot place.
    `refusals` are the writes of children that failed in earlier passes, and why.
    `refused_times` counts the passes in a row with refusals, 0 if only other jobs were refused;
    `refused_seconds` is how long ago the last refusal was noted.
    `paused_in_namespace` counts the jobs of the namespace that have refusals.
    `slow_create` is the namespace's latest create that took seconds to fail, `slow_seconds` how
    long ago it failed.
    `status_written_at` is when this process last wrote the job's status.
    `is_backlogged`: jobs of the namespace wait for a worker, or did a moment ago.
    `taken_host_ports` are the first ports of the ranges of all other jobs, `namespace_host_ports`
    counts those of the job's namespace; both are gathered only for jobs with `intranet: Host`.
    `unseen_pods` are pods that another operator created. They are read from the API server as long
    as the job has that operator's status.
    `training` is what the first worker's log says; None without --progress, and until the log of
    this worker's pod was read.
    `waited` has the seconds for which all passes up to now have waited for something; infinite for
    the end of a log that was read or could not be read.
    """

    job: Raw
    pods: tuple[Raw, ...] = ()
    former_children: tuple[str, ...] = ()
    services: tuple[Raw, ...] = ()
    config_maps: tuple[Raw, ...] = ()
    pod_groups: tuple[Raw, ...] = ()
    named_pod_group: Raw | None = None
    volcano_served: bool = False
    gang_served: bool = False
    workloads: tuple[Raw, ...] = ()
    workloads_served: bool = False
    workloads_forbidden: bool = False
    unwatched_objects: dict[Child, Raw] = field(default_factory=dict)
    nodes: dict[str, Raw] | None = None
    most_devices: Devices | None = None
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
    training: Reading | None = None
    waited: Mapping[Wait, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Settings:
    """Options of the command line that apply to every job.

    `scheduling` is none, volcano or kubernetes. `kueue`: jobs with a queue label wait for quota.
    `progress`: logs of running jobs are read.
    `elastic_server` is empty if each namespace has its own etcd for elastic jobs.
    `host_port_range` is inclusive; the jobs of one namespace can use `host_port_share` of it.
    `image_pull_grace_seconds` is how long an image or an object can be missing before the job
    fails, `config_error_grace_seconds` the same for errors that do not go away by themselves.
    `give_back_after_seconds` is how long only some of a job's pods can occupy nodes or quota; 0
    means without limit. The two `default_` options apply to jobs that do not set the field; with a
    TTL of None, ended jobs are kept.
    `accelerators` are patterns for resource names.
    """

    scheduling: str = "none"
    kueue: bool = False
    progress: bool = False
    elastic_server: str = ""
    elastic_timeout_seconds: int = 120
    force_delete_after_seconds: float = 300.0
    config_error_grace_seconds: float = 60.0
    image_pull_grace_seconds: float = 600.0
    give_back_after_seconds: float = 300.0
    default_clean_pod_policy: CleanPodPolicy | None = None
    default_ttl_seconds: int | None = None
    host_port_range: tuple[int, int] = (30000, 60999)
    host_port_share: float = 0.25
    accelerators: tuple[str, ...] = ACCELERATORS
