"""A PaddleJob's status as typed values, and the merge patch between two of them.

The status is also the operator's only memory: attempts, counters and failures survive a restart of
the operator because they are stored here and nowhere else.
"""

from dataclasses import dataclass, field, replace
from datetime import datetime

from api.constants import Condition, Phase, Role
from api.objects import Raw, format_time

MAX_FAILURES = 5
"""Failure records kept in status."""
MAX_AVOID_NODES = 20
MAX_MESSAGE_CHARACTERS = 1024
"""A condition's message is cut to this; metav1.Condition allows 32768."""


@dataclass(frozen=True, slots=True)
class RoleStatus:
    """Counts of a role's pods. `completed_indexes` lists pods that ended well, as in `0-2,5`."""

    replicas: int = 0
    pending: int = 0
    starting: int = 0
    running: int = 0
    failed: int = 0
    succeeded: int = 0
    unknown: int = 0
    completed_indexes: str = ""

    @property
    def ready(self) -> str:
        """`running/desired`, as the printer columns show it."""
        return f"{self.running}/{self.replicas}"


@dataclass(frozen=True, slots=True)
class JobCondition:
    """A metav1.Condition. `type` is plain text: others may set conditions of their own."""

    type: str
    status: bool
    reason: str
    message: str
    last_transition_time: str
    observed_generation: int


@dataclass(frozen=True, slots=True)
class Failure:
    """The record of one incident, which outlives the pod.

    `signal` is set where a signal ended the trainer; `exit_code` and `signal` are None where no
    container ended, as in an eviction. `time` is a metav1.Time.
    """

    attempt: int
    pod: str
    role: str
    index: int
    node: str
    exit_code: int | None
    signal: int | None
    reason: str
    message: str
    time: str


@dataclass(frozen=True, slots=True)
class JobStatus:
    """PaddleJob.status. `attempt` counts from 1; 0 means that no pass has looked at the job yet."""

    phase: str = ""
    mode: str = ""
    conditions: tuple[JobCondition, ...] = ()
    observed_generation: int = 0
    start_time: str = ""
    completion_time: str = ""
    attempt: int = 0
    restart_count: int = 0
    failure_count: int = 0
    failures: tuple[Failure, ...] = ()
    avoid_nodes: tuple[str, ...] = ()
    pod_group: str = ""
    host_ports: dict[str, int] = field(default_factory=dict)
    selector: str = ""
    replicas: int = 0
    roles: dict[Role, RoleStatus] = field(default_factory=dict)

    @property
    def is_terminal(self) -> bool:
        """Whether the job has ended for good."""
        return self.phase in (Phase.COMPLETED, Phase.FAILED)

    def condition(self, type_: str) -> JobCondition | None:
        """The condition of this type, or None where it was never set."""
        return next((c for c in self.conditions if c.type == type_), None)

    def is_true(self, type_: Condition) -> bool:
        """Whether the condition is set and true."""
        condition = self.condition(type_)
        return condition is not None and condition.status

    def with_condition(self, new: JobCondition) -> "JobStatus":
        """The status with this condition set. Nothing else sets conditions.

        The transition time stays unless the condition's status flips.
        """
        old = self.condition(new.type)
        message = new.message[:MAX_MESSAGE_CHARACTERS]
        if old is not None and old.status == new.status:
            new = replace(new, last_transition_time=old.last_transition_time)
        new = replace(new, message=message)
        if old is None:
            return replace(self, conditions=(*self.conditions, new))
        conditions = tuple(new if c.type == new.type else c for c in self.conditions)
        return replace(self, conditions=conditions)

    def with_failure(self, failure: Failure) -> "JobStatus":
        """The status with one more failure record, without the oldest beyond MAX_FAILURES."""
        return replace(self, failures=(*self.failures, failure)[-MAX_FAILURES:])


def new_condition(
    type_: str, status: bool, reason: str, message: str, now: datetime
) -> JobCondition:
    """A condition as of now; `with_condition` keeps an older transition time."""
    return JobCondition(type_, status, reason, message, format_time(now), 0)


def parse_status(raw: Raw | None) -> JobStatus:
    """The typed status of `PaddleJob.status`; an absent one is the empty status."""
    raw = raw or {}
    return JobStatus(
        phase=raw.get("phase", ""),
        mode=raw.get("mode", ""),
        conditions=tuple(_parse_condition(c) for c in raw.get("conditions") or ()),
        observed_generation=raw.get("observedGeneration", 0),
        start_time=raw.get("startTime", ""),
        completion_time=raw.get("completionTime", ""),
        attempt=raw.get("attempt", 0),
        restart_count=raw.get("restartCount", 0),
        failure_count=raw.get("failureCount", 0),
        failures=tuple(_parse_failure(f) for f in raw.get("failures") or ()),
        avoid_nodes=tuple(raw.get("avoidNodes") or ()),
        pod_group=raw.get("podGroup", ""),
        host_ports=dict(raw.get("hostPorts") or {}),
        selector=raw.get("selector", ""),
        replicas=raw.get("replicas", 0),
        roles={role: _parse_role(raw[role]) for role in Role if raw.get(role)},
    )


