"""Why a job is as it is: its conditions, what its Events say, and what lies around it.

What a user may not see is said to be hidden; it is no error.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from types import ModuleType

from api.constants import VOLCANO_API_VERSION, Condition, Reason
from api.job import PaddleJob
from api.objects import Raw, name_of, parse_time
from api.status import Failure, JobCondition
from controller.client.errors import ApiError, Forbidden
from pdj.access.client import Client
from pdj.explain import chinese, english
from pdj.explain.texts import Text
from pdj.gather.jobs import JobPicture
from pdj.gather.paths import core_path

MAX_WARNINGS = 5
MAX_NODES = 10
_TELLING = (
    Condition.FAILED,
    Condition.COMPLETED,
    Condition.SUSPENDED,
    Condition.RESTARTING,
    Condition.PENDING,
    Condition.RUNNING,
)
_PLACES = frozenset({Reason.UNSCHEDULABLE, Reason.STARTING_DEADLINE_EXCEEDED})
_GROUPS = frozenset(
    {Reason.POD_GROUP_PENDING, Reason.POD_GROUP_INVALID, Reason.POD_GROUP_UNAVAILABLE}
)


@dataclass(frozen=True, slots=True)
class Why:
    """One reason: its text in the user's language, what the operator said, and since when."""

    reason: str
    text: Text
    message: str
    since: datetime | None


@dataclass(frozen=True, slots=True)
class Story:
    """All that explains a job. `facts` are lines by the label of what they are about."""

    job: PaddleJob
    whys: tuple[Why, ...]
    failures: tuple[Failure, ...]
    warnings: tuple[str, ...]
    facts: dict[str, list[str]]


def language_module(language: str) -> ModuleType:
    """The texts in a language: `zh`, and English for any other."""
    return chinese if language == "zh" else english


def tell(client: Client, picture: JobPicture, language: str) -> Story:
    """Gather what explains the job."""
    texts = language_module(language)
    job = picture.job
    events, problem = _events(client, job)
    whys = list(_whys(job, events, texts))
    reasons = {why.reason for why in whys}
    warnings = tuple(_warnings(picture, events)) or ((problem,) if problem else ())
    facts = dict(_facts(client, job, reasons, texts))
    return Story(job, tuple(whys), job.status.failures, warnings, facts)


def _whys(job: PaddleJob, events: list[Raw], texts: ModuleType) -> Iterator[Why]:
    if not job.is_ours:
        yield Why("", texts.NOT_OURS, f"managedBy: {job.spec.managed_by}", job.created_at)
        return
    if not job.status.phase:
        yield Why("", texts.NOT_SEEN, "", job.created_at)
    told = set()
    for condition in _true_conditions(job):
        told.add(condition.reason)
        text = text_of(condition.reason, texts)
        since = parse_time(condition.last_transition_time)
        yield Why(condition.reason, text, condition.message, since)
    yield from _of_events(job, events, texts, told)


def _true_conditions(job: PaddleJob) -> Iterator[JobCondition]:
    for kind in _TELLING:
        condition = job.status.condition(kind)
        if condition is not None and condition.status:
            yield condition
            if kind in (Condition.FAILED, Condition.COMPLETED, Condition.SUSPENDED):
                return


def _of_events(
    job: PaddleJob, events: list[Raw], texts: ModuleType, told: set[str]
) -> Iterator[Why]:
    """What only Events tell: a variable that is dropped, pods that were deleted by force."""
    for event in events:
        reason = str(event.get("reason") or "")
        if _is_about(event, {job.uid}) and reason in _ONLY_EVENTS and reason not in told:
            told.add(reason)
            when = parse_time(event.get("lastTimestamp") or event.get("eventTime"))
            yield Why(reason, text_of(reason, texts), str(event.get("message") or ""), when)


_ONLY_EVENTS = frozenset({Reason.OWNED_VARIABLE, Reason.FORCE_DELETED})


def text_of(reason: str, texts: ModuleType) -> Text:
    """The text of a reason; of one that a newer operator has given, that it is not known."""
    known: dict[str, Text] = {str(each): text for each, text in texts.TEXTS.items()}
    unknown: Text = texts.UNKNOWN
    return known.get(reason, unknown)


