"""Changes to jobs: one function for each command or button."""

from collections.abc import Callable
from typing import NamedTuple

from api.constants import ANNOTATION_RESTARTED_AT, Phase
from api.objects import Raw
from kube.client import Client
from pdj.errors import Problem
from pdj.facts.picture import has_ended, phase_of
from pdj.gather.paths import path_of


class Change(NamedTuple):
    """What was done, in a word for people, and how a job looks once it is carried out."""

    word: str
    is_done: Callable[[Raw], bool]


def suspend(client: Client, raw: Raw) -> Change:
    """Suspend a job. Raises Problem for a job that has ended."""
    _refuse_ended(raw)
    _patch(client, raw, {"spec": {"suspend": True}})
    return Change("suspended", lambda job: phase_of(job) == Phase.SUSPENDED)


def resume(client: Client, raw: Raw) -> Change:
    """Undo `suspend`. Raises Problem for a job that has ended."""
    _refuse_ended(raw)
    _patch(client, raw, {"spec": {"suspend": False}})
    return Change("resumed", runs)


def scale(client: Client, raw: Raw, workers: int) -> Change:
    """Change the number of workers. Raises Problem for a job that has ended."""
    _refuse_ended(raw)
    made = _patch(client, raw, {"spec": {"worker": {"replicas": workers}}})
    generation = made["metadata"]["generation"]

    def has_scaled(job: Raw) -> bool:
        status = job.get("status") or {}
        if status.get("observedGeneration", 0) < generation:
            return False
        running = (status.get("worker") or {}).get("running", 0)
        return phase_of(job) == Phase.SUSPENDED or running == workers

    return Change(f"scaled to {workers} worker{'s' * (workers != 1)}", has_scaled)


def restart(client: Client, raw: Raw, at: str) -> Change:
    """Ask for a new attempt. Raises Problem for a job that is suspended or has ended."""
    _refuse_ended(raw)
    if (raw["spec"] or {}).get("suspend"):
        name = raw["metadata"]["name"]
        raise Problem(f"the job {name} is suspended; resuming it begins a new attempt")
    _patch(client, raw, {"metadata": {"annotations": {ANNOTATION_RESTARTED_AT: at}}})
    return Change("restarted", lambda job: runs(job) and job["status"].get("restartedAt") == at)


def delete(client: Client, raw: Raw) -> None:
    """Delete this job, but no other one with its name."""
    client.delete(path_of(raw), raw["metadata"]["uid"])


def runs(job: Raw) -> bool:
    """Whether the job runs or has completed."""
    return phase_of(job) in (Phase.RUNNING, Phase.COMPLETING, Phase.COMPLETED)


def _patch(client: Client, raw: Raw, patch: Raw) -> Raw:
    """Change this job, but no other one with its name: the API server refuses another UID."""
    metadata = {"uid": raw["metadata"]["uid"], **patch.get("metadata", {})}
    return client.merge_patch(path_of(raw), {**patch, "metadata": metadata})


def _refuse_ended(raw: Raw) -> None:
    """Raise Problem for a job that has ended, which cannot be changed."""
    if has_ended(raw):
        name, phase = raw["metadata"]["name"], raw["status"]["phase"]
        raise Problem(
            f"the job {name} has ended ({phase}), so it can only be created again",
            f"kubectl pdj -n {raw['metadata']['namespace']} restart {name} --submit-again",
            "restart()",
        )
