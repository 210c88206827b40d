"""A job with its pods, as the API server has them now."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus

from api.constants import API_VERSION, MAX_REPLICAS, PLURAL
from api.crd import COLUMNS, WIDE_COLUMNS
from api.objects import Raw, name_of, namespace_of
from kube.client import JSON, PAGE, Client, is_served
from kube.clock import Clock
from kube.errors import ApiError, Forbidden, NotFound, Transient
from pdj.errors import Problem
from pdj.facts.picture import JobPicture, pods_of
from pdj.gather.paths import core_path, jobs_path, of_job

NO_OPERATOR = "this cluster does not know PaddleJobs: its administrator has to install the operator"
MAX_NAMESPACES = 5
MAX_PAGE_BYTES = 32 << 20
"""A page of a list that is larger is read again with half as many objects."""
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
FIELDS = {
    title: path.split(".")[2:]
    for title, _, path, _ in (*COLUMNS, *WIDE_COLUMNS)
    if path.startswith(".status.")
}
"""The columns of the CRD that show a field of the status, and where it is."""
NOT_YET = (
    "the API server has just begun to serve PaddleJobs, or a proxy answered instead: try again"
)


class NoOperator(Problem):
    """The cluster does not know PaddleJobs, or not yet."""


@dataclass(frozen=True, slots=True)
class Handle:
    """A job by its name, which need not exist, and how many seconds to wait for it at most: since
    `since` on the monotonic clock, or else from when it is first watched.
    """

    client: Client
    namespace: str
    name: str
    clock: Clock
    timeout: float | None = None
    since: float | None = None


def get_job(client: Client, namespace: str, name: str) -> Raw:
    """The job. Raises Problem if it does not exist, or the cluster has no PaddleJobs."""
    path = jobs_path(namespace, name)
    try:
        with served(client):
            return client.get(path)
    except NotFound as error:
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


@contextmanager
def served(client: Client) -> Iterator[None]:
    """Raise NoOperator for an error of the block that comes of a cluster without PaddleJobs."""
    try:
        yield
    except (Forbidden, NotFound, Transient) as error:
        with suppress(Forbidden):  # then nobody knows more than the error says
            check_served(client, error)
        raise


def look(client: Client, namespace: str, name: str) -> JobPicture:
    """The job with its pods. Raises Problem if there is no such job."""
    raw = get_job(client, namespace, name)
    return with_pods(client, raw)


def with_pods(client: Client, job: Raw) -> JobPicture:
    """The job with its pods, at most as many as a job can have: anybody can label pods."""
    path, selector = core_path(namespace_of(job), "pods"), {"labelSelector": of_job(name_of(job))}
    pods, problem = list[Raw](), ""
    try:
        for page in client.pages(path, selector, max_bytes=MAX_PAGE_BYTES):
            pods += page.get("items") or ()
            if len(pods) > MAX_REPLICAS:
                problem = f"more than {MAX_REPLICAS} have the labels of this job"
                break
    except Forbidden as error:
        problem = error.message
    return JobPicture(job, pods_of(job, pods[:MAX_REPLICAS]), problem)


def list_jobs(client: Client, namespace: str, selector: str = "") -> Iterator[Raw]:
    """The jobs of a namespace, page by page; of all namespaces if `namespace` is empty."""
    for page in _pages(client, namespace, selector):
        yield from page.get("items") or ()


def list_rows(client: Client, namespace: str, selector: str = "") -> list[Raw]:
    """The jobs with those fields of the status that are columns of the CRD, as a table has them.

    They are whole if an older CRD lacks a column, or an older operator has written no reason.
    """
    rows: list[Raw] = []
    for page in _pages(client, namespace, selector, f"{TABLE},{JSON}"):
        titles = [column["name"] for column in page.get("columnDefinitions") or ()]
        if not FIELDS.keys() <= {*titles}:
            return [*list_jobs(client, namespace, selector)]
        fields = [(titles.index(title), path) for title, path in FIELDS.items()]
        rows += (_read_row(row, fields) for row in page.get("rows") or ())
    if any("phase" in row["status"] and "reason" not in row["status"] for row in rows):
        return [*list_jobs(client, namespace, selector)]
    return rows


def _read_row(row: Raw, fields: list[tuple[int, list[str]]]) -> Raw:
    status: Raw = {}
    for index, (*roles, name) in fields:
        if (cell := row["cells"][index]) is not None:
            part = status.setdefault(roles[0], {}) if roles else status
            part[name] = cell
    return {"metadata": row["object"]["metadata"], "status": status}


def _pages(client: Client, namespace: str, selector: str, accept: str = JSON) -> Iterator[Raw]:
    path, query = jobs_path(namespace), {"labelSelector": selector} if selector else {}
    with served(client):
        yield from client.pages(path, query, PAGE, MAX_PAGE_BYTES, accept)
