"""A job with its pods, as the API server has them now."""

from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus

from api.constants import API_VERSION, PLURAL
from api.objects import Raw, name_of, namespace_of
from kube.client import Client, is_served
from kube.clock import Clock
from kube.errors import ApiError, Forbidden, NotFound, Transient
from pdj.errors import Problem
from pdj.facts.picture import JobPicture, pods_of
from pdj.gather.paths import core_path, jobs_path, of_job

NO_OPERATOR = "this cluster does not know PaddleJobs: its administrator has to install the operator"
SELF_REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"

MAX_NAMESPACES = 5
NOT_YET = (
    "the API server has just begun to serve PaddleJobs, or a proxy answered instead: try again"
)


class NoOperator(Problem):
    """The cluster does not know PaddleJobs, or not yet."""


@dataclass(frozen=True, slots=True)
class Handle:
    """A job by its name, which need not exist, and how many seconds to wait for it at most."""

    client: Client
    namespace: str
    name: str
    clock: Clock
    timeout: float | None = None


def get_job(client: Client, namespace: str, name: str) -> Raw:
    """The job. Raises Problem if it does not exist, or the cluster has no PaddleJobs."""
    try:
        return client.get(jobs_path(namespace, name))
    except (NotFound, Transient) as error:
        check_served(client, error)
        if isinstance(error, Transient):
            raise
        others = list[Raw]()
        with suppress(ApiError):  # of which the user may see none
            others, _ = client.list(jobs_path(""), {"fieldSelector": f"metadata.name={name}"})
        namespaces = ", ".join(sorted(map(namespace_of, others))[:MAX_NAMESPACES])
        elsewhere = f"; there is one in {namespaces}" if namespaces else ""
        raise Problem(f"there is no job {name} in namespace {namespace}{elsewhere}") from error


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
        return JobPicture(raw, list_pods(client, raw))
    except Forbidden as error:
        return JobPicture(raw, (), error.message)


def user_name(client: Client) -> str:
    """The name by which the API server knows this client's user; empty if it does not say, as
    before Kubernetes 1.28.
    """
    try:
        status = client.create(SELF_REVIEWS, {}).get("status") or {}
    except ApiError:
        return ""
    return str((status.get("userInfo") or {}).get("username") or "")


def list_pods(client: Client, job: Raw) -> tuple[Raw, ...]:
    """The job's pods."""
    selector = {"labelSelector": of_job(name_of(job))}
    return pods_of(job, client.list(core_path(namespace_of(job), "pods"), selector)[0])


def list_jobs(client: Client, namespace: str, selector: str = "") -> list[Raw]:
    """The jobs of a namespace; of all namespaces if `namespace` is empty."""
    query = {"labelSelector": selector} if selector else {}
    try:
        return client.list(jobs_path(namespace), query)[0]
    except (NotFound, Transient) as error:
        check_served(client, error)
        raise
