"""Checks whether the etcd exists in which the launchers of an elastic job meet."""

import contextlib

from api.catalogue.causes import NO_ETCD
from api.catalogue.meaning import Meaning, Words
from api.constants import Reason
from api.job import PaddleJob
from api.objects import Raw
from api.trainer import trainer_of
from kube.client import Client
from kube.errors import ApiError, NotFound
from pdj.gather.jobs import JobPicture
from pdj.gather.paths import core_path

SERVICE = "paddle-elastic-etcd"
"""The Service of manifests/elastic, in the job's namespace."""
VARIABLE = "PADDLE_MASTER"
_FAILURES = frozenset({Reason.POD_FAILED, Reason.BACKOFF_LIMIT_EXCEEDED, Reason.RESTART_LOOP})
"""The reasons of a job whose program has failed; the failure's message can name etcd."""


def narrow(client: Client, picture: JobPicture, reason: str, meaning: Meaning) -> Meaning:
    """NO_ETCD if a missing etcd probably ended the last attempt, else `meaning`."""
    job = picture.job
    said = job.status.failures[-1].message.lower() if job.status.failures else ""
    is_meant = reason == Reason.TRAINER_ASKED_RESTART or (reason in _FAILURES and "etcd" in said)
    name, namespace = _service(picture)
    if not (job.spec.is_elastic and is_meant and name):
        return meaning
    with contextlib.suppress(ApiError):
        if _is_missing(client, name, namespace):
            return NO_ETCD
    return meaning


def etcd_lines(client: Client, picture: JobPicture) -> list[Words]:
    """A line with the missing Service and the command that creates it; no line if it exists.

    An etcd outside of the cluster is not checked. Raises ApiError.
    """
    name, namespace = _service(picture)
    if not name or not _is_missing(client, name, namespace):
        return []
    command = f"kubectl -n {namespace} create -f manifests/elastic/etcd.yaml"
    return [
        (
            f"there is no Service {name} in namespace {namespace}, so launchers cannot meet: "
            + command,
            f"命名空间 {namespace} 中没有 Service {name}，launcher 无法会合：{command}",
        )
    ]


def _is_missing(client: Client, name: str, namespace: str) -> bool:
    try:
        client.get(core_path(namespace, "services", name))
    except NotFound:
        return True
    return False


def _service(picture: JobPicture) -> tuple[str, str]:
    """Name and namespace of the Service; no name if the launchers use another kind of address."""
    job = picture.job
    urls = (_master(job, pod) for pod in picture.pods)
    url = next(filter(None, urls), f"etcd://{SERVICE}.{job.namespace}:2379")
    host = url.rpartition("//")[2].rpartition(":")[0].lower()
    name, _, domain = host.partition(".")
    namespace, _, rest = domain.partition(".")
    is_service = rest in ("", "svc", "svc.cluster.local") and not host.replace(".", "").isdecimal()
    return (name if is_service else "", namespace or job.namespace)


def _master(job: PaddleJob, pod: Raw) -> str:
    """The etcd's URL in the environment of the pod's trainer; empty if there is none."""
    env = trainer_of(pod.get("spec") or {}).get("env") or ()
    return next((str(each.get("value")) for each in env if each.get("name") == VARIABLE), "")
