"""API paths of the objects that kubectl pdj reads and writes."""

from urllib.parse import quote

from api.constants import API_VERSION, LABEL_JOB_NAME, PLURAL
from api.objects import Raw, name_of, namespace_of
from pdj.errors import Problem

JOBS = f"/apis/{API_VERSION}"


def jobs_path(namespace: str, name: str = "") -> str:
    """The path of one job, or of the jobs of a namespace. An empty `namespace` means all."""
    return _path(JOBS, namespace, PLURAL, name)


def path_of(job: Raw) -> str:
    """The path of a job that was read."""
    return jobs_path(namespace_of(job), name_of(job))


def core_path(namespace: str, plural: str, name: str = "") -> str:
    """A collection of the core group, or one object of it."""
    return _path("/api/v1", namespace, plural, name)


def config_map_path(namespace: str, name: str = "") -> str:
    """The path of one ConfigMap, or of those of a namespace."""
    return core_path(namespace, "configmaps", name)


def path_of_config_map(config_map: Raw) -> str:
    """The path of a ConfigMap that was read."""
    return config_map_path(namespace_of(config_map), name_of(config_map))


def log_path(namespace: str, pod: str) -> str:
    """A pod's log."""
    return f"{core_path(namespace, 'pods', pod)}/log"


def of_job(name: str) -> str:
    """The label selector for everything that belongs to a job with this name."""
    return f"{LABEL_JOB_NAME}={name}"


def is_name(text: object) -> bool:
    """Whether it can be one step of a path, which the API server decodes before it splits it."""
    return isinstance(text, str) and text not in ("", ".", "..") and not {"/", "%"} & {*text}


def _path(root: str, namespace: str, plural: str, name: str) -> str:
    inside = f"/namespaces/{_step(namespace)}" if namespace else ""
    return f"{root}{inside}/{plural}" + (f"/{_step(name)}" if name else "")


def _step(name: str) -> str:
    if not is_name(name):
        raise Problem(f"{name!r} is not the name of an object")
    return quote(name, safe="")
