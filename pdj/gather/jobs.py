"""A job with its pods, as the API server has them now."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from api.constants import API_VERSION, LABEL_JOB_UID, LABEL_ROLE, PLURAL
from api.job import PaddleJob, parse_job
from api.objects import Raw, labels_of, namespace_of, parse_time, uid_of
from api.status import UNREADABLE, dump_status, headline_condition, parse_status
from kube.client import Client, is_served
from kube.errors import ApiError, Forbidden, NotFound, Transient
from pdj.errors import Problem
from pdj.gather.paths import core_path, jobs_path, of_job

NO_OPERATOR = "this cluster does not know PaddleJobs: its administrator has to install the operator"

MAX_NAMESPACES = 5
NOT_YET = (
    "the API server has just begun to serve PaddleJobs, or a proxy answered instead: try again"
)


class NoOperator(Problem):
    """The cluster does not know PaddleJobs, or not yet."""


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
    return "" if is_time and not _is_moment(value) else value


def _is_moment(text: str) -> bool:
    try:
        moment = parse_time(text)
    except ValueError:
        return False
    return moment is not None and moment.tzinfo is not None


def get_job(client: Client, namespace: str, name: str) -> Raw:
    """The job. Raises Problem if it does not exist, or the cluster has no PaddleJobs."""
    try:
        return client.get(jobs_path(namespace, name))
    except NotFound as error:
        check_served(client)
        others = _others(client, name)
        raise Problem(f"there is no job {name} in namespace {namespace}{others}") from error
    except Transient as error:
        check_served(client, error)
        raise


def _others(client: Client, name: str) -> str:
    """A phrase with other namespaces that have a job of this name and that the user can see."""
    try:
        jobs, _ = client.list(jobs_path(""), {"fieldSelector": f"metadata.name={name}"})
    except ApiError:
        return ""
    namespaces = ", ".join(sorted(map(namespace_of, jobs))[:MAX_NAMESPACES])
    return f"; there is one in {namespaces}" if namespaces else ""


def headline_of(status: Raw) -> tuple[str, str]:
    """A status's reason and message: computed if it has no reason, empty if it is unreadable."""
    if not status.get("reason"):
        try:
            old = parse_status(status)
        except UNREADABLE:
            return "", ""
        status = dump_status(old.with_headline(headline_condition(old)))
    return str(status.get("reason") or ""), str(status.get("message") or "")


def check_served(client: Client, error: ApiError | None = None) -> None:
    """Raise NoOperator where the cluster does not know PaddleJobs, or not yet.

    The path of an unknown kind returns 404 in plain text. A load balancer without a backend returns
    the same, so we ask the API server for its list of groups.
    """
    if not is_served(client, API_VERSION, PLURAL):
        raise NoOperator(NO_OPERATOR)
    if isinstance(error, Transient) and error.code == HTTPStatus.NOT_FOUND:
        raise NoOperator(f"{error.message}: {NOT_YET}") from error


def look(client: Client, namespace: str, name: str) -> JobPicture:
    """The job with its pods. Raises Problem if there is no such job."""
    raw = get_job(client, namespace, name)
    try:
        pods, _ = client.list(core_path(namespace, "pods"), {"labelSelector": of_job(name)})
    except Forbidden as error:
        return JobPicture(raw, (), error.message)
    return JobPicture(raw, pods_of(raw, pods))


def pods_of(job: Raw, pods: list[Raw]) -> tuple[Raw, ...]:
    """This job's pods by role and index, without those of an earlier job of the same name."""
    uid = uid_of(job)
    mine = [pod for pod in pods if labels_of(pod).get(LABEL_JOB_UID) in (uid, None)]
    return tuple(sorted(mine, key=lambda pod: (labels_of(pod).get(LABEL_ROLE, ""), _index(pod))))


def _index(pod: Raw) -> tuple[int, str]:
    name = str(pod["metadata"]["name"])
    number = name.rpartition("-")[2]
    return (int(number) if number.isdecimal() else 0, name)


def list_jobs(client: Client, namespace: str, selector: str = "") -> list[Raw]:
    """The jobs of a namespace; of all namespaces if `namespace` is empty."""
    query = {"labelSelector": selector} if selector else {}
    try:
        return client.list(jobs_path(namespace), query)[0]
    except (NotFound, Transient) as error:
        check_served(client, error)
        raise
