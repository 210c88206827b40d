"""Whether the etcd that an elastic job's launchers use exists."""

from types import ModuleType

from api.job import PaddleJob
from api.objects import Raw
from api.trainer import trainer_of
from kube.client import Client
from kube.errors import NotFound
from pdj.gather.jobs import JobPicture
from pdj.gather.paths import core_path

SERVICE = "paddle-elastic-etcd"
"""That of manifests/elastic, in the job's namespace."""
VARIABLE = "PADDLE_MASTER"


def etcd_lines(client: Client, picture: JobPicture, texts: ModuleType) -> list[str]:
    """Which Service is missing, and the command that makes it; nothing if it exists.

    An etcd outside of the cluster is not checked.
    """
    name, namespace = _service(picture)
    if not name:
        return []
    try:
        client.get(core_path(namespace, "services", name))
    except NotFound:
        return [str(texts.LABELS["noEtcd"]).format(name, namespace)]
    return []


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
    """The URL in the pod's trainer; empty if it has none."""
    env = trainer_of(pod.get("spec") or {}).get("env") or ()
    return next((str(each.get("value")) for each in env if each.get("name") == VARIABLE), "")
