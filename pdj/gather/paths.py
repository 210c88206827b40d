"""API paths of the objects that kubectl pdj reads and writes."""

from urllib.parse import quote

from api.constants import API_VERSION, LABEL_JOB_NAME, PLURAL

JOBS = f"/apis/{API_VERSION}"


def jobs_path(namespace: str, name: str = "") -> str:
    """The path of one job, or of the jobs of a namespace. An empty `namespace` means all."""
    return _path(JOBS, namespace, PLURAL, name)


def core_path(namespace: str, plural: str, name: str = "") -> str:
    """A collection of the core group, or one object of it."""
    return _path("/api/v1", namespace, plural, name)


def log_path(namespace: str, pod: str) -> str:
    """A pod's log."""
    return f"{core_path(namespace, 'pods', pod)}/log"


def of_job(name: str) -> str:
    """The label selector for everything that belongs to a job with this name."""
    return f"{LABEL_JOB_NAME}={name}"


def _path(root: str, namespace: str, plural: str, name: str) -> str:
    inside = f"/namespaces/{quote(namespace, safe='')}" if namespace else ""
    return f"{root}{inside}/{plural}" + (f"/{quote(name, safe='')}" if name else "")
