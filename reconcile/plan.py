"""What one pass wants to change, as data: the reconcile returns it, the controller applies it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from api.objects import Raw

EventType = Literal["Normal", "Warning"]


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete one child, only if it still has this UID. The namespace is the job's."""

    kind: str
    name: str
    uid: str
    grace_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class Create:
    """Create one child from a full manifest. `body["kind"]` and `apiVersion` name the resource."""

    body: Raw

    @property
    def kind(self) -> str:
        """The child's kind."""
        return str(self.body["kind"])

    @property
    def name(self) -> str:
        """The child's name."""
        return str(self.body["metadata"]["name"])


@dataclass(frozen=True, slots=True)
class Patch:
    """Change a child by a JSON merge patch, only if it still has this UID."""

    kind: str
    name: str
    uid: str
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

    `kind` is one of created, running, completed, failed, restarted; `seconds` is the time since
    the job's creation, where the kind has a histogram; `reason` comes from a bounded list.
    """

    kind: str
    mode: str
    reason: str = ""
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What a pass wants done, in the order of the fields.

    `creates` holds groups in order; the members of one group are created in parallel.
    `status` is a JSON merge patch for the status subresource: `{"status": {...}}`. It holds only
    for the version of the job that was observed, and is to be refused on another.
    `requeue_after` is in seconds; None means that only an event wakes the job again.
    `delete_job` asks for the deletion of the job itself (ttlSecondsAfterFinished).
    `is_move` says that the status moves the job to another state, on which the next pass acts.
    `verify_gone` names pods that the plan takes for gone. The cache may lag behind: they are
    read from the API server first, and where one lives, nothing is applied and the key retries.
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

    @property
    def is_empty(self) -> bool:
        """Whether the pass found nothing to write."""
        return not (self.deletes or self.patches or self.creates or self.status or self.delete_job)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A create that the API server refused, as the last pass met it.

    `reason` is the API server's (Invalid, Forbidden, AlreadyExists, ...). AlreadyExists stands
    here only when the name is held by an object that this job does not control.
    """

    kind: str
    name: str
    reason: str
    message: str
    code: int


@dataclass(frozen=True, slots=True)
class PutOff:
    """Since when the first status of a job waits, and until when it may."""

    since: datetime
    until: datetime


@dataclass(frozen=True, slots=True)
class Observed:
    """All that a pass may look at, as of one moment of the store. Every object is read-only.

    `pods`, `services`, `config_maps` and `pod_groups` are controlled by the job (UID checked).
    `named_pod_group` is the PodGroup with the job's own name, whoever made it.
    `nodes` maps a node's name to the node, or is None where the operator may not read nodes.
    `refusals` holds what the previous passes could not create and why.
    `status_written_at` is when this process last wrote the job's status.
    `put_off` is there where the job's first status has been put off for other jobs.
    `taken_host_ports` are the values of `hostPorts` in the statuses of all other jobs that have
    not ended; gathered only for jobs with `intranet: Host`.
    """

    job: Raw
    pods: tuple[Raw, ...] = ()
    services: tuple[Raw, ...] = ()
    config_maps: tuple[Raw, ...] = ()
    pod_groups: tuple[Raw, ...] = ()
    named_pod_group: Raw | None = None
    nodes: dict[str, Raw] | None = None
    refusals: tuple[Refusal, ...] = ()
    status_written_at: datetime | None = None
    put_off: PutOff | None = None
    taken_host_ports: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Settings:
    """What the command line decides for every job.

    `scheduling` is none, volcano or kubernetes. `volcano_served` and `gang_served` say whether
    the API server serves scheduling.volcano.sh/v1beta1 and scheduling.k8s.io/v1alpha2 PodGroups.
    `host_port_range` is inclusive.
    The graces are how long a pod may wait for an image or a configuration that cannot heal by
    itself before the job fails.
    """

    scheduling: str = "none"
    volcano_served: bool = False
    gang_served: bool = False
    elastic_server: str = ""
    elastic_timeout_seconds: int = 120
    force_delete_after_seconds: float = 300.0
    config_error_grace_seconds: float = 60.0
    image_pull_grace_seconds: float = 600.0
    host_port_range: tuple[int, int] = (30000, 60999)
