"""A PaddleJob's status as typed values, and the merge patch between two of them.

The status is also the operator's only memory: attempts, counters and failures survive a restart of
the operator because they are stored here and nowhere else.
"""

from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from typing import TypeVar

from api.constants import Condition, Phase, Role
from api.objects import Raw, format_time, parse_time
from api.schema_types import MAX_INT32

MAX_FAILURES = 5
"""Failure records kept in status."""
MAX_AVOID_NODES = 20
COUNTERS = ("attempt", "restartCount", "quickRestarts", "failureCount")
CLOCK_SKEW = timedelta(seconds=5)
"""So far ahead may a status be: another leader wrote it, by another clock."""
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
    reason: str = ""
    message: str = ""
    last_transition_time: str = ""
    observed_generation: int = 0


@dataclass(frozen=True, slots=True)
class Failure:
    """The record of one incident, which outlives the pod.

    `signal` is set where a signal ended the trainer; `exit_code` and `signal` are None where no
    container ended, as in an eviction. `time` is a metav1.Time.
    """

    attempt: int = 0
    pod: str = ""
    role: str = ""
    index: int = 0
    node: str = ""
    exit_code: int | None = None
    signal: int | None = None
    reason: str = ""
    message: str = ""
    time: str = ""


@dataclass(frozen=True, slots=True)
class JobStatus:
    """PaddleJob.status. `attempt` counts from 1; 0 means that no pass has looked at the job yet.

    `restarted_at` is the last value of the annotation of that name that was answered.
    """

    phase: str = ""
    mode: str = ""
    conditions: tuple[JobCondition, ...] = ()
    observed_generation: int = 0
    start_time: str = ""
    completion_time: str = ""
    attempt: int = 0
    restart_count: int = 0
    quick_restarts: int = 0
    restarted_at: str = ""
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
    return JobCondition(type_, status, reason, message, format_time(now))


def parse_status(raw: Raw | None) -> JobStatus:
    """The typed status of `PaddleJob.status`; an absent one is the empty status.

    Raises AttributeError, KeyError, TypeError or ValueError on one that no operator has written.
    """
    raw = raw or {}
    _check_counters(raw)
    return replace(
        _parse(JobStatus, raw),
        conditions=tuple(_parse_condition(each) for each in raw.get("conditions") or ()),
        failures=tuple(_parse(Failure, each) for each in raw.get("failures") or ()),
        avoid_nodes=tuple(raw.get("avoidNodes") or ()),
        roles={role: _parse(RoleStatus, raw[role]) for role in Role if raw.get(role)},
    )


def follow_clock(status: JobStatus, now: datetime) -> JobStatus:
    """The status, with its times moved back where the newest has yet to come.

    The clock was set back, then, and whoever waits since one of these times would wait until it has
    caught up. They are moved together: what lies between them is what deadlines are read off.
    """
    told = [status.start_time, status.completion_time]
    told += [condition.last_transition_time for condition in status.conditions]
    ahead = max((moment - now for text in told if (moment := parse_time(text))), default=CLOCK_SKEW)
    if ahead <= CLOCK_SKEW:
        return status

    def move(text: str) -> str:
        moment = parse_time(text)
        return format_time(moment - ahead) if moment else text

    return replace(
        status,
        start_time=move(status.start_time),
        completion_time=move(status.completion_time),
        conditions=tuple(
            replace(condition, last_transition_time=move(condition.last_transition_time))
            for condition in status.conditions
        ),
    )


def dump_status(status: JobStatus) -> Raw:
    """The status as JSON; what is empty is left out."""
    raw = _dump(status) | {
        "conditions": [_dump_condition(each) for each in status.conditions],
        "failures": [_dump_failure(each) for each in status.failures],
        "avoidNodes": list(status.avoid_nodes),
    }
    del raw["roles"]
    raw |= {str(role): _dump_role(counts) for role, counts in status.roles.items()}
    return {key: value for key, value in raw.items() if value or key == "replicas"}


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


def _check_counters(raw: Raw) -> None:
    for name in COUNTERS:
        if raw.get(name, 0) >= MAX_INT32:  # one more, and the API server would refuse every status
            raise ValueError(f"{name} is {raw[name]}")


def _parse_condition(raw: Raw) -> JobCondition:
    return _parse(JobCondition, raw | {"status": raw["status"] == "True"})


def _dump_condition(condition: JobCondition) -> Raw:
    texts = {"type": str(condition.type), "reason": str(condition.reason)}
    return _dump(condition) | texts | {"status": "True" if condition.status else "False"}


def _dump_failure(failure: Failure) -> Raw:
    return {key: value for key, value in _dump(failure).items() if value is not None}


def _dump_role(counts: RoleStatus) -> Raw:
    raw = _dump(counts) | {"ready": counts.ready}
    if not counts.completed_indexes:
        del raw["completedIndexes"]
    return raw


Parsed = TypeVar("Parsed")


def _parse(kind: type[Parsed], raw: Raw) -> Parsed:
    """An object of one of the types above; a field that is absent has its default."""
    return kind(**{name: raw[key] for name, key in _KEYS[kind] if raw.get(key) is not None})


def _dump(obj: object) -> Raw:
    """Every field of an object of one of the types above."""
    return {key: getattr(obj, name) for name, key in _KEYS[type(obj)]}


def _key(name: str) -> str:
    """A field's name in JSON: `start_time` is `startTime`."""
    first, *more = name.split("_")
    return first + "".join(map(str.capitalize, more))


_KEYS: dict[type, tuple[tuple[str, str], ...]] = {
    kind: tuple((field.name, _key(field.name)) for field in fields(kind))
    for kind in (JobStatus, JobCondition, Failure, RoleStatus)
}
"""The fields of a type, with their names in JSON."""