def dump_status(status: JobStatus) -> Raw:
    """The status as JSON; what is empty is left out."""
    raw: Raw = {
        "phase": status.phase,
        "mode": status.mode,
        "conditions": [_dump_condition(c) for c in status.conditions],
        "observedGeneration": status.observed_generation,
        "startTime": status.start_time,
        "completionTime": status.completion_time,
        "attempt": status.attempt,
        "restartCount": status.restart_count,
        "failureCount": status.failure_count,
        "failures": [_dump_failure(f) for f in status.failures],
        "avoidNodes": list(status.avoid_nodes),
        "podGroup": status.pod_group,
        "hostPorts": dict(status.host_ports),
        "selector": status.selector,
        "replicas": status.replicas,
    }
    raw |= {str(role): _dump_role(counts) for role, counts in status.roles.items()}
    return {key: value for key, value in raw.items() if value or key in _KEPT_WHEN_ZERO}


_KEPT_WHEN_ZERO = frozenset({"replicas"})


def diff_status(old: Raw | None, new: JobStatus) -> Raw | None:
    """The JSON merge patch that turns the stored status into the new one, or None.

    Lists are replaced whole and vanished keys become null, as RFC 7386 has it.
    """
    changes = _diff(old or {}, dump_status(new))
    return {"status": changes} if changes else None


def _diff(old: Raw, new: Raw) -> Raw:
    changes: Raw = {key: None for key in old if key not in new}
    for key, value in new.items():
        before = old.get(key)
        if isinstance(value, dict) and isinstance(before, dict):
            inner = _diff(before, value)
            if inner:
                changes[key] = inner
        elif before != value:
            changes[key] = value
    return changes


def _parse_condition(raw: Raw) -> JobCondition:
    return JobCondition(
        type=raw["type"],
        status=raw["status"] == "True",
        reason=raw.get("reason", ""),
        message=raw.get("message", ""),
        last_transition_time=raw.get("lastTransitionTime", ""),
        observed_generation=raw.get("observedGeneration", 0),
    )


def _dump_condition(condition: JobCondition) -> Raw:
    return {
        "type": str(condition.type),
        "status": "True" if condition.status else "False",
        "reason": str(condition.reason),
        "message": condition.message,
        "lastTransitionTime": condition.last_transition_time,
        "observedGeneration": condition.observed_generation,
    }


def _parse_failure(raw: Raw) -> Failure:
    return Failure(
        attempt=raw.get("attempt", 0),
        pod=raw.get("pod", ""),
        role=raw.get("role", ""),
        index=raw.get("index", 0),
        node=raw.get("node", ""),
        exit_code=raw.get("exitCode"),
        signal=raw.get("signal"),
        reason=raw.get("reason", ""),
        message=raw.get("message", ""),
        time=raw.get("time", ""),
    )


def _dump_failure(failure: Failure) -> Raw:
    raw: Raw = {
        "attempt": failure.attempt,
        "pod": failure.pod,
        "role": failure.role,
        "index": failure.index,
        "node": failure.node,
        "exitCode": failure.exit_code,
        "signal": failure.signal,
        "reason": failure.reason,
        "message": failure.message,
        "time": failure.time,
    }
    return {key: value for key, value in raw.items() if value is not None}


def _parse_role(raw: Raw) -> RoleStatus:
    return RoleStatus(
        replicas=raw.get("replicas", 0),
        pending=raw.get("pending", 0),
        starting=raw.get("starting", 0),
        running=raw.get("running", 0),
        failed=raw.get("failed", 0),
        succeeded=raw.get("succeeded", 0),
        unknown=raw.get("unknown", 0),
        completed_indexes=raw.get("completedIndexes", ""),
    )


def _dump_role(counts: RoleStatus) -> Raw:
    raw: Raw = {
        "replicas": counts.replicas,
        "pending": counts.pending,
        "starting": counts.starting,
        "running": counts.running,
        "failed": counts.failed,
        "succeeded": counts.succeeded,
        "unknown": counts.unknown,
        "ready": counts.ready,
    }
    if counts.completed_indexes:
        raw["completedIndexes"] = counts.completed_indexes
    return raw
