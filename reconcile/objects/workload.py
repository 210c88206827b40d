"""The Workload with which a job asks Kueue for quota: whether it needs one, and its content.

A pod set is the role's template as its user wrote it, because quota does not depend on names,
environment or gates. An annotation has the digest of the job's labels and roles. With that we see
whether the Workload still fits, although the API server and Kueue fill defaults into its templates.
"""

import hashlib
import json

from api.constants import (
    ANNOTATION_POD_SETS,
    ANNOTATION_PREBUILT,
    ANNOTATION_SUSPENDED,
    ANNOTATION_TEMPLATES,
    KUEUE_API_VERSION,
    LABEL_ATTEMPT,
    LABEL_INDEX,
    LABEL_QUEUE,
    LABEL_QUEUE_JOB,
    LABEL_QUEUE_SECONDS,
    Role,
)
from api.job import parse_job
from api.objects import Raw
from reconcile.model.view import View
from reconcile.model.workload import (
    admitted_counts,
    has_quota,
    is_admitted,
    is_set,
    priority_class_of,
)
from reconcile.objects.flavors import LEVELS, TOPOLOGY
from reconcile.objects.rendezvous import child_labels

_ALPHABET = "0123456789"
MAX_DIGITS = 18
"""Longer numbers are cut to this many digits, because the API server takes only 64-bit integers."""


def uses_kueue(view: View) -> bool:
    """Whether the job needs quota, or has quota although its queue label was removed."""
    if not view.settings.kueue or view.is_adopted:
        return False
    return bool(view.job.labels.get(LABEL_QUEUE)) or has_quota(view.workload)


def is_queued(view: View) -> bool:
    """Whether the job still waits until Kueue allows its pods."""
    return uses_kueue(view) and not may_run(view)


def may_run(view: View) -> bool:
    """Whether Kueue has admitted the job as it is now, so that its pods are allowed to exist.

    An admission of before a suspension does not count until the Workload is seen to be active
    again: Kueue has perhaps taken it back, which the same watch shows before that.
    """
    workload = view.workload
    if workload is None or not is_admitted(workload) or is_stale(view, workload):
        return False
    return view.job.spec.suspend or not is_suspended(workload)


def is_suspended(workload: Raw) -> bool:
    """Whether the Workload was made inactive for the suspension of its job."""
    return ANNOTATION_SUSPENDED in (workload["metadata"].get("annotations") or {})


def is_stale(view: View, workload: Raw) -> bool:
    """Whether the Workload does not match what the job needs, and must be replaced.

    Quota is for the pods that Kueue admitted, whatever the job has become since: while it was
    suspended, or while Kueue was away. And if pods that succeeded in an earlier attempt gave back
    part of the quota, this attempt needs that part again.
    """
    if is_set(workload, "Finished"):
        return view.job.is_ours  # perhaps the end of the manager's job is not copied yet
    if has_quota(workload):
        done = len(view.completed.get(Role.WORKER, ()))
        given = (workload.get("status") or {}).get("reclaimablePods") or ()
        is_short = view.job.is_ours and sum(each["count"] for each in given) > done
        return is_short or not _is_admitted_job(view, workload)
    return not is_of_job(view, workload)


def is_of_job(view: View, workload: Raw) -> bool:
    """Whether the Workload was built from the job's present labels and roles, for as many pods."""
    annotations = workload["metadata"].get("annotations") or {}
    is_same = annotations.get(ANNOTATION_POD_SETS) == _digest(view)
    return is_same and _counts(workload["spec"].get("podSets") or []) == _counts(_pod_sets(view))


def _is_admitted_job(view: View, workload: Raw) -> bool:
    """Whether quota is for the job's pods as they are now, apart from the labels of the job.

    An elastic job wants at most the pods that were admitted (`limit_replicas`), and needs its least
    number, or all that it asks for if these are fewer.
    """
    annotations = workload["metadata"].get("annotations") or {}
    is_same = annotations.get(ANNOTATION_TEMPLATES) == view.templates_digest
    if ANNOTATION_TEMPLATES not in annotations:  # an earlier release made it
        is_same = annotations.get(ANNOTATION_POD_SETS) == _digest(view)
    roles, asked = view.job.spec.roles, parse_job(view.observed.job).spec.roles
    wanted = {str(role): spec.replicas for role, spec in roles.items()}
    admitted = admitted_counts(workload)
    is_enough = all(s.replicas >= min(s.least, asked[role].replicas) for role, s in roles.items())
    is_elastic = view.job.spec.is_elastic and wanted.keys() == admitted.keys()
    return is_same and is_enough and (is_elastic or wanted == admitted)


