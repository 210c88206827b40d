"""Why Kueue holds or stops a job, by the reason in the job's Workload.

A user without the right to read Workloads gets the meaning of the job's own reason.
"""

from api.catalogue.kueue import KUEUE
from api.catalogue.meaning import Meaning
from api.constants import KUEUE_API_VERSION, LABEL_QUEUE, MULTIKUEUE, Reason
from api.job import PaddleJob
from api.objects import Raw
from kube.client import Client
from kube.errors import ApiError, Forbidden

MAX_HOLDERS = 10


def narrow(client: Client, job: PaddleJob, reason: str, meaning: Meaning) -> Meaning:
    """The meaning of the reason in the job's Workload, or `meaning`.

    It is `meaning` if the job's reason is not about Kueue, the Workload's reason is unknown, or
    the user cannot read the Workload.
    """
    from reconcile.model.workload import condition_named, has_quota  # takes time to import

    if reason not in (Reason.QUEUED, Reason.EVICTED) and job.spec.managed_by != MULTIKUEUE:
        return meaning
    try:
        workload = client.get(_path(job.namespace, "workloads", job.workload_name))
    except ApiError:
        return meaning
    type_ = "Admitted" if has_quota(workload) else "QuotaReserved"
    told = condition_named(workload, "Evicted" if reason == Reason.EVICTED else type_)
    cause = str(told.get("reason") or "").rpartition("DueTo")[2]  # DeactivatedDueTo<cause>
    return KUEUE.get(cause, meaning)


def place_lines(client: Client, job: PaddleJob) -> list[str]:
    """A line with the job's place in its queue; none without an answer of the visibility API."""
    queue = _queue(job)
    path = f"/apis/visibility.{KUEUE_API_VERSION}/namespaces/{job.namespace}/localqueues/{queue}"
    try:
        pending = client.get(f"{path}/pendingworkloads").get("items") or ()
    except ApiError:
        return []
    own = (each for each in pending if each["metadata"]["name"] == job.workload_name)
    return [f"{queue}: {each['positionInLocalQueue'] + 1} of {len(pending)}" for each in own]


def holder_lines(client: Client, job: PaddleJob) -> list[str]:
    """The owners of Workloads with quota in the queue's ClusterQueue, MAX_HOLDERS at most.

    Only those of the job's namespace if the user cannot list all. Raises ApiError.
    """
    from reconcile.model.workload import has_quota  # takes time to import

    queue = _queue(job)
    spec = client.get(_path(job.namespace, "localqueues", queue))["spec"]
    query = {"fieldSelector": f"status.admission.clusterQueue={spec['clusterQueue']}"}
    try:
        workloads, _ = client.list(f"/apis/{KUEUE_API_VERSION}/workloads", query)
    except Forbidden:
        workloads, _ = client.list(_path(job.namespace, "workloads"), query)
    lines = [f"{queue} <- {_owner(each)}" for each in workloads if has_quota(each)]
    more = len(lines) - MAX_HOLDERS
    return lines[:MAX_HOLDERS] + ([f"... {more} more"] if more > 0 else [])


def _queue(job: PaddleJob) -> str:
    return job.labels.get(LABEL_QUEUE, "")


def _owner(workload: Raw) -> str:
    metadata = workload["metadata"]
    owners = metadata.get("ownerReferences") or [{"kind": "Workload", "name": metadata["name"]}]
    return f"{owners[0]['kind']} {metadata['namespace']}/{owners[0]['name']}"


def _path(namespace: str, plural: str, name: str = "") -> str:
    root = f"/apis/{KUEUE_API_VERSION}/namespaces/{namespace}/{plural}"
    return f"{root}/{name}" if name else root
