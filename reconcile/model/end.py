"""Reads how a pod ended: which container decided it, whose doing it was, and whether it is done.

Whatever judges an end asks here, so that there is one answer, whichever event is seen first. Where
the program's part is in doubt, the end is another's doing and not charged.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property

from api.objects import Raw, condition_of, condition_since, dicts_in, is_deleting, moment_of
from api.signals import CONTAINER_BASE, SIGTERM, signal_of
from api.trainer import Containers, terminated_of
from reconcile.model.waits import is_hopeless
from reconcile.words.alone import trains_alone
from reconcile.words.cause import LastWords, read_message

DISRUPTION_TARGET = "DisruptionTarget"
"""The pod condition that eviction, preemption, taints and node loss set before the pod ends."""
BY_KUBELET = "TerminationByKubelet"
"""Its reason if the node needs room or shuts down; an eviction for the pod's own limit has none."""
LOST_NODE_REASONS = frozenset({"DeletionByTaintManager", "DeletionByPodGC", "NodeLost"})
"""Its reasons, or the pod's, if the node is gone, or has a NoExecute taint."""
GATES_NOT_READY = "ReadinessGatesNotReady"
"""The reason of a kubelet if somebody else's condition keeps the pod from being ready."""
MAX_GRACE_SECONDS = 366 * 86400
"""The longest grace period that we compute with: the API allows any int64, beyond the calendar."""

# Words of others: kubelet 1.27 to 1.36, containerd 2. tests/e2e/test_ends.py has them from a node.
_STORAGE = re.compile(r"(?!The node).*exceed\w* .*\blimit\b")
OWN_LIMITS = (
    ("Evicted", re.compile("Usage of EmptyDir .* exceeds the limit"), "its emptyDir.sizeLimit"),
    ("Evicted", _STORAGE, "resources.limits.ephemeral-storage"),
    ("DeadlineExceeded", re.compile(""), "activeDeadlineSeconds of the pod template"),
)
"""A pod's status.reason, and words of its message, if it exceeded its own limit; what to raise."""
_UNSTARTED = re.compile("Start|Create|Run")
"""Reasons of a container that its runtime could not start: StartError, ContainerCannotRun."""
TOLD_TO_END = CONTAINER_BASE + SIGTERM
"""The exit code of a container that SIGTERM ended."""
OUT_OF_MEMORY = "OOMKilled"
"""The reason if the kernel has ever killed a process of the container for lack of memory."""


class Author(StrEnum):
    """Who ended a pod. Only the program is charged."""

    PROGRAM = "program"  # it exited, a signal ended it, or it exceeded a limit of its template
    NODE = "node"  # the kubelet rejected the pod, lost a container, or could not start it
    CLUSTER = "cluster"  # eviction, preemption, a drain or shutdown, a node that is gone
    USER = "user"  # somebody deleted it


@dataclass(frozen=True)
class ContainerEnd:
    """How a container ended. `signal` is the signal that ended it or one of its processes."""

    container: str
    is_trainer: bool
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

    @property
    def is_lost(self) -> bool:
        """Whether nobody saw it end: ContainerStatusUnknown (kubelet), Unknown (containerd)."""
        return "Unknown" in self.reason

    @property
    def is_nodes(self) -> bool:
        """Whether its node lost it, or could not start it for reasons of its own."""
        is_unstarted = _UNSTARTED.search(self.reason) is not None
        return self.is_lost or (is_unstarted and not is_hopeless(self.message))