def build_adoption(view: View) -> Raw:
    """The metadata with which a Workload that MultiKueue has sent becomes the job's own."""
    built = _metadata(view)
    return {"metadata": {key: built[key] for key in ("labels", "ownerReferences")}}


def build_workload(view: View) -> Raw:
    """The job's Workload, ready to be created."""
    return {
        "apiVersion": KUEUE_API_VERSION,
        "kind": "Workload",
        "metadata": _metadata(view),
        "spec": _build_spec(view),
    }


def _metadata(view: View) -> Raw:
    labels = child_labels(view.job, view.attempt) | {LABEL_QUEUE_JOB: view.job.uid}
    del labels[LABEL_ATTEMPT]
    metadata = view.job.child_metadata(view.job.workload_name, labels)
    metadata["annotations"] = {
        ANNOTATION_POD_SETS: _digest(view),
        ANNOTATION_TEMPLATES: view.templates_digest,
    }
    if view.job.spec.suspend:
        metadata["annotations"][ANNOTATION_SUSPENDED] = "true"
    return metadata


def _build_spec(view: View) -> Raw:
    spec: Raw = {
        "queueName": view.job.labels.get(LABEL_QUEUE, ""),
        "podSets": _pod_sets(view),
        "active": not view.job.spec.suspend,
    }
    named = priority_class_of(view.observed.job)
    if named is not None:
        group = "scheduling.k8s.io" if named[0] == "PriorityClass" else "kueue.x-k8s.io"
        spec["priorityClassRef"] = {"group": group, "kind": named[0], "name": named[1]}
        spec["priority"] = view.observed.unwatched_objects[named].get("value", 0)
    seconds = view.job.labels.get(LABEL_QUEUE_SECONDS, "")
    if seconds and not seconds.strip(_ALPHABET):
        spec["maximumExecutionTimeSeconds"] = int(seconds[:MAX_DIGITS])
    return spec


def _pod_sets(view: View) -> list[Raw]:
    """A pod set per role, with the spec's own replicas, not those that an admission has allowed.

    Only elastic jobs can run with fewer pods, so only they have a minCount.
    """
    wanted = parse_job(view.observed.job).spec
    elastic = wanted.is_elastic
    return [
        {
            "name": str(role),
            "count": spec.replicas,
            **({"minCount": spec.least} if elastic and spec.least < spec.replicas else {}),
            "template": _template(spec.template),
            "topologyRequest": _topology(spec.template),
        }
        for role, spec in wanted.roles.items()
    ]


def _topology(template: Raw) -> Raw:
    """The topology that annotations ask for. With the pod index, close ranks get close nodes."""
    told = (template.get("metadata") or {}).get("annotations") or {}
    request: Raw = {"podIndexLabel": LABEL_INDEX}
    for key in LEVELS:
        if value := told.get(f"{TOPOLOGY}{key}"):
            is_level = key != "unconstrained-topology"
            request[key.partition("-")[0]] = value if is_level else value.lower() == "true"
            break
    level, size = (told.get(f"{TOPOLOGY}slice-{k}", "") for k in ("required-topology", "size"))
    if level and size and not size.strip(_ALPHABET):
        request |= {"podSetSliceRequiredTopology": level, "podSetSliceSize": int(size[:MAX_DIGITS])}
    group = told.get(f"{TOPOLOGY}group-name")
    if group and request.keys() & {"required", "preferred"}:  # else Kueue refuses a group
        request["podSetGroupName"] = group
    return request


def _template(template: Raw) -> Raw:
    metadata = template.get("metadata") or {}
    kept = {key: metadata[key] for key in ("labels", "annotations") if metadata.get(key)}
    spec = {**template["spec"], "restartPolicy": template["spec"].get("restartPolicy") or "Never"}
    return {"metadata": kept, "spec": spec}


def _digest(view: View) -> str:
    spec = view.observed.job["spec"]
    others = (LABEL_QUEUE, ANNOTATION_PREBUILT)
    labels = {key: value for key, value in view.job.labels.items() if key not in others}
    source = [labels, {role: spec[role] for role in Role if spec.get(role)}]
    return hashlib.sha256(json.dumps(source, sort_keys=True).encode()).hexdigest()[:16]


def _counts(pod_sets: list[Raw]) -> list[tuple[str, int]]:
    """Names and counts, without minCount, which Kueue drops if partial admission is off."""
    return sorted((each.get("name", ""), each.get("count", 0)) for each in pod_sets)
