"""Explains a job's state from its conditions, its Events, nodes, quotas and other objects.

Whatever the user has no permission to see is reported as hidden, not as an error.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from urllib.parse import quote

from api.catalogue import causes
from api.catalogue.meaning import Meaning, Words
from api.catalogue.reasons import REASONS
from api.constants import VOLCANO_API_VERSION, Condition, Reason, Role
from api.job import PaddleJob, pod_name
from api.objects import Raw, name_of, parse_time
from api.signals import SIGBUS, SIGKILL
from api.status import Failure, JobCondition, JobStatus, headline_condition, telling_conditions
from kube.client import Client
from kube.errors import ApiError, Forbidden
from pdj.explain import etcd, kueue
from pdj.explain.peers import peer_lines, waited_in_vain
from pdj.explain.room import node_lines, quota_lines
from pdj.gather.alone import find_alone
from pdj.gather.jobs import JobPicture
from pdj.gather.paths import core_path
from pdj.gather.progress import Training
from reconcile.failure.ending import OUT_OF_MEMORY
from reconcile.words.fault import fault_of

MAX_WARNINGS = 5
MAX_EVENTS = 200
MAX_LAST_LINES = 10
_DISK_FULL = "No space left on device"
"""ENOSPC, in the words of the C library."""
_NO_MODULE = "No module named "
"""Python's words for a missing module or package."""
_BUS_ERROR = re.compile("bus error", re.IGNORECASE)
"""SIGBUS, in the words of a shell, of Python and of PaddlePaddle's DataLoader."""
HIDDEN: Words = ("not allowed to see", "无权查看")
EARLIEST = datetime.min.replace(tzinfo=UTC)
_PLACES = frozenset({Reason.UNSCHEDULABLE, Reason.PARTLY_PLACED, Reason.STARTING_DEADLINE_EXCEEDED})
_QUOTAS = frozenset({Reason.QUOTA_EXCEEDED, Reason.PARTLY_PLACED})
_OF_FAILURES = frozenset({Reason.POD_FAILED, Reason.BACKOFF_LIMIT_EXCEEDED, Reason.RESTART_LOOP})
_SET_UP = frozenset({"FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox"})
"""Reasons of the Events of a kubelet that cannot start a pod's first container."""
_GROUPS = frozenset(
    {Reason.POD_GROUP_PENDING, Reason.POD_GROUP_INVALID, Reason.POD_GROUP_UNAVAILABLE}
)


Line = Words | str
"""A line of facts: in both languages, or as it was found."""


@dataclass(frozen=True, slots=True)
class Why:
    """One reason: what it means, what the operator said, and since when."""

    reason: str
    meaning: Meaning
    message: str
    since: datetime | None


@dataclass(frozen=True, slots=True)
class Story:
    """The explanation of a job: why it is in its state, and its history.

    `facts` maps keys of LABELS to lines.
    """

    job: PaddleJob
    whys: tuple[Why, ...]
    history: tuple[Why, ...]
    failures: tuple[Failure, ...]
    warnings: tuple[str, ...]
    facts: dict[str, list[Line]]
    events: tuple[Raw, ...] = ()
    """The last Events about the job and its pods, including pods that are gone; oldest first."""
    training: Training | None = None


def build_story(client: Client, picture: JobPicture, training: Training | None = None) -> Story:
    """Explain the job, after reading Events and more from the API server. Raises ApiError."""
    job = picture.job
    events, problem = _events(client, job)
    warned = {str(each.get("reason")) for each in _warning_events(picture, events)}
    whys = [
        replace(each, meaning=kueue.narrow(client, job, each.reason, each.meaning))
        for each in (_narrow(why, job, warned) for why in _whys(job, events))
    ]
    whys = [
        replace(each, meaning=etcd.narrow(client, picture, each.reason, each.meaning))
        for each in whys
    ]
    if training and training.is_suspicious:
        doubt = causes.FORMING if training.progress.forming_since else causes.SILENT
        whys = [_doubt(why, doubt) for why in whys]
    if alone := find_alone(client, picture):
        whys.append(Why(Reason.TRAINED_ALONE, REASONS[Reason.TRAINED_ALONE], alone, None))
    reasons = {why.reason for why in whys}
    history = _history(job, events, reasons)
    warnings = tuple(_warnings(picture, events)) or ((problem,) if problem else ())
    facts = dict(_facts(client, picture, reasons))
    about = tuple(each for each in events if _belongs(each, job))[-MAX_EVENTS:]
    return Story(job, tuple(whys), history, job.status.failures, warnings, facts, about, training)


def _doubt(why: Why, doubt: Meaning) -> Why:
    """Another meaning of AllPodsRunning: the log suggests that the job does not train."""
    return replace(why, meaning=doubt) if why.reason == Reason.ALL_PODS_RUNNING else why


