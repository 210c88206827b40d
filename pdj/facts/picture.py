"""A job with its pods, and what the job says of itself."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from api.constants import LABEL_JOB_UID, Condition, Phase
from api.job import PaddleJob, parse_job
from api.objects import Raw, labels_of, moment_of, name_of, uid_of
from api.status import (
    UNREADABLE,
    JobCondition,
    JobStatus,
    dump_status,
    headline_condition,
    parse_status,
    telling_conditions,
)
from pdj.errors import FAILED, OK, Problem

_LAST = (Condition.FAILED, Condition.COMPLETED, Condition.SUSPENDED)
"""While one of these is true, the other conditions say nothing more."""


@dataclass(frozen=True, slots=True)
class JobPicture:
    """A job and its pods. `pods_problem` says why the pods cannot be read, else it is empty."""

    raw: Raw
    pods: tuple[Raw, ...] = ()
    pods_problem: str = ""

    @property
    def job(self) -> PaddleJob:
        """The parsed job. Raises Problem if this tool cannot read the job's version."""
        return read_job(self.raw)


def read_job(raw: Raw) -> PaddleJob:
    """Parse a job. Raises Problem if this tool cannot read the job's version."""
    try:
        return parse_job({**raw, "status": _with_times(raw.get("status"))})
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        name = (raw.get("metadata") or {}).get("name", "")
        raise Problem(
            f"the job {name} has a version that this tool cannot read: {error}"
        ) from error


def _with_times(value: Any, name: str = "") -> Any:
    """The status without times that cannot be read.

    The API server accepts times without a zone, or with second 60.
    """
    if isinstance(value, dict):
        return {key: _with_times(each, key) for key, each in value.items()}
    if isinstance(value, list):
        return [_with_times(each, name) for each in value]
    is_time = isinstance(value, str) and name.lower().endswith(("time", "since", "backat"))
    return "" if is_time and not moment_of(value) else value


def headline_of(status: Raw) -> tuple[str, str]:
    """A status's reason and message: computed if it has no reason, empty if it is unreadable."""
    if not status.get("reason"):
        try:
            old = parse_status(status)
        except UNREADABLE:
            return "", ""
        status = dump_status(old.with_headline(headline_condition(old)))
    return str(status.get("reason") or ""), str(status.get("message") or "")


def phase_of(raw: Raw) -> str:
    """The job's phase; empty if it has none yet."""
    return str((raw.get("status") or {}).get("phase") or "")


def result_of(raw: Raw) -> int | None:
    """The exit code for the job's phase; None while it has not ended."""
    results: dict[str, int] = {Phase.COMPLETED: OK, Phase.FAILED: FAILED}
    return results.get(phase_of(raw))


def has_ended(raw: Raw) -> bool:
    """Whether the job has completed or failed."""
    return result_of(raw) is not None


def conditions_of(status: JobStatus) -> Iterator[JobCondition]:
    """What the job says of itself: the headline, then the other true conditions that tell more."""
    first = headline_condition(status)
    if status.reason and (first is None or first.reason != status.reason):
        first = JobCondition("", True, status.reason, status.message)  # of a newer operator
    if first is None:
        return
    for condition in (first, *(each for each in telling_conditions(status) if each != first)):
        yield condition
        if condition.type in _LAST:
            return


def pods_of(job: Raw, pods: list[Raw]) -> tuple[Raw, ...]:
    """This job's pods by role and index, without those of an earlier job of the same name."""
    uid = uid_of(job)
    mine = [pod for pod in pods if labels_of(pod).get(LABEL_JOB_UID) in (uid, None)]
    return tuple(sorted(mine, key=lambda pod: pod_order(name_of(pod))))


def pod_order(name: str) -> tuple[str, int, str]:
    """A sort key for pods: the role, then the index as a number."""
    head, _, index = name.rpartition("-")
    return head, int(index) if index.isdecimal() else 0, name
