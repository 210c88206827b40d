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

from api.objects import Raw, condition_of, dicts_in, is_deleting, moment_of
from api.signals import signal_of
from api.trainer import terminated_of
from reconcile.model.waits import is_hopeless
from reconcile.words.alone import trains_alone
from reconcile.words.cause import LastWords, read_message

DISRUPTION_TARGET = "DisruptionTarget"
"""The pod condition that eviction, preemption, taints and node loss set before the pod ends."""
BY_KUBELET = "TerminationByKubelet"
"""Its reason if the node needs room or shuts down; an eviction for the pod's own limit has none."""
LOST_NODE_REASONS = frozenset({"DeletionByTaintManager", "DeletionByPodGC"})
"""Its reasons if the node is gone, or has a NoExecute taint."""
MAX_GRACE_SECONDS = 366 * 86400
"""The longest grace period that we compute with: the API allows any int64, beyond the calendar."""

# Words of others: kubelet 1.27 to 1.36, containerd 2. tests/e2e/test_ends.py has them from a node.
OWN_LIMITS = (
    ("Evicted", re.compile("Usage of EmptyDir .* exceeds the limit"), "its emptyDir.sizeLimit"),
    (
        "Evicted",
        re.compile(r"(?!The node).*exceed\w* .*\blimit\b"),
        "resources.limits.ephemeral-storage",
    ),
    ("DeadlineExceeded", re.compile(""), "activeDeadlineSeconds of the pod template"),
)
"""A pod's status.reason, and words of its message, if it exceeded its own limit; what to raise."""
_UNSTARTED = re.compile("Start|Create|Run")
"""Reasons of a container that its runtime could not start: StartError, ContainerCannotRun."""


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
    how the trainer last ended. None if neither has, or if the kubelet rejected the pod.
    """

    raw: Raw
    container: ContainerEnd | None

    @property
    def author(self) -> Author:
        """Who ended the pod."""
        disruption, said = condition_of(self.raw, DISRUPTION_TARGET), self.words
        if said and self.own_limit and (disruption or {}).get("reason") != BY_KUBELET:
            return Author.PROGRAM
        if disruption or (said and self.container):
            return Author.CLUSTER
        if is_deleting(self.raw) and not said:
            return Author.USER
        if self.container is None or self.container.is_nodes or self._is_begun_anew:
            return Author.NODE  # if no container has ended, the kubelet rejected the pod
        return Author.PROGRAM

    @property
    def is_programs(self) -> bool:
        """Whether the program ended it, so that it counts."""
        return self.author is Author.PROGRAM

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
        condition = condition_of(self.raw, DISRUPTION_TARGET) or {}
        is_gone = (self.raw.get("status") or {}).get("reason") == "NodeLost"
        is_gone |= self.container is not None and self.container.is_lost
        return is_gone or str(condition.get("reason")) in LOST_NODE_REASONS

    @property
    def is_done(self) -> bool:
        """Whether a trainer that exited with 0 has done its work.

        It has not if it was asked to end before, or in the same second: such a trainer perhaps only
        saved a checkpoint. It has not if the kubelet let the pod fail, either.
        """
        if self._is_begun_anew or (self.container and self.container.is_lost):
            return False
        finished = self.container.finished_at if self.container else None
        return all(finished and since and finished < since for since in self._interruptions())

    @property
    def _is_begun_anew(self) -> bool:
        """Whether its kubelet restarted, rejected the pod and ended what ran in it.

        Kubelet 1.36 then shows no reason, but conditions that are all younger than the container.
        """
        every = [condition_of(self.raw, type_) for type_ in ("PodScheduled", "Initialized")]
        times = {moment_of(each.get("lastTransitionTime")) if each else None for each in every}
        since, started = times.pop(), self.container.started_at if self.container else None
        return not times and since is not None and started is not None and since > started

    def _interruptions(self) -> Iterator[datetime | None]:
        """When others began to end the pod; None for a time that is not known."""
        disruption, metadata = condition_of(self.raw, DISRUPTION_TARGET), self.raw["metadata"]
        if self.words and (disruption is None or self.raw["status"].get("phase") == "Failed"):
            yield None
        if disruption is not None:
            yield moment_of(disruption.get("lastTransitionTime"))
        if is_deleting(self.raw):
            due = moment_of(metadata["deletionTimestamp"])
            seconds = min(metadata.get("deletionGracePeriodSeconds") or 0, MAX_GRACE_SECONDS)
            yield due and due - timedelta(seconds=seconds)


def container_end(name: str, is_trainer: bool, terminated: Raw) -> ContainerEnd:
    """The end that a container's status shows as its `terminated` state."""
    code = terminated.get("exitCode") or 0
    return ContainerEnd(
        container=name,
        is_trainer=is_trainer,
        exit_code=code,
        signal=terminated.get("signal") or signal_of(code),
        reason=terminated.get("reason") or "",
        message=terminated.get("message") or "",
        started_at=moment_of(terminated.get("startedAt")),
        finished_at=moment_of(terminated.get("finishedAt")),
    )


def read_end(raw: Raw, container: Raw, trainer: str) -> PodEnd:
    """The end of a pod, from the status of its trainer container, which has this name."""
    status: Raw = raw.get("status") or {}
    ended, name = terminated_of(container), trainer
    if ended is None and status.get("phase") == "Failed":
        inits = dicts_in(status.get("initContainerStatuses"))
        failed = [each for each in inits if (terminated_of(each) or {}).get("exitCode")]
        last: Raw = failed[-1] if failed else {}  # native sidecars before it were told to end
        ended, name = terminated_of(last), last.get("name", trainer)
    if ended is None and not (status.get("phase") == "Failed" and status.get("reason")):
        ended = (container.get("lastState") or {}).get("terminated")
    return PodEnd(raw, container_end(name, name == trainer, ended) if ended else None)
