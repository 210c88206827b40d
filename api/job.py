"""A whole PaddleJob: the metadata that we use, its spec and its status."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

from api.constants import (
    ANNOTATION_KEEP_LOGS,
    ANNOTATION_PREBUILT,
    ANNOTATION_RESTARTED_AT,
    ANNOTATION_STATIC_RENDEZVOUS,
    API_VERSION,
    JOB_LABELS,
    KIND,
    LABEL_NO_BACKUP,
    MAX_CHILD_NAME,
    MAX_RESTARTED_AT,
    MULTIKUEUE,
    OWN_MANAGERS,
    Role,
)
from api.objects import Raw, is_deleting, labels_of, name_of, namespace_of, parse_time, uid_of
from api.ownership import Key, Owner
from api.spec import JobSpec, parse_spec
from api.status import JobStatus, parse_status

_UID_CHARACTERS = 8
_WORKLOAD_UID_CHARACTERS = 5


@dataclass(frozen=True, slots=True)
class PaddleJob:
    """One PaddleJob, read-only. `raw_status` is the status as stored, for diffing."""

    name: str
    namespace: str
    uid: str
    generation: int
    created_at: datetime
    is_deleting: bool
    spec: JobSpec
    status: JobStatus
    raw_status: Raw
    restarted_at: str = ""
    """The value of the annotation by which the user asks for a restart."""
    static_rendezvous: bool = True
    """Whether the annotation allows a fixed list of peers for the launcher."""
    keeps_logs: bool = False
    """Whether the annotation asks for the ends of failed pods' logs to be kept."""
    labels: dict[str, str] = field(default_factory=dict)
    """The labels of the job that are in JOB_LABELS."""
    prebuilt: str = ""
    """The name of the Workload that MultiKueue has sent with the job."""

    @property
    def workload_name(self) -> str:
        """The name of the job's Workload, made by the operator or sent by MultiKueue."""
        return self.prebuilt or workload_name(self.name, self.uid)

    @property
    def is_ours(self) -> bool:
        """Whether spec.managedBy leaves the job to this operator."""
        return self.spec.managed_by in OWN_MANAGERS

    @property
    def is_sent_away(self) -> bool:
        """Whether MultiKueue runs the job in another cluster."""
        return self.spec.managed_by == MULTIKUEUE

    @property
    def owner(self) -> Owner:
        """The job as the owner of its children."""
        return Owner(Key(self.namespace, self.name), self.uid)

    def owner_reference(self) -> Raw:
        """The controller reference that every child carries."""
        return {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "name": self.name,
            "uid": self.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }

    def child_metadata(self, name: str, labels: dict[str, str]) -> Raw:
        """The metadata of a child. `labels` can override the label that prevents its backup."""
        return {
            "name": name,
            "namespace": self.namespace,
            "labels": {LABEL_NO_BACKUP: "true", **labels},
            "ownerReferences": [self.owner_reference()],
        }


def parse_job(raw: Raw) -> PaddleJob:
    """The typed job of a stored PaddleJob.

    Raises AttributeError, KeyError, TypeError or ValueError on an object that the schema would
    refuse. Without a creation time, the job counts as created in 1970.
    """
    created = parse_time(raw["metadata"].get("creationTimestamp"))
    annotations = raw["metadata"].get("annotations") or {}
    return PaddleJob(
        name=name_of(raw),
        namespace=namespace_of(raw),
        uid=uid_of(raw),
        generation=raw["metadata"].get("generation", 0),
        created_at=created or datetime.fromtimestamp(0, UTC),
        is_deleting=is_deleting(raw),
        spec=parse_spec(raw["spec"]),
        status=parse_status(raw.get("status")),
        raw_status=raw.get("status") or {},
        restarted_at=annotations.get(ANNOTATION_RESTARTED_AT, "")[:MAX_RESTARTED_AT],
        static_rendezvous=annotations.get(ANNOTATION_STATIC_RENDEZVOUS, "true") == "true",
        keeps_logs=annotations.get(ANNOTATION_KEEP_LOGS) == "true",
        prebuilt=parse_prebuilt(raw),
        labels={key: labels_of(raw)[key] for key in JOB_LABELS if key in labels_of(raw)},
    )


def parse_prebuilt(raw: Raw) -> str:
    """The name of the Workload that MultiKueue has sent with the job; empty without one."""
    annotations = raw["metadata"].get("annotations") or {}
    return str(annotations.get(ANNOTATION_PREBUILT) or labels_of(raw).get(ANNOTATION_PREBUILT, ""))


def pod_name(job_name: str, role: Role, index: int) -> str:
    """`<job>-<role>-<index>`: also the pod's hostname, subdomain and Service."""
    return f"{job_name}-{role}-{index}"


def config_map_name(job_name: str, attempt: int) -> str:
    """The name of an attempt's ConfigMap: the job's name for the first attempt.

    Later names contain the word "attempt", because `<job>-2` could be another job's name.
    """
    return job_name if attempt <= 1 else f"{job_name}-attempt-{attempt}"


def pod_group_name(job_name: str, uid: str) -> str:
    """`<job>-<8 hex of the UID>`; the job's name is cut so that the result is a valid name."""
    suffix = uid.replace("-", "")[:_UID_CHARACTERS]
    return f"{job_name[: MAX_CHILD_NAME - _UID_CHARACTERS - 1]}-{suffix}"


def workload_name(job_name: str, uid: str) -> str:
    """`paddlejob-<job>-<5 hex of the UID>`, cut to a label's length, as Kueue puts it in labels."""
    suffix = uid.replace("-", "")[:_WORKLOAD_UID_CHARACTERS]
    return f"{f'paddlejob-{job_name}'[: MAX_CHILD_NAME - len(suffix) - 1]}-{suffix}"
