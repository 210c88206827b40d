"""Changes to jobs: one function for each command or button."""

from api.constants import ANNOTATION_RESTARTED_AT
from api.objects import Raw
from kube.client import STRICT, Client, Query
from kube.errors import AlreadyExists, ApiError, Invalid
from pdj.errors import Problem
from pdj.gather.jobs import check_served
from pdj.gather.live import result_of
from pdj.gather.paths import jobs_path


def create(client: Client, job: Raw, query: Query = STRICT) -> Raw:
    """Create a job; returns it as the cluster has it. Raises Problem or ApiError."""
    name = job["metadata"].get("name")
    try:
        return client.create(jobs_path(job["metadata"]["namespace"]), job, query)
    except AlreadyExists:
        raise
    except Invalid as error:  # the message on an unknown field lacks the job's name
        if not name or f'"{name}"' in error.message:
            raise
        raise Problem(f"{name}: {error.message}") from error
    except ApiError as error:
        check_served(client, error)
        raise


def suspend(client: Client, raw: Raw, value: bool = True) -> Raw:
    """Set `spec.suspend`; returns the changed job. Raises Problem for a job that has ended."""
    _refuse_ended(raw)
    return _patch(client, raw, {"spec": {"suspend": value}})


def scale(client: Client, raw: Raw, workers: int) -> Raw:
    """Change the number of workers. Raises Problem for a job that has ended."""
    _refuse_ended(raw)
    return _patch(client, raw, {"spec": {"worker": {"replicas": workers}}})


def restart(client: Client, raw: Raw, value: str) -> Raw:
    """Ask for a new attempt. Raises Problem for a job that is suspended or has ended."""
    _refuse_ended(raw)
    if (raw["spec"] or {}).get("suspend"):
        name = raw["metadata"]["name"]
        raise Problem(f"the job {name} is suspended; resuming it begins a new attempt")
    return _patch(client, raw, {"metadata": {"annotations": {ANNOTATION_RESTARTED_AT: value}}})


def delete(client: Client, raw: Raw) -> None:
    """Delete this job, but no other one with its name."""
    client.delete(_path(raw), raw["metadata"]["uid"])


def _patch(client: Client, raw: Raw, patch: Raw) -> Raw:
    """Change this job, but no other one with its name: the API server refuses another UID."""
    metadata = {"uid": raw["metadata"]["uid"], **patch.get("metadata", {})}
    return client.merge_patch(_path(raw), {**patch, "metadata": metadata})


def _path(raw: Raw) -> str:
    return jobs_path(raw["metadata"]["namespace"], raw["metadata"]["name"])


def _refuse_ended(raw: Raw) -> None:
    """Raise Problem for a job that has ended, which cannot be changed."""
    if result_of(raw) is not None:
        name, phase = raw["metadata"]["name"], raw["status"]["phase"]
        raise Problem(
            f"the job {name} has ended ({phase}), so it can only be created again",
            f"kubectl pdj -n {raw['metadata']['namespace']} restart {name} --submit-again",
            "restart()",
        )
