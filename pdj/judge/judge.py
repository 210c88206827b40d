"""Judges a job: why it is in its state, who has to act, and what it went through before."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from api.catalogue import causes
from api.catalogue.meaning import Meaning
from api.catalogue.reasons import REASONS
from api.constants import Condition, Reason
from api.objects import parse_time, uid_of
from pdj.facts.facts import EVENTS, Event, Facts, Remark
from pdj.judge.causes import narrow
from pdj.judge.evidence import evidence_of
from pdj.judge.story import Finding, Story, first_line
from reconcile.model.end import OUT_OF_MEMORY

MAX_WARNINGS, MAX_EVENTS = 5, 200
_EARLIEST = datetime.min.replace(tzinfo=UTC)
_OF_KSTATUS = (Condition.RECONCILING, Condition.STALLED)
"""Conditions that repeat the reasons of other conditions."""
_ONLY_EVENTS = (Reason.LOG_NOT_READ, Reason.OWNED_VARIABLE, Reason.FORCE_DELETED)


def judge(facts: Facts) -> Story:
    """The story of the job."""
    of_job = [each for each in facts.events if each.uid == facts.job.uid and each.reason in _KNOWN]
    warned = _warned(facts)
    warnings = tuple(_warnings(facts, warned))
    found = [*_of_losses(facts), *_of_conditions(facts), *_of_others(facts, of_job)]
    history = tuple(_history(facts, of_job, {each.reason for each in found}))
    meanings = [narrow(facts, each.reason, warned) or each.meaning for each in found]
    findings = tuple(
        each._replace(meaning=meaning, evidence=evidence_of(facts, each.reason))
        for each, meaning in zip(found, meanings, strict=True)
    )
    return Story(facts.job, findings, history, warnings, facts.events[-MAX_EVENTS:], facts.training)


_KNOWN = frozenset(map(str, Reason))


def meaning_of(reason: str) -> Meaning:
    """The meaning of a reason; UNKNOWN for one of a newer operator."""
    if reason == OUT_OF_MEMORY:  # only failure records have this reason
        return causes.OUT_OF_MEMORY
    return REASONS.get(reason, causes.UNKNOWN)


def _of_conditions(facts: Facts) -> Iterator[Finding]:
    """What the job's conditions say, the headline first."""
    for each in facts.conditions:
        since = parse_time(each.last_transition_time)
        yield Finding(each.reason, meaning_of(each.reason), each.message, since)


def _of_others(facts: Facts, of_job: list[Event]) -> Iterator[Finding]:
    """What only the spec, Events and logs say."""
    job = facts.job
    if not job.is_ours:
        yield Finding("", causes.NOT_OURS, f"managedBy: {job.spec.managed_by}", job.created_at)
        return
    if not job.status.phase and not of_job:
        yield Finding("", causes.NOT_SEEN, "", job.created_at)
    for each in {event.reason: event for event in of_job}.values():
        if each.reason in _ONLY_EVENTS and each.reason not in facts.reasons:
            yield Finding(each.reason, meaning_of(each.reason), each.message, parse_time(each.time))
    if facts.alone:
        reason = Reason.TRAINED_ALONE
        yield Finding(reason, meaning_of(reason), facts.alone, None)


def _of_losses(facts: Facts) -> Iterator[Finding]:
    """What makes all the rest worthless, unless the conditions say it."""
    reason = Reason.LOSS_NOT_FINITE
    if facts.not_finite and reason not in facts.reasons:
        yield Finding(reason, meaning_of(reason), facts.not_finite, None)


def _history(facts: Facts, of_job: list[Event], told: set[str]) -> Iterator[Finding]:
    """The job's earlier reasons except those in `told`: each at its latest time, oldest first."""
    status = facts.job.status
    conditions = (each for each in status.conditions if each.type not in _OF_KSTATUS)
    had = [
        *((each.reason, "", parse_time(each.last_transition_time)) for each in conditions),
        *((each.reason, "", parse_time(each.time)) for each in status.failures),
        *((each.reason, each.message, parse_time(each.time)) for each in of_job),
    ]
    last: dict[str, Finding] = {}
    for reason, message, when in sorted(had, key=lambda each: each[2] or _EARLIEST):
        if reason and reason not in told:
            last.pop(reason, None)
            last[reason] = Finding(reason, meaning_of(reason), message, when)
    yield from last.values()


def _warned(facts: Facts) -> list[Event]:
    """The Warnings about the job and its pods, the oldest first.

    Warnings about a missing ConfigMap of the job are left out, because pods normally wait for it.
    Of a pod without a node, all Events count: only schedulers and autoscalers write about it, and
    some say in a Normal one that no node will come.
    """
    pods = facts.picture.pods
    uids = {facts.job.uid, *map(uid_of, pods)}
    unplaced = {uid_of(pod) for pod in pods if not (pod.get("spec") or {}).get("nodeName")}
    awaited = re.compile(rf'configmap "{re.escape(facts.job.name)}(-attempt-\d+)?" not found')
    events = (each for each in facts.events if each.uid in uids)
    telling = (each for each in events if each.type == "Warning" or each.uid in unplaced)
    return [each for each in telling if not awaited.search(each.message)]


def _warnings(facts: Facts, warned: list[Event]) -> Iterator[Remark]:
    """The last Warnings, before them other Events as far as there is room; why some are missing."""
    last = sorted(warned, key=lambda each: each.type == "Warning")
    lines = [f"{each.name}: {each.reason}: {first_line(each.message)}" for each in last]
    # In each attempt, pods of the same name have the same Warnings: keep the last of each.
    yield from [*dict.fromkeys(reversed(lines))][MAX_WARNINGS - 1 :: -1]
    asked = (each for name, each in facts.answers.items() if name.startswith(EVENTS))
    yield from dict.fromkeys(each.problem for each in asked if each.problem)
