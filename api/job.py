"""A PaddleJob as a whole: the parts of its metadata that matter, its spec and its status."""

from dataclasses import dataclass
from datetime import UTC, datetime

from api.constants import API_VERSION, CONTROLLER_NAME, KIND, Role
from api.objects import Raw, is_deleting, name_of, namespace_of, parse_time, uid_of
from api.spec import JobSpec, parse_spec
from api.status import JobStatus, parse_status


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

    @property
    def is_ours(self) -> bool:
        """Whether spec.managedBy leaves the job to this operator."""
        return self.spec.managed_by in ("", CONTROLLER_NAME)

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


def parse_job(raw: Raw) -> PaddleJob:
    """The typed job of a stored PaddleJob.

    Raises KeyError, TypeError or ValueError on an object that the schema would have refused.
    """
    created = parse_time(raw["metadata"].get("creationTimestamp"))
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
    )


def pod_name(job_name: str, role: Role, index: int) -> str:
    """`<job>-<role>-<index>`: also the pod's hostname, subdomain and Service."""
    return f"{job_name}-{role}-{index}"


def config_map_name(job_name: str, attempt: int) -> str:
    """The ConfigMap of an attempt: the job's name for the first.

    Later ones spell the word out: `<job>-2` could well be another job's first.
    """
    return job_name if attempt <= 1 else f"{job_name}-attempt-{attempt}"