@dataclass(frozen=True, slots=True)
class PodEnd:
    """How a pod ended, or is ending.

    `container` says how the trainer ended, or else how an init container failed; for a living pod,
    how the trainer last ended. None if neither has, or if the kubelet rejected the pod. `is_over`:
    the container is not started again. `is_foreign`: the template does not have the
    container, so admission has added it.
    """

    raw: Raw
    container: ContainerEnd | None
    is_over: bool
    is_foreign: bool = False

    @property
    def author(self) -> Author:
        """Who ended the pod."""
        disruption = condition_of(self.raw, DISRUPTION_TARGET)
        if self.own_limit and (disruption or {}).get("reason") != BY_KUBELET:
            return Author.PROGRAM
        if self.is_over and self.is_own:
            return Author.PROGRAM
        if disruption or self.is_foreign or (self.words and self.container):
            return Author.CLUSTER
        if is_deleting(self.raw) and not self.words:
            return Author.USER
        return Author.NODE  # if no container has ended, the kubelet rejected the pod

    @property
    def is_of_others(self) -> bool:
        """Whether the cluster or a user ended the pod, or is ending it."""
        return self.author in (Author.CLUSTER, Author.USER)

    @property
    def is_silent(self) -> bool:
        """Whether the cluster says that the pod is not ready or unknown, and the kubelet does not.

        Nodes that are not a kubelet's set Ready alone, also to False, before a program starts.
        """
        if (self.raw.get("status") or {}).get("phase") == "Unknown":
            return True
        ready = condition_of(self.raw, "Ready", "False")
        was_ready = condition_of(self.raw, "ContainersReady") is not None
        return ready is not None and was_ready and ready.get("reason") != GATES_NOT_READY

    @property
    def began(self) -> datetime | None:
        """When others interrupted the pod or its container ended, whichever came first; None if
        that is not known."""
        finished = self.container.finished_at if self.container and self.is_over else None
        return min(filter(None, (finished, self.interrupted_at)), default=None)

    @property
    def interrupted_at(self) -> datetime | None:
        """When others began to end the pod or its node fell silent; None if that is not known."""
        silent = condition_since(self.raw, "Ready", "False") if self.is_silent else None
        return min(filter(None, (silent, *self._interruptions())), default=None)

    @property
    def words(self) -> str:
        """Why the kubelet ended the pod, in its words, and what to raise; else empty."""
        status: Raw = self.raw.get("status") or {}
        if not status.get("reason"):
            return ""
        raised = f"; raise {self.own_limit}" if self.own_limit else ""
        return f"{status['reason']}: {(status.get('message') or '').rstrip('. ')}{raised}"

    @property
    def own_limit(self) -> str:
        """The field to raise if the pod exceeded a limit of its own; else empty."""
        status: Raw = self.raw.get("status") or {}
        reason, text = status.get("reason"), status.get("message") or ""
        return next((to for of, says, to in OWN_LIMITS if of == reason and says.match(text)), "")

    @property
    def has_lost_node(self) -> bool:
        """Whether its node or container was lost; a NoExecute taint looks the same."""
        if self.is_silent or (self.container is not None and self.container.is_lost):
            return True
        said = (self.raw.get("status"), condition_of(self.raw, DISRUPTION_TARGET))
        return any(str((each or {}).get("reason")) in LOST_NODE_REASONS for each in said)

    @property
    def is_own(self) -> bool:
        """Whether a container that has ended did so by itself: it is done, or has failed.

        Not if others began to end it before, or in the same second: a trainer that then exits with
        0 perhaps only saved a checkpoint. And not if its node lost it, or did not start it, or if
        it is none of the template's. A SIGTERM is theirs in any case: the node's clock can be late.
        """
        is_nodes = self.container is not None and self.container.is_nodes
        if self._is_begun_anew or is_nodes or self.is_foreign:
            return False
        finished = self.container.finished_at if self.container else None
        interruptions = list(self._interruptions())
        if interruptions and self.container and self.container.exit_code == TOLD_TO_END:
            return False
        return all(finished and since and finished < since for since in interruptions)

    @property
    def _is_begun_anew(self) -> bool:
        """Whether its kubelet restarted, rejected the pod and ended what ran in it.

        Kubelet 1.36 then shows no reason, but conditions that are all younger than the container.
        """
        times = {condition_since(self.raw, type_) for type_ in ("PodScheduled", "Initialized")}
        since, started = times.pop(), self.container.started_at if self.container else None
        return bool(not times and since and started and since > started)

    def _interruptions(self) -> Iterator[datetime | None]:
        """When others began to end the pod; None for a time that is not known."""
        is_disrupted = condition_of(self.raw, DISRUPTION_TARGET) is not None
        metadata = self.raw["metadata"]
        if self.words and not (is_disrupted and self.raw["status"].get("phase") != "Failed"):
            yield None
        if is_disrupted:
            yield condition_since(self.raw, DISRUPTION_TARGET)
        if is_deleting(self.raw):
            due = moment_of(metadata["deletionTimestamp"])
            seconds = min(metadata.get("deletionGracePeriodSeconds") or 0, MAX_GRACE_SECONDS)
            yield due and due - timedelta(seconds=seconds)


def container_end(name: str, is_trainer: bool, terminated: Raw) -> ContainerEnd:
    """The end that a container's status shows as its `terminated` state.

    A lack of memory does not explain a SIGTERM: a process was killed earlier, and this end is the
    doing of whoever sent the signal.
    """
    code, reason = terminated.get("exitCode") or 0, terminated.get("reason") or ""
    return ContainerEnd(
        container=name,
        is_trainer=is_trainer,
        exit_code=code,
        signal=terminated.get("signal") or signal_of(code),
        reason="" if code == TOLD_TO_END and reason == OUT_OF_MEMORY else reason,
        message=terminated.get("message") or "",
        started_at=moment_of(terminated.get("startedAt")),
        finished_at=moment_of(terminated.get("finishedAt")),
    )


def read_end(raw: Raw, container: Raw, names: Containers) -> PodEnd:
    """The end of a pod, from the status of its trainer container, and its template's names."""
    trainer = names.trainer
    status: Raw = raw.get("status") or {}
    ended, name, has_failed = terminated_of(container), trainer, status.get("phase") == "Failed"
    if not ended and has_failed:
        inits = dicts_in(status.get("initContainerStatuses"))
        failed = [each for each in inits if (terminated_of(each) or {}).get("exitCode")]
        last: Raw = failed[-1] if failed else {}  # native sidecars before it were told to end
        ended, name = terminated_of(last), last.get("name", trainer)
    is_over = bool(ended)
    if not is_over and not (has_failed and status.get("reason")):
        ended = (container.get("lastState") or {}).get("terminated")
    if not ended:
        return PodEnd(raw, None, is_over)
    is_foreign = name != trainer and name not in names.inits
    end = container_end(name, name == trainer, ended)
    is_over &= not (end.exit_code and restarts_in_place(raw) and not has_failed)
    return PodEnd(raw, end, is_over, is_foreign)


def restarts_in_place(raw: Raw) -> bool:
    """Whether the pod's kubelet restarts a container that fails."""
    return (raw.get("spec") or {}).get("restartPolicy") == "OnFailure"
