"""A PaddleJob's status as typed values, and the merge patch between two of them.

The status is also the operator's only memory: attempts, counters and failures are stored only here,
so they survive a restart of the operator.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from api.constants import MAX_RESTARTED_AT, Condition, Phase, Reason, Role
from api.objects import Raw, changed, dump_fields, format_time, parse_fields
from api.schema_types import (
    INT32,
    MAX_INT32,
    a_long,
    a_map,
    a_string,
    an_object,
    count_field,
    list_field,
    properties_of,
    text_field,
    time_field,
    typed_field,
)
from api.training import TrainingProgress, dump_progress, parse_progress

MAX_FAILURES = 5
"""Failure records kept in status."""
MAX_AVOID_NODES = 20
MAX_ENTRIES = 64
"""The bound of lists in the schema, with room for a newer operator that keeps more entries."""
COUNTERS = (
    *("attempt", "restartCount", "quickRestarts", "fruitlessRestarts", "failureCount"),
    "givenBack",
)
CLOCK_SKEW = timedelta(seconds=5)
"""How far in the future a status's times can be, because another leader's clock was ahead."""
MAX_MESSAGE_CHARACTERS = 1024
"""A condition's message is cut to this; metav1.Condition allows 32768."""
MAX_HEADLINE_CHARACTERS = 100
"""`status.message` is cut to this, because it is a column of `kubectl get -o wide`."""
USUAL_WAITS = frozenset({Reason.WAITING_FOR_PODS, Reason.PODS_TERMINATING, Reason.BACK_OFF})
"""The usual waits of a restart: for old pods to terminate, for its back-off, for new pods."""
UNREADABLE = (AttributeError, KeyError, TypeError, ValueError, OverflowError)
"""The exceptions of `parse_status` for a status that no operator can have written."""
_TELLING = (
    Condition.FAILED,
    *(Condition.SUSPENDED, Condition.LOSS_NOT_FINITE, Condition.COMPLETED),
    Condition.RESTARTING,
    Condition.PENDING,
    Condition.TRAINING_STALLED,
    Condition.RUNNING,
)


@dataclass(frozen=True, slots=True)
class RoleStatus:
    """Counts of a role's pods."""

    replicas: int = count_field("Pods wanted.")
    pending: int = count_field("Pods without a node.")
    starting: int = count_field("Pods with a node that do not run yet.")
    running: int = count_field("Pods that run.")
    failed: int = count_field("Pods that have failed.")
    succeeded: int = count_field("Pods that have succeeded.")
    unknown: int = count_field("Pods whose node does not answer.")
    completed_indexes: str = text_field("The indexes of pods that have succeeded, e.g. 0-2,5.")

    @property
    def ready(self) -> str:
        """`running/desired`, as the printer columns show it."""
        return f"{self.running}/{self.replicas}"


@dataclass(frozen=True, slots=True)
class JobCondition:
    """A metav1.Condition. `type` is plain text, because others can set conditions of their own.

    A condition that is Unknown is parsed with the status False, and is written back as False.
    """

    type: str = field(metadata=a_string("The condition's name.", 316))
    status: bool = field(metadata=a_string("True, False or Unknown."))
    reason: str = text_field("Why, in one word for programs.", 1024)
    message: str = text_field("Why, in a sentence for people.", 32768)
    last_transition_time: str = time_field("When status last changed.")
    observed_generation: int = typed_field(
        a_long("The generation of the spec that the condition is about."), 0
    )


@dataclass(frozen=True, slots=True)
class Failure:
    """The record of one incident, which outlives the pod.

    `exit_code` is None if no container has ended, as in some evictions; `signal` is None unless a
    signal ended the trainer or its child.
    """

    attempt: int = count_field("The attempt that failed.")
    pod: str = text_field("The pod.")
    role: str = text_field("Its role.")
    index: int = count_field("Its index in the role.")
    node: str = text_field("Its node.")
    exit_code: int | None = typed_field(
        {"description": "The trainer container's exit code.", **INT32}, None
    )
    signal: int | None = typed_field(
        {"description": "The signal that ended the trainer or its child.", **INT32}, None
    )
    reason: str = text_field("Why it failed, in one word.")
    message: str = text_field(
        "The cause in the first line, then the last lines of the log; or the node's message."
    )
    time: str = time_field("When it failed.")
    ending: str = text_field("How the pod ended, if the message does not say so.")


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why the job waits. Later reconciles read this instead of a condition's message."""

    cause: str = text_field("What the job waits for.")
    next_step: str = text_field("What to do about it, or what comes next.")
    child: str = text_field("The pod or other object that holds up the job, for some causes.")
    state: str = text_field("The pod's state, as its kubelet calls it.")
    grace: str = text_field(
        "While a grace period runs: the operator's flag that sets it. At the end of the period the "
        "job fails or deletes its pods."
    )
    since: str = time_field("When the grace period began.")