def _belongs(event: Raw, job: PaddleJob) -> bool:
    target = event.get("involvedObject") or {}
    starts = tuple(pod_name(job.name, role, 0)[:-1] for role in job.spec.roles)
    is_pod = target.get("kind") == "Pod" and str(target.get("name")).startswith(starts)
    return _is_about(event, {job.uid}) or is_pod


def _whys(job: PaddleJob, events: list[Raw]) -> Iterator[Why]:
    if not job.is_ours:
        yield Why("", causes.NOT_OURS, f"managedBy: {job.spec.managed_by}", job.created_at)
        return
    if not job.status.phase and not any(_events_about(job, events)):
        yield Why("", causes.NOT_SEEN, "", job.created_at)
    told = set()
    for condition in _true_conditions(job.status):
        told.add(condition.reason)
        since = parse_time(condition.last_transition_time)
        yield Why(condition.reason, meaning_of(condition.reason), condition.message, since)
    yield from _of_events(job, events, told)


def _true_conditions(status: JobStatus) -> Iterator[JobCondition]:
    """The true conditions, headline first; none after Failed, Completed or Suspended."""
    first = headline_condition(status)
    for condition in sorted(telling_conditions(status), key=lambda each: each != first):
        yield condition
        if condition.type in (Condition.FAILED, Condition.COMPLETED, Condition.SUSPENDED):
            return


def _narrow(why: Why, job: PaddleJob, warned: set[str]) -> Why:
    """Use a more specific meaning if the last failure record or a Warning shows the cause."""
    meaning = why.meaning
    last = job.status.failures[-1] if job.status.failures else None
    if why.reason in _OF_FAILURES and last is not None:
        first = last.message.partition("\n")[0]
        if last.reason == OUT_OF_MEMORY:
            meaning = causes.OUT_OF_MEMORY
        elif last.signal == SIGKILL:
            meaning = causes.KILLED
        elif last.signal == SIGBUS or _BUS_ERROR.search(last.message):
            meaning = causes.SHARED_MEMORY_FULL
        elif _DISK_FULL in last.message:
            meaning = causes.DISK_FULL
        elif _NO_MODULE in first:
            meaning = causes.NO_MODULE
        elif fault := fault_of(first):
            meaning = causes.FAULTS[fault]
    elif why.reason == Reason.WAITING_FOR_PODS and warned & _SET_UP:
        meaning = causes.NOT_SET_UP
    return replace(why, meaning=meaning)


def _of_events(job: PaddleJob, events: list[Raw], told: set[str]) -> Iterator[Why]:
    """Explain the reasons that only Events have, such as a log not read or force-deleted pods."""
    for reason, message, when in _events_about(job, events):
        if reason in _ONLY_EVENTS and reason not in told:
            told.add(reason)
            yield Why(reason, meaning_of(reason), message, when)


def _events_about(job: PaddleJob, events: list[Raw]) -> Iterator[tuple[str, str, datetime | None]]:
    """Reason, message and time of each Event that the operator has sent about the job."""
    for event in events:
        reason = str(event.get("reason") or "")
        if _is_about(event, {job.uid}) and reason in _REASONS:
            yield reason, str(event.get("message") or ""), parse_time(event_time(event))


def _history(job: PaddleJob, events: list[Raw], told: set[str]) -> tuple[Why, ...]:
    """The job's earlier reasons except those in `told`: each at its latest time, oldest first."""
    had = [
        *(
            (c.reason, "", parse_time(c.last_transition_time))
            for c in job.status.conditions
            if c.type not in _OF_KSTATUS
        ),
        *((f.reason, "", parse_time(f.time)) for f in job.status.failures),
        *_events_about(job, events),
    ]
    found: dict[str, Why] = {}
    for reason, message, when in sorted(had, key=lambda each: each[2] or EARLIEST):
        if reason and reason not in told:
            found.pop(reason, None)
            found[reason] = Why(reason, meaning_of(reason), message, when)
    return tuple(found.values())


_REASONS = frozenset(map(str, Reason))
_OF_KSTATUS = frozenset({Condition.RECONCILING, Condition.STALLED})
"""Conditions that repeat the reasons of other conditions."""
_ONLY_EVENTS = frozenset({Reason.LOG_NOT_READ, Reason.OWNED_VARIABLE, Reason.FORCE_DELETED})


def meaning_of(reason: str) -> Meaning:
    """The meaning of a reason; UNKNOWN for a reason of a newer operator."""
    if reason == OUT_OF_MEMORY:  # only failure records have this reason
        return causes.OUT_OF_MEMORY
    return REASONS.get(reason, causes.UNKNOWN)


