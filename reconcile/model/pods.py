"""A view of each existing pod, based on its trainer container.

A pod's phase depends on all of its containers, but only the trainer counts for the job. A sidecar
that outlives the trainer, or fails after it, changes nothing here.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cached_property

from api.constants import LABEL_ATTEMPT, LABEL_INDEX, LABEL_ROLE, TRAINER_CONTAINER, Role
from api.objects import Raw, condition_of, is_deleting, labels_of, name_of, parse_time, uid_of
from api.signals import signal_of
from api.trainer import container_status, container_statuses, has_started, terminated_of
from reconcile.words.alone import trains_alone
from reconcile.words.cause import LastWords, read_message

DISRUPTION_TARGET = "DisruptionTarget"
"""The pod condition that eviction, preemption, taints and node loss set before the pod ends."""
CLUSTER_REASONS = frozenset(
    {"Evicted", "Preempting", "NodeLost", "NodeShutdown", "Terminated", "UnexpectedAdmissionError"}
)
"""A pod's status.reason when the cluster ended it, or refused to run it.

These reasons say nothing about the program.
"""
ADMISSION_PREFIX = "OutOf"
"""The kubelet's other such reasons begin with this, for example OutOfcpu and OutOfnvidia.com/gpu.

The node had less free than the scheduler assumed.
"""
LOST_NODE_REASONS = frozenset({"DeletionByTaintManager", "DeletionByPodGC"})
"""Reasons of the condition DisruptionTarget if the node is gone, or has a NoExecute taint."""


class PodState(StrEnum):
    """How a pod is counted in its role's status."""

    PENDING = "pending"
    STARTING = "starting"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class ContainerEnd:
    """How a container ended. `signal` is the signal that ended it or one of its processes."""

    container: str
    exit_code: int
    signal: int | None
    reason: str
    message: str
    started_at: datetime | None
    finished_at: datetime | None

    @cached_property
    def words(self) -> LastWords:
        """The last log lines in its termination message, parsed once."""
        return read_message(self.message)

    @property
    def is_alone(self) -> bool:
        """Whether its termination message shows a launcher that knew of no other node."""
        return trains_alone(self.message.splitlines())


@dataclass(frozen=True, slots=True)
class PodView:
    """One pod of the job.

    `end` says how the trainer last ended, or else how an init container failed; None if neither
    happened. `restarts` counts those of all containers.
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
    restarts: int

    @property
    def is_live(self) -> bool:
        """Whether its trainer has not ended, and the pod is not being deleted."""
        return not self.is_deleting and self.state not in (PodState.SUCCEEDED, PodState.FAILED)

    @property
    def restarts_in_place(self) -> bool:
        """Whether its kubelet restarts a container that fails."""
        return _restarts_in_place(self.raw)

    @property
    def is_disrupted(self) -> bool:
        """Whether the cluster, not the program, ended it: eviction, preemption, node loss."""
        reason = (self.raw.get("status") or {}).get("reason") or ""
        is_kubelets = reason in CLUSTER_REASONS or reason.startswith(ADMISSION_PREFIX)
        return is_kubelets or condition_of(self.raw, DISRUPTION_TARGET) is not None

    @property
    def has_lost_node(self) -> bool:
        """Whether the loss of its node ended it; a NoExecute taint looks the same."""
        condition = condition_of(self.raw, DISRUPTION_TARGET) or {}
        status = self.raw.get("status") or {}
        return condition.get("reason") in LOST_NODE_REASONS or status.get("reason") == "NodeLost"


def view_pod(raw: Raw, trainer_names: dict[Role, str]) -> PodView:
    """The view of one pod. Unreadable labels give the role None, the index -1 and the attempt 0."""
    labels = labels_of(raw)
    role = next((role for role in Role if role == labels.get(LABEL_ROLE)), None)
    trainer = trainer_names.get(role, TRAINER_CONTAINER) if role else TRAINER_CONTAINER
    status: Raw = raw.get("status") or {}
    container = container_status(raw, trainer)
    return PodView(
        raw=raw,
        name=name_of(raw),
        uid=uid_of(raw),
        role=role,
        index=_number(labels.get(LABEL_INDEX), -1),
        attempt=_number(labels.get(LABEL_ATTEMPT), 0),
        state=_state(raw, container),
        address=status.get("podIP") or "",
        node=(raw.get("spec") or {}).get("nodeName") or "",
        is_deleting=is_deleting(raw),
        has_started=has_started(container) or status.get("phase") == "Succeeded",
        started_at=_started_at(container),
        end=_trainer_end(container) or _init_end(raw),
        restarts=sum(int(each.get("restartCount", 0)) for each in container_statuses(raw)),
    )


def _state(raw: Raw, container: Raw) -> PodState:
    phase = (raw.get("status") or {}).get("phase")
    state = container.get("state") or {}
    if "terminated" in state:
        if state["terminated"].get("exitCode", 0) == 0:
            return PodState.SUCCEEDED
        is_back_soon = _restarts_in_place(raw) and phase != "Failed"
        return PodState.STARTING if is_back_soon else PodState.FAILED
    if phase == "Succeeded":
        return PodState.SUCCEEDED
    if phase == "Failed":
        return PodState.FAILED
    if phase == "Unknown":
        return PodState.UNKNOWN
    if "running" in state or (phase == "Running" and not container):
        return PodState.RUNNING
    return PodState.STARTING if (raw.get("spec") or {}).get("nodeName") else PodState.PENDING


def _restarts_in_place(raw: Raw) -> bool:
    return (raw.get("spec") or {}).get("restartPolicy") == "OnFailure"


def _trainer_end(container: Raw) -> ContainerEnd | None:
    for state in (container.get("state") or {}, container.get("lastState") or {}):
        terminated = state.get("terminated")
        if terminated:
            return _container_end(container["name"], terminated)
    return None


def _init_end(raw: Raw) -> ContainerEnd | None:
    for container in (raw.get("status") or {}).get("initContainerStatuses") or ():
        terminated = terminated_of(container)
        if terminated and terminated.get("exitCode", 0) != 0:
            return _container_end(container["name"], terminated)
    return None


def _container_end(name: str, terminated: Raw) -> ContainerEnd:
    code = terminated.get("exitCode", 0)
    return ContainerEnd(
        container=name,
        exit_code=code,
        signal=terminated.get("signal") or signal_of(code),
        reason=terminated.get("reason", ""),
        message=terminated.get("message", ""),
        started_at=parse_time(terminated.get("startedAt")),
        finished_at=parse_time(terminated.get("finishedAt")),
    )


def _started_at(container: Raw) -> datetime | None:
    state = container.get("state") or {}
    return parse_time((state.get("running") or state.get("terminated") or {}).get("startedAt"))


def _number(text: str | None, default: int) -> int:
    return int(text) if text is not None and text.isdecimal() else default
