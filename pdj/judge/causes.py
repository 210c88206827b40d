"""What a finding means for sure, where a record, a log, an Event or another object tells more."""

import re

from api.catalogue import causes
from api.catalogue.kueue import KUEUE
from api.catalogue.meaning import Meaning
from api.constants import Reason
from api.objects import Raw, condition_named, condition_of, condition_since, moment_of, uid_of
from api.signals import SIGBUS, SIGKILL
from api.status import Failure
from pdj.facts.facts import FAILED, Event, Facts
from reconcile.model.end import OUT_OF_MEMORY
from reconcile.model.workload import has_quota
from reconcile.words.fault import fault_of

_DISK_FULL = "No space left on device"
"""ENOSPC, in the words of the C library."""
_NO_MODULE = "No module named "
"""Python's words for a missing module or package."""
_BUS_ERROR = re.compile("bus error", re.IGNORECASE)
"""SIGBUS, in the words of a shell, of Python and of PaddlePaddle's DataLoader."""
_OVER_LIMIT = re.compile(r"Evicted: (?!The node).*exceed\w* .*\blimit\b|DeadlineExceeded: Pod was")
"""A pod's reason and message, in the kubelet's words, if it exceeded a limit of its own."""
_OF_KUEUE = (Reason.QUEUED, Reason.EVICTED)


def narrow(facts: Facts, reason: str, warned: list[Event]) -> Meaning | None:
    """The meaning that is known best; None if nothing tells more than the reason."""
    training, failure = facts.training, facts.failure
    if reason == Reason.ALL_PODS_RUNNING and training and training.is_suspicious:
        return causes.FORMING if training.progress.forming_since else causes.SILENT
    if reason == Reason.WAITING_FOR_PODS and _is_not_set_up(facts, warned):
        return causes.NOT_SET_UP
    if failure and facts.answer("etcd").is_missing and _is_of_etcd(reason, failure):
        return causes.NO_ETCD
    if failure and reason in FAILED:
        return _of_record(failure)
    is_remote = not reason and facts.job.is_sent_away
    return _of_kueue(facts, reason) if is_remote or reason in _OF_KUEUE else None


def _is_not_set_up(facts: Facts, warned: list[Event]) -> bool:
    """Whether there is a Warning about a pod that has a node, and not yet what a container needs.

    A pod gets its address when its volumes, devices and network are ready; on the host's network it
    has one before, and only a condition says so. What was written before it had the node is over.
    """
    pods = [each for each in facts.picture.pods if not _is_set_up(each)]
    placed = {uid_of(pod): condition_since(pod, "PodScheduled") for pod in pods}
    told = ((placed.get(e.uid), moment_of(e.time)) for e in warned if e.type == "Warning")
    return any(since and when and when >= since for since, when in told)


def _is_set_up(pod: Raw) -> bool:
    has_address = bool((pod.get("status") or {}).get("podIP"))
    return has_address and not condition_of(pod, "PodReadyToStartContainers", "False")


def _is_of_etcd(reason: str, failure: Failure) -> bool:
    """Whether a missing etcd probably ended the attempt."""
    says_so = reason in FAILED and "etcd" in failure.message.lower()
    return says_so or reason == Reason.TRAINER_ASKED_RESTART


def _of_record(failure: Failure) -> Meaning | None:
    """What a failure record shows of the cause."""
    first = failure.message.partition("\n")[0]
    if failure.reason == OUT_OF_MEMORY:
        return causes.OUT_OF_MEMORY
    if _OVER_LIMIT.search(first):
        return causes.OVER_LIMIT
    if failure.signal == SIGKILL:
        return causes.KILLED
    if failure.signal == SIGBUS or _BUS_ERROR.search(failure.message):
        return causes.SHARED_MEMORY_FULL
    if _DISK_FULL in failure.message:
        return causes.DISK_FULL
    if _NO_MODULE in first:
        return causes.NO_MODULE
    fault = fault_of(first)
    return causes.FAULTS[fault] if fault else None


def _of_kueue(facts: Facts, reason: str) -> Meaning | None:
    """What the reason in the job's Workload means; None if that is unknown, or cannot be read."""
    for workload in facts.answer("workload").objects:
        type_ = "Admitted" if has_quota(workload) else "QuotaReserved"
        told = condition_named(workload, "Evicted" if reason == Reason.EVICTED else type_)
        cause = str(told.get("reason") or "").rpartition("DueTo")[2]  # DeactivatedDueTo<cause>
        return KUEUE.get(cause)
    return None