def _events(client: Client, job: PaddleJob) -> tuple[list[Raw], str]:
    """The namespace's Events, oldest first, or why the user cannot read them. Raises ApiError."""
    try:
        events, _ = client.list(core_path(job.namespace, "events"))
    except Forbidden as error:
        return [], error.message
    return sorted(events, key=event_time), ""


def event_time(event: Raw) -> str:
    """When an Event last happened, as the cluster wrote it; empty if unknown."""
    series = (event.get("series") or {}).get("lastObservedTime")
    told = series or event.get("lastTimestamp") or event.get("eventTime")
    return str(told or event["metadata"].get("creationTimestamp") or "")


def _is_about(event: Raw, uids: set[str]) -> bool:
    return (event.get("involvedObject") or {}).get("uid") in uids


def _warnings(picture: JobPicture, events: list[Raw]) -> list[str]:
    """The last Warnings about the job and its pods."""
    told = [
        f"{each['involvedObject'].get('name')}: {each.get('reason')}: "
        + first_line(str(each.get("message") or ""))
        for each in _warning_events(picture, events)
    ]
    # In each attempt, pods of the same name have the same Warnings: keep the last of each.
    return [*dict.fromkeys(reversed(told))][MAX_WARNINGS - 1 :: -1]


def _warning_events(picture: JobPicture, events: list[Raw]) -> list[Raw]:
    """The Warnings about the job and its pods, the oldest first.

    Warnings about a missing ConfigMap of the job are left out, because pods normally wait for it.
    """
    uids = {str(each["metadata"].get("uid")) for each in (picture.raw, *picture.pods)}
    awaited = re.compile(rf'configmap "{re.escape(picture.job.name)}(-attempt-\d+)?" not found')
    return [
        each
        for each in events
        if each.get("type") == "Warning"
        and _is_about(each, uids)
        and not awaited.search(str(each.get("message")))
    ]


def first_line(text: str) -> str:
    """The first line of a message, with an ellipsis where more follow."""
    first, *more = text.strip().splitlines() or [""]
    return f"{first} …" if more else first


def _facts(
    client: Client, picture: JobPicture, reasons: set[str]
) -> Iterator[tuple[str, list[Line]]]:
    """The facts that matter for these reasons: about etcd, logs, nodes, quotas and queues."""
    job = picture.job
    missed_peers = job.spec.is_elastic and bool(job.status.failures)
    if missed_peers and (lines := _seen(lambda: etcd.etcd_lines(client, picture))):
        yield "etcd", lines
    if reasons & _OF_FAILURES and job.status.failures:
        last = job.status.failures[-1]
        yield "lastLines", _last_lines(job, last)
        if waited_in_vain(last):
            yield "peers", _seen(lambda: peer_lines(client, picture, last))
    if reasons & _PLACES:
        yield "nodes", _seen(lambda: node_lines(client, job))
    if reasons & _QUOTAS:
        yield "quota", _seen(lambda: quota_lines(client, job.namespace))
    if Reason.QUEUED in reasons:
        holders = _seen(lambda: kueue.holder_lines(client, job))
        yield "queue", [*kueue.place_lines(client, job), *holders]
    if reasons & _GROUPS and job.status.pod_group:
        yield "group", _seen(lambda: _group(client, job))


def _last_lines(job: PaddleJob, last: Failure) -> list[Line]:
    """The end of the failed pod's log in the failure record, and the command that shows more."""
    # Users copy the command to a shell, and a role in the status can be any text.
    of_pod = f" --role {last.role} --index {last.index}" if last.role in [*Role] else ""
    command = f"kubectl pdj -n {job.namespace} logs {job.name}{of_pod} --attempt {last.attempt}"
    return [*last.message.splitlines()[-MAX_LAST_LINES:], (f"more: {command}", f"更多: {command}")]


def _seen(look: Callable[[], Iterable[Line]]) -> list[Line]:
    try:
        return list(look())
    except Forbidden:
        return [HIDDEN]
    except ApiError as error:
        return [error.message]


def _group(client: Client, job: PaddleJob) -> list[str]:
    name = quote(job.status.pod_group, safe="")
    path = f"/apis/{VOLCANO_API_VERSION}/namespaces/{job.namespace}/podgroups/{name}"
    group = client.get(path)
    spec, status = group.get("spec") or {}, group.get("status") or {}
    queue, least = spec.get("queue") or "default", spec.get("minMember")
    lines = [f"{name_of(group)}: queue {queue}, minMember {least}, {status.get('phase') or 'new'}"]
    for condition in status.get("conditions") or ():
        lines.append(f"{condition.get('type')}: {condition.get('message') or ''}")
    return lines
