"""Cuts objects down to the fields that a pass reads: the store keeps nothing else.

Ten thousand finished jobs with their pods stay in memory, and a pass reads little of a pod's few
kilobytes. The kept fields have the names and the nesting that the API server sent. Any user can
make objects of a megabyte that look like a job's children, so all that is kept of a child is
bounded. Only the spec and status of a job are kept whatever their size.
"""

import marshal
from collections.abc import Callable, Iterable

from api.constants import (
    ANNOTATION_GROUP_NAME,
    ANNOTATION_KEEP_LOGS,
    ANNOTATION_POD_SETS,
    ANNOTATION_PREBUILT,
    ANNOTATION_RESTARTED_AT,
    ANNOTATION_STATIC_RENDEZVOUS,
    ANNOTATION_SUSPENDED,
    ANNOTATION_TEMPLATES,
    ANNOTATION_WOKEN,
    JOB_LABELS,
    LABEL_ATTEMPT,
    LABEL_INDEX,
    LABEL_JOB_UID,
    LABEL_ROLE,
    MAX_ENV_VALUE_BYTES,
    MAX_RESTARTED_AT,
    MULTIKUEUE,
    OWN_MANAGERS,
    Role,
)
from api.job import config_map_name, pod_group_name, workload_name
from api.objects import Raw, controller_of, is_deleting, labels_of
from api.ownership import Owner, owner_of
from api.trainer import devices_of, terminated_of
from controller.client.resources import (
    CONFIG_MAP,
    GANG_POD_GROUP,
    NODE,
    PADDLE_JOB,
    POD,
    SERVICE,
    VOLCANO_POD_GROUP,
    WORKLOAD,
    Resource,
)
from reconcile.objects.rendezvous import PUBLISHED_LISTS

