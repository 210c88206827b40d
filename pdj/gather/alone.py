"""Finds out from a job's status, or from worker 0's log, whether each worker trains by itself."""

from api.constants import LABEL_INDEX, LABEL_ROLE, Condition, Role
from api.objects import labels_of, name_of
from api.trainer import container_status, has_started, trainer_name
from kube.client import Client
from kube.errors import ApiError
from pdj.gather.jobs import JobPicture
from pdj.gather.paths import log_path

HEAD_BYTES = 64 << 10
"""How much of the log's beginning to read. The launcher names its nodes when it starts."""


def find_alone(client: Client, picture: JobPicture) -> str:
    """A sentence that says that each worker trains alone; empty if not, or if that is unknown."""
    job = picture.job
    condition = job.status.condition(Condition.TRAINED_ALONE)
    if condition and condition.status:
        return condition.message
    if not job.spec.has_workers_only or job.spec.total_replicas < 2 or not picture.pods:
        return ""
    # Imported here, so that the status of other jobs need not wait for it.
    from reconcile.words.alone import describe_alone, trains_alone

    for pod in picture.pods:
        labels, container = labels_of(pod), trainer_name(pod.get("spec") or {})
        is_first = (labels.get(LABEL_ROLE), labels.get(LABEL_INDEX)) == (Role.WORKER, "0")
        if is_first and has_started(container_status(pod, container)):
            query = {"container": container, "limitBytes": HEAD_BYTES}
            try:
                log = client.text(log_path(job.namespace, name_of(pod)), query)
            except ApiError:
                continue
            if trains_alone(log.splitlines()):
                return describe_alone(job)
    return ""