NOT_WAITING, NO_PROGRESS = Waiting(), TrainingProgress()
_CONDITION = an_object(
    "One condition, as metav1.Condition has it.",
    properties_of(JobCondition),
    required=["type", "status", "reason", "message", "lastTransitionTime"],
)
_WAITING = an_object("What the job waits for, if it waits.", properties_of(Waiting))
_PROGRESS = an_object(
    "How far the training is, according to a worker's log. Needs the operator's flag --progress.",
    properties_of(TrainingProgress),
)
_FAILURE = an_object("The record of a failure; it outlives the pod.", properties_of(Failure))
_BY_TYPE = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}


@dataclass(frozen=True, slots=True)
class JobStatus:
    """PaddleJob.status, and its schema. `attempt` is 0 until the job's first reconcile.

    The schema has no enums, because an older CRD must accept the values of a newer operator.
    """

    phase: str = text_field(
        "The job in one word: Pending, Starting, Running, Restarting, Scaling, Suspended, "
        "Completing, Completed, Failed or Terminating."
    )
    mode: str = text_field("How the job trains: PS, Collective, Heter or Single.")
    reason: str = text_field("The reason of the most informative condition.")
    message: str = text_field("The first words of the most informative condition's message.")
    conditions: tuple[JobCondition, ...] = list_field(
        "The job's conditions: whether each is true, since when and why.",
        _CONDITION,
        MAX_ENTRIES,
        **_BY_TYPE,
    )
    waiting: Waiting = field(default_factory=Waiting, metadata=_WAITING)
    observed_generation: int = typed_field(
        a_long("The generation of the spec that this status is about."), 0
    )
    start_time: str = time_field("When the job started, or was last resumed.")
    completion_time: str = time_field("When the job ended, well or not.")
    replicas: int = count_field("Worker pods that exist, or did at the end; for kubectl scale.")
    selector: str = text_field("The label selector of the workers, for the scale subresource.")
    roles: dict[Role, RoleStatus] = field(default_factory=dict)
    attempt: int = count_field(
        "The number of this attempt, from 1. An attempt is one start of all pods."
    )
    restart_count: int = count_field("How many times all pods of the job were restarted.")
    quick_restarts: int = count_field(
        "Restarts since an attempt last ran for 10 minutes. This number determines the back-off."
    )
    fruitless_restarts: int = count_field(
        "Restarts since the pods last ran for a minute, without those that count against "
        "backoffLimit. More than 100 end the job."
    )
    restarted_at: str = text_field(
        "The last value of the annotation restarted-at that has started a new attempt.",
        MAX_RESTARTED_AT,
    )
    failure_count: int = count_field("Restarts that count against backoffLimit.")
    failures: tuple[Failure, ...] = list_field(
        "The last failures, oldest first.", _FAILURE, MAX_ENTRIES
    )
    avoid_nodes: tuple[str, ...] = list_field(
        "Nodes where the job failed; new pods prefer others.", {"type": "string"}, MAX_ENTRIES
    )
    lost_since: str = time_field(
        "Since when nothing has trained, after an attempt ended; unset when all pods run again."
    )
    lost_reason: str = text_field("Why nothing has trained since lostSince: a reason, in one word.")
    lost_seconds: int = count_field(
        "Seconds since startTime without training, or with training that had to be repeated."
    )
    progress: TrainingProgress = field(default_factory=TrainingProgress, metadata=_PROGRESS)
    resume_step: int = typed_field(
        a_long("The value of PDC_INIT_STEP in this attempt's pods; unset without one."), 0
    )
    given_back: int = count_field(
        "How many times in a row the pods were deleted because only some of them found room."
    )
    given_back_at: str = time_field(
        "When the pods were last deleted because only some found room; unset when all pods run."
    )
    pod_group: str = text_field("The PodGroup of the job's pods.")
    host_ports: dict[str, int] = field(
        default_factory=dict,
        metadata=a_map("With intranet Host: the first port of each pod's range.", INT32),
    )

    @property
    def is_terminal(self) -> bool:
        """Whether the job has ended for good."""
        return self.phase in (Phase.COMPLETED, Phase.FAILED)

    @property
    def has_run(self) -> bool:
        """Whether all pods have run since the job's start, or its last resume.

        The condition Running is False at the start, so a later transition shows that they ran.
        """
        running = self.condition(Condition.RUNNING)
        return bool(running and (running.status or running.last_transition_time > self.start_time))

    def condition(self, type_: str) -> JobCondition | None:
        """The condition of this type, or None if it was never set."""
        for condition in self.conditions:  # asked forty times in a pass
            if condition.type == type_:
                return condition
        return None

    def true_condition(self, type_: str) -> JobCondition | None:
        """The condition of this type if it is true, or None."""
        condition = self.condition(type_)
        return condition if condition is not None and condition.status else None

    def is_true(self, type_: Condition) -> bool:
        """Whether the condition is set and true."""
        return (found := self.condition(type_)) is not None and found.status

    def with_condition(self, new: JobCondition) -> "JobStatus":
        """The status with this condition set. No other code sets conditions.

        If the condition's status is the same as before, only reason and message change. A message
        is cut to MAX_MESSAGE_CHARACTERS.
        """
        new = changed(new, message=new.message[:MAX_MESSAGE_CHARACTERS])
        old = self.condition(new.type)
        if old is None:
            return replace(self, conditions=(*self.conditions, new))
        if old.status == new.status:
            new = changed(old, reason=new.reason, message=new.message)
        conditions = tuple(new if c.type == new.type else c for c in self.conditions)
        return changed(self, conditions=conditions)

    def with_headline(self, condition: JobCondition | None) -> "JobStatus":
        """The status whose own `reason` and `message` are from this condition; empty for None.

        `message` is the first line, cut to MAX_HEADLINE_CHARACTERS.
        """
        if condition is None:
            return changed(self, reason="", message="")
        first, *_ = condition.message.splitlines() or [""]
        if len(first) > MAX_HEADLINE_CHARACTERS:
            first = first[: MAX_HEADLINE_CHARACTERS - 1] + "…"
        return changed(self, reason=str(condition.reason), message=first)

    def with_failure(self, failure: Failure) -> "JobStatus":
        """The status with one more failure record. It keeps the last MAX_FAILURES."""
        return replace(self, failures=(*self.failures, failure)[-MAX_FAILURES:])