MAX_TEXT = 1024
"""The most characters kept of another object's name, and of a condition's message."""
MAX_CONDITIONS = 16
MAX_FINALIZERS = 4
MAX_GROUP_SPEC_BYTES = 16 << 10
"""The most bytes kept of a PodGroup's spec; it usually takes a few hundred."""
_METADATA = (
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
_LABELS = (LABEL_JOB_UID, LABEL_ROLE, LABEL_INDEX, LABEL_ATTEMPT)
_JOB_ANNOTATIONS = (
    *(ANNOTATION_KEEP_LOGS, ANNOTATION_PREBUILT),
    *(ANNOTATION_RESTARTED_AT, ANNOTATION_STATIC_RENDEZVOUS),
)
_POD_ANNOTATIONS = (ANNOTATION_GROUP_NAME, ANNOTATION_WOKEN)
_TEMPLATE_METADATA = ("labels", "annotations", "finalizers")
MAX_WORKLOAD_BYTES = 64 << 10
"""The most bytes kept of a Workload's admission and checks; they usually take a few hundred."""
_WORKLOAD_ANNOTATIONS = (ANNOTATION_POD_SETS, ANNOTATION_TEMPLATES, ANNOTATION_SUSPENDED)
_WORKLOAD_SPEC = ("queueName", "active")
_POD_SET = ("name", "count", "minCount")
_ASSIGNMENT = ("name", "flavors", "count")
"""The fields kept of an assignment. `topologyAssignment`, its list of nodes, can be long. It is
kept empty, because Kueue itself assigns the pods to the nodes.
"""
_CHECK = ("name", "state", "podSetUpdates")
_GROUP_SPEC = ("minMember", "queue", "priorityClassName", "minResources")
_POD_SPEC = ("nodeName", "restartPolicy")
_POD_STATUS = ("phase", "reason", "message", "podIP", "hostIP", "startTime")
_CONTAINER_STATUS = ("name", "state", "lastState", "restartCount", "ready", "started")
_CONDITION = ("type", "status", "reason", "message", "lastTransitionTime")


def trim(resource: Resource, obj: Raw) -> Raw:
    """The object with the kept fields only. This call can change the argument itself.

    apiVersion and kind are filled in, because the items of a list have neither.
    """
    kept = _TRIMMERS[resource](obj)
    kept["apiVersion"] = resource.api_version
    kept["kind"] = resource.kind
    return kept


def _trim_job(job: Raw) -> Raw:
    spec, status = job.get("spec") or {}, job.get("status") or {}
    metadata = _trim_metadata(job)
    if labels := _pick(labels_of(job), JOB_LABELS):
        metadata["labels"] = metadata.get("labels", {}) | labels
    annotations = _pick(job["metadata"].get("annotations") or {}, _JOB_ANNOTATIONS)
    if annotations:
        metadata["annotations"] = {k: v[:MAX_RESTARTED_AT] for k, v in annotations.items()}
    if (spec.get("managedBy") or "") not in (*OWN_MANAGERS, MULTIKUEUE):
        kept_status = _pick(status, ("phase", "mode"))
        return {"metadata": metadata, "spec": _pick(spec, ("managedBy",)), "status": kept_status}
    for role in Role:
        template = (spec.get(role) or {}).get("template") or {}
        if template.get("metadata"):
            template["metadata"] = _pick(template["metadata"], _TEMPLATE_METADATA)
        for volume in (template.get("spec") or {}).get("volumes") or ():
            claim = (volume.get("ephemeral") or {}).get("volumeClaimTemplate") or {}
            # managedFields can contain anything, at any depth, and are not copied to the claim.
            (claim.get("metadata") or {}).pop("managedFields", None)
    return {"metadata": metadata, "spec": spec, "status": status}


def _trim_pod(obj: Raw) -> Raw:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    kept_status = _pick(status, _POD_STATUS)
    kept_status["conditions"] = _pick_each(status.get("conditions"), _CONDITION)
    for field in ("containerStatuses", "initContainerStatuses"):
        if status.get(field):
            kept_status[field] = [_trim_container(each) for each in status[field]]
    metadata = _trim_metadata(obj, _POD_ANNOTATIONS)
    return {"metadata": metadata, "spec": _pick(spec, _POD_SPEC), "status": kept_status}


def _trim_container(status: Raw) -> Raw:
    """A container's status. Its message is cut: it can repeat an image name of any length.

    The memory limit is kept once a container has ended.
    """
    kept = _pick(status, _CONTAINER_STATUS)
    resources = status.get("resources")
    if resources is not None and (kept.get("lastState") or terminated_of(kept)):
        limits = resources.get("limits") or {}
        kept["resources"] = {"limits": _bound(_pick(limits, ("memory",)))}
    waiting = (kept.get("state") or {}).get("waiting")
    if waiting and len(waiting.get("message") or "") > MAX_TEXT:
        kept["state"] = {"waiting": _bound(waiting)}
    return kept


def _trim_config_map(obj: Raw) -> Raw:
    data = obj.get("data") or {} if _may_be_rendezvous(obj) else {}
    lists = _pick(data, PUBLISHED_LISTS)
    kept = {key: value for key, value in lists.items() if len(value) <= MAX_ENV_VALUE_BYTES}
    return {"metadata": _trim_metadata(obj), "data": kept}


def _may_be_rendezvous(obj: Raw) -> bool:
    """Whether a ConfigMap has the name for its job and attempt, and is not being deleted."""
    owner, attempt = owner_of(obj), labels_of(obj).get(LABEL_ATTEMPT, "")
    if owner is None or not attempt.isdecimal() or is_deleting(obj):
        return False
    return bool(obj["metadata"]["name"] == config_map_name(owner.key.name, int(attempt)))


def _trim_pod_group(obj: Raw) -> Raw:
    """Only minMember is kept of a spec, unless the PodGroup is the job's own and not too large."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    whole, owner, name = _pick(spec, _GROUP_SPEC), owner_of(obj), obj["metadata"]["name"]
    is_own = owner is not None and name == pod_group_name(owner.key.name, owner.uid)
    is_kept = is_own and len(marshal.dumps(whole)) <= MAX_GROUP_SPEC_BYTES
    conditions = _pick_each((status.get("conditions") or ())[:MAX_CONDITIONS], _CONDITION)
    return {
        "metadata": _trim_metadata(obj),
        "spec": whole if is_kept else _pick(spec, ("minMember",)),
        "status": {
            **_bound(_pick(status, ("phase",))),
            "conditions": [_bound(each) for each in conditions],
        },
    }


def _trim_workload(obj: Raw) -> Raw:
    """The job's own Workload without its templates, or only the metadata of any other."""
    owner = owner_of(obj)
    if owner is None or not _may_be_own(obj["metadata"]["name"], owner):
        return {"metadata": _trim_metadata(obj)}
    metadata = _trim_metadata(obj, _WORKLOAD_ANNOTATIONS)
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    kept = _pick(spec, _WORKLOAD_SPEC)
    kept["podSets"] = _pick_each(spec.get("podSets"), _POD_SET)
    return {"metadata": metadata, "spec": kept, "status": _trim_workload_status(status)}


def _may_be_own(name: str, owner: Owner) -> bool:
    """Whether the name, except its last part, is that of the job's own Workload.

    In MultiKueue's copy, the last part is made from the job's UID in the manager cluster.
    """
    return name.rpartition("-")[0] == workload_name(owner.key.name, owner.uid).rpartition("-")[0]


def _trim_workload_status(status: Raw) -> Raw:
    admission = status.get("admission")
    kept: Raw = {}
    if admission:
        found = admission.get("podSetAssignments") or ()
        assignments = _pick_each(found, _ASSIGNMENT)
        for kept_one, whole in zip(assignments, found, strict=True):
            if whole.get("topologyAssignment"):
                kept_one["topologyAssignment"] = {}
        kept["admission"] = {"podSetAssignments": assignments}
    kept["admissionChecks"] = _pick_each(status.get("admissionChecks"), _CHECK)
    kept["reclaimablePods"] = _pick_each(status.get("reclaimablePods"), _POD_SET)
    if len(marshal.dumps(kept)) > MAX_WORKLOAD_BYTES:
        kept = {}  # without an admission, no pod starts
    conditions = (status.get("conditions") or ())[:MAX_CONDITIONS]
    kept["conditions"] = [
        _pick(each, ("observedGeneration",)) | _bound(_pick(each, _CONDITION))
        for each in conditions
    ]
    return kept


def _bound(texts: Raw) -> Raw:
    return {key: text[:MAX_TEXT] for key, text in texts.items() if isinstance(text, str)}


def _trim_node(obj: Raw) -> Raw:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    return {
        "metadata": _trim_metadata(obj),
        "spec": _pick(spec, ("unschedulable", "taints")),
        "status": {
            "conditions": _pick_each(status.get("conditions"), _CONDITION),
            "allocatable": devices_of(obj),
        },
    }


def _trim_metadata(obj: Raw, annotations: tuple[str, ...] = ()) -> Raw:
    metadata = _pick(obj["metadata"], _METADATA)
    labels = _pick(labels_of(obj), _LABELS)
    owner = controller_of(obj) if owner_of(obj) else None
    finalizers = obj["metadata"].get("finalizers") or ()
    if labels:
        metadata["labels"] = labels
    if finalizers:
        metadata["finalizers"] = [each[:MAX_TEXT] for each in finalizers[:MAX_FINALIZERS]]
    if owner and len(owner["name"] + owner["uid"]) <= MAX_TEXT:
        metadata["ownerReferences"] = [owner]
    if kept := _pick(obj["metadata"].get("annotations") or {}, annotations):
        metadata["annotations"] = _bound(kept)
    return metadata


def _pick(obj: Raw, fields: tuple[str, ...]) -> Raw:
    return {field: obj[field] for field in fields if field in obj}


def _pick_each(objects: Iterable[Raw] | None, fields: tuple[str, ...]) -> list[Raw]:
    return [_pick(obj, fields) for obj in objects or ()]


_TRIMMERS: dict[Resource, Callable[[Raw], Raw]] = {
    PADDLE_JOB: _trim_job,
    POD: _trim_pod,
    SERVICE: lambda obj: {"metadata": _trim_metadata(obj)},
    CONFIG_MAP: _trim_config_map,
    VOLCANO_POD_GROUP: _trim_pod_group,
    GANG_POD_GROUP: _trim_pod_group,
    WORKLOAD: _trim_workload,
    NODE: _trim_node,
}
