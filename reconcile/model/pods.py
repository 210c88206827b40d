"""A view of each existing pod, based on its trainer container.

A pod's phase depends on all of its containers, but only the trainer counts for the job. A sidecar
that outlives the trainer, or fails after it, changes nothing here.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from api.constants import LABEL_ATTEMPT, LABEL_INDEX, LABEL_ROLE, Role
from api.objects import Raw, is_deleting, labels_of, moment_of, name_of, uid_of
from api.trainer import Containers, container_statuses, has_started
from reconcile.model.end import (
    ContainerEnd,
    PodEnd,
    container_end,
    read_end,
    restarts_in_place,
)
from reconcile.model.waits import Wait, read_waits

_ROLES = {str(role): role for role in Role}


class PodState(StrEnum):
    """How a pod is counted in its role's status."""

    PENDING = "pending"
    STARTING = "starting"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class PodView:
    """One pod of the job.

    `end` says how the trainer last ended, or else how an init container failed; None if neither
    happened. `waits` and `restarts` are those of all containers.
    """

    raw: Raw
    name: str
    uid: str
    role: Role | None
    index: int
    attempt: int
    state: PodState
    address: str
    node: str
    is_deleting: bool
    has_started: bool
    started_at: datetime | None
    end: ContainerEnd | None
    ending: PodEnd
    waits: tuple[Wait, ...]
    restarts: int

    @property
    def is_live(self) -> bool:
        """Whether its trainer has not ended, and the pod is not being deleted."""
        return not self.is_deleting and self.state not in (PodState.SUCCEEDED, PodState.FAILED)

    @property
    def restarts_in_place(self) -> bool:
        """Whether its kubelet restarts a container that fails."""
        return restarts_in_place(self.raw)


def view_pod(raw: Raw, containers: dict[Role, Containers]) -> PodView:
    """The view of one pod. Unreadable labels give the role None, the index -1 and the attempt 0."""
    labels = labels_of(raw)
    role = _ROLES.get(labels.get(LABEL_ROLE, ""))
    names = containers.get(role, Containers()) if role else Containers()
    trainer = names.trainer
    status: Raw = raw.get("status") or {}
    statuses = tuple(container_statuses(raw))
    container: Raw = next((each for each in statuses if each.get("name") == trainer), {})
    ending = read_end(raw, container, names)
    return PodView(
        raw=raw,
        name=name_of(raw),
        uid=uid_of(raw),
        role=role,
        index=_number(labels.get(LABEL_INDEX), -1),
        attempt=_number(labels.get(LABEL_ATTEMPT), 0),
        state=_state(raw, container, ending),
        address=status.get("podIP") or "",
        node=(raw.get("spec") or {}).get("nodeName") or "",
        is_deleting=is_deleting(raw),
        has_started=has_started(container) or status.get("phase") == "Succeeded",
        started_at=_started_at(container),
        end=ending.container,
        ending=ending,
        waits=tuple(read_waits(statuses, trainer)),
        restarts=sum(map(_restarts, statuses)),
    )


def _state(raw: Raw, container: Raw, ending: PodEnd) -> PodState:
    phase = (raw.get("status") or {}).get("phase")
    state = container.get("state") or {}
    terminated = state.get("terminated")
    if not terminated.get("exitCode") if terminated else phase == "Succeeded":
        return PodState.SUCCEEDED if ending.is_own else PodState.FAILED
    if terminated:
        return PodState.FAILED if ending.is_over else PodState.STARTING
    if phase == "Failed":
        return PodState.FAILED
    if phase == "Unknown":
        return PodState.UNKNOWN
    if "running" in state or (phase == "Running" and not container):
        return PodState.RUNNING
    return PodState.STARTING if (raw.get("spec") or {}).get("nodeName") else PodState.PENDING


def _restarts(container: Raw) -> int:
    """How often a container was restarted, but for the last time if its node ended it."""
    last = (container.get("lastState") or {}).get("terminated")
    is_nodes = last and container_end("", False, last).is_nodes
    return int(container.get("restartCount") or 0) - bool(is_nodes)


def _started_at(container: Raw) -> datetime | None:
    state = container.get("state") or {}
    return moment_of((state.get("running") or state.get("terminated") or {}).get("startedAt"))


def _number(text: str | None, default: int) -> int:
    return int(text) if text is not None and text.isdecimal() else default