def telling_conditions(status: JobStatus) -> Iterator[JobCondition]:
    """The true conditions, the most informative one first.

    The cause of a restart comes before the usual waits that follow a restart, and after any other
    wait.
    """
    waits = status.true_condition(Condition.PENDING)
    order = list(_TELLING)
    if waits is not None and waits.reason not in USUAL_WAITS:
        order.remove(Condition.RESTARTING)
        order.insert(order.index(Condition.PENDING) + 1, Condition.RESTARTING)
    return filter(None, map(status.true_condition, order))


def headline_condition(status: JobStatus) -> JobCondition | None:
    """The true condition whose reason is `status.reason`, else the most informative true one.

    None if no condition is true.
    """
    conditions = list(telling_conditions(status))
    named = (each for each in conditions if status.reason and each.reason == status.reason)
    return next(named, conditions[0] if conditions else None)


def status_schema() -> Raw:
    """The OpenAPI schema of PaddleJob.status: what `dump_status` writes, field by field."""
    properties = properties_of(JobStatus)
    del properties["roles"]
    counts = properties_of(RoleStatus) | {"ready": a_string("Running of wanted, e.g. 2/2.")}
    about = "The {} pods by state. After the job's end, `failed` and `succeeded` do not change."
    roles = {role.value: an_object(about.format(role), counts) for role in Role}
    return an_object(
        "What the operator has seen and done. Written by the operator alone.", properties | roles
    )


def new_condition(
    type_: str, status: bool, reason: str, message: str, now: datetime
) -> JobCondition:
    """A condition with the current time; `with_condition` keeps an older transition time."""
    return JobCondition(type_, status, reason, message, format_time(now))


def parse_status(raw: Raw | None) -> JobStatus:
    """The typed status of `PaddleJob.status`; the empty status for None.

    Raises one of UNREADABLE if no operator can have written it, or if a counter is at its maximum.
    """
    raw = raw or {}
    for name in COUNTERS:
        if raw.get(name, 0) >= MAX_INT32:  # one more, and the API server would refuse every status
            raise ValueError(f"{name} is {raw[name]}")
    return parse_fields(
        JobStatus,
        raw,
        conditions=tuple(
            parse_fields(JobCondition, each, status=each["status"] == "True")
            for each in raw.get("conditions") or ()
        ),
        waiting=parse_fields(Waiting, raw["waiting"]) if raw.get("waiting") else NOT_WAITING,
        progress=parse_progress(raw["progress"]) if raw.get("progress") else NO_PROGRESS,
        failures=tuple(parse_fields(Failure, each) for each in raw.get("failures") or ()),
        avoid_nodes=tuple(raw.get("avoidNodes") or ()),
        roles={role: parse_fields(RoleStatus, raw[role]) for role in Role if raw.get(role)},
    )


def dump_status(status: JobStatus) -> Raw:
    """The status as JSON, without empty fields."""
    raw = dump_fields(status) | {
        "conditions": [_dump_condition(each) for each in status.conditions],
        "failures": [dump_fields(each) for each in status.failures],
        "avoidNodes": list(status.avoid_nodes),
        "waiting": {key: text for key, text in dump_fields(status.waiting).items() if text},
        "progress": {} if status.progress == NO_PROGRESS else dump_progress(status.progress),
    }
    del raw["roles"]
    raw |= {str(role): _dump_role(counts) for role, counts in status.roles.items()}
    return {key: value for key, value in raw.items() if value or key == "replicas"}


def diff_status(old: Raw | None, new: JobStatus) -> Raw | None:
    """The JSON merge patch that turns the stored status into the new one, or None.

    Lists are replaced whole and vanished keys become null, as in RFC 7386.
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


def _dump_condition(condition: JobCondition) -> Raw:
    texts = {"type": str(condition.type), "reason": str(condition.reason)}
    return dump_fields(condition) | texts | {"status": "True" if condition.status else "False"}


def _dump_role(counts: RoleStatus) -> Raw:
    raw = dump_fields(counts) | {"ready": counts.ready}
    if not counts.completed_indexes:
        del raw["completedIndexes"]
    return raw