def _events(client: Client, job: PaddleJob) -> tuple[list[Raw], str]:
    """The namespace's Events, and why they cannot be seen, if so."""
    try:
        events, _ = client.list(core_path(job.namespace, "events"))
    except Forbidden as error:
        return [], error.message
    return sorted(events, key=_event_time), ""


def _event_time(event: Raw) -> str:
    series = (event.get("series") or {}).get("lastObservedTime")
    told = series or event.get("lastTimestamp") or event.get("eventTime")
    return str(told or event["metadata"].get("creationTimestamp") or "")


def _is_about(event: Raw, uids: set[str]) -> bool:
    return (event.get("involvedObject") or {}).get("uid") in uids


def _warnings(picture: JobPicture, events: list[Raw]) -> list[str]:
    """The last Warnings about the job and its pods."""
    uids = {str(each["metadata"].get("uid")) for each in (picture.raw, *picture.pods)}
    mine = [each for each in events if each.get("type") == "Warning" and _is_about(each, uids)]
    return [
        f"{each['involvedObject'].get('name')}: {each.get('reason')}: "
        + first_line(str(each.get("message") or ""))
        for each in mine[-MAX_WARNINGS:]
    ]


def first_line(text: str) -> str:
    """The first line of a message, with an ellipsis where more follow."""
    first, *more = text.strip().splitlines() or [""]
    return f"{first} …" if more else first


def _facts(
    client: Client, job: PaddleJob, reasons: set[str], texts: ModuleType
) -> Iterator[tuple[str, list[str]]]:
    """What lies around the job, as far as it bears on the reasons."""
    if reasons & _PLACES:
        yield "nodes", _seen(lambda: _nodes(client), texts)
    if Reason.QUOTA_EXCEEDED in reasons:
        yield "quota", _seen(lambda: _quotas(client, job.namespace), texts)
    if reasons & _GROUPS and job.status.pod_group:
        yield "group", _seen(lambda: _group(client, job), texts)


def _seen(look: Callable[[], list[str]], texts: ModuleType) -> list[str]:
    try:
        return look()
    except Forbidden:
        return [str(texts.LABELS["hidden"])]
    except ApiError as error:
        return [error.message]


def _nodes(client: Client) -> list[str]:
    nodes, _ = client.list(core_path("", "nodes"))
    lines = [f"{name_of(node)}: {_node(node)}" for node in nodes[:MAX_NODES]]
    return lines + ([f"... {len(nodes) - MAX_NODES} more"] if len(nodes) > MAX_NODES else [])


def _node(node: Raw) -> str:
    status, spec = node.get("status") or {}, node.get("spec") or {}
    has = ", ".join(
        f"{key} {value}"
        for key, value in (status.get("allocatable") or {}).items()
        if key in ("cpu", "memory") or "/" in key
    )
    ready = any(
        each.get("type") == "Ready" and each.get("status") == "True"
        for each in status.get("conditions") or ()
    )
    notes = [] if ready else ["not ready"]
    notes += ["cordoned"] if spec.get("unschedulable") else []
    notes += [f"taint {each.get('key')}" for each in spec.get("taints") or ()]
    return has + "".join(f"; {note}" for note in notes)


def _quotas(client: Client, namespace: str) -> list[str]:
    quotas, _ = client.list(core_path(namespace, "resourcequotas"))
    lines = []
    for quota in quotas:
        status = quota.get("status") or {}
        used = status.get("used") or {}
        parts = [
            f"{key} {used.get(key, '0')}/{most}" for key, most in status.get("hard", {}).items()
        ]
        lines.append(f"{name_of(quota)}: {', '.join(parts)}")
    return lines


def _group(client: Client, job: PaddleJob) -> list[str]:
    path = (
        f"/apis/{VOLCANO_API_VERSION}/namespaces/{job.namespace}/podgroups/{job.status.pod_group}"
    )
    group = client.get(path)
    spec, status = group.get("spec") or {}, group.get("status") or {}
    queue, least = spec.get("queue") or "default", spec.get("minMember")
    lines = [f"{name_of(group)}: queue {queue}, minMember {least}, {status.get('phase') or 'new'}"]
    for condition in status.get("conditions") or ():
        lines.append(f"{condition.get('type')}: {condition.get('message') or ''}")
    return lines
