"""What the store keeps of each kind: the fields that a pass reads, and nothing else.

Ten thousand finished jobs with their pods stay in memory, and of a pod's few kilobytes a pass reads
little. The fields that are kept have the names and the nesting that the API server sent.
"""

from collections.abc import Callable, Iterable

from api.constants import ANNOTATION_GROUP_NAME
from api.objects import Raw
from controller.resources import CONFIG_MAP, NODE, PADDLE_JOB, POD, SERVICE, Resource

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_METADATA = (
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "ownerReferences",
)
_POD_SPEC = ("nodeName", "restartPolicy", "schedulerName", "schedulingGates")
_POD_STATUS = ("phase", "reason", "message", "podIP", "hostIP", "startTime")
_CONTAINER_STATUS = ("name", "state", "lastState", "restartCount", "ready", "started")
_CONDITION = ("type", "status", "reason", "message", "lastTransitionTime")


def trim(resource: Resource, obj: Raw) -> Raw:
    """The object with the kept fields only, apiVersion and kind filled in.

    The items of a list carry neither. The argument may be changed: it is the caller's own copy.
    """
    kept = _TRIMMERS.get(resource, _trim_whole)(obj)
    kept["apiVersion"] = resource.api_version
    kept["kind"] = resource.kind
    return kept


def _trim_whole(obj: Raw) -> Raw:
    metadata = obj["metadata"]
    metadata.pop("managedFields", None)
    annotations = metadata.get("annotations")
    if annotations:
        annotations.pop(_LAST_APPLIED, None)
    return obj


def _trim_pod(obj: Raw) -> Raw:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    kept_spec = _pick(spec, _POD_SPEC)
    kept_spec["containers"] = [_pick(c, ("name",)) for c in spec.get("containers") or ()]
    inits = spec.get("initContainers")
    if inits:
        kept_spec["initContainers"] = [_pick(c, ("name", "restartPolicy")) for c in inits]
    kept_status = _pick(status, _POD_STATUS)
    kept_status["conditions"] = _pick_each(status.get("conditions"), _CONDITION)
    for field in ("containerStatuses", "initContainerStatuses"):
        if status.get(field):
            kept_status[field] = _pick_each(status[field], _CONTAINER_STATUS)
    metadata = _trim_metadata(obj)
    group = (obj["metadata"].get("annotations") or {}).get(ANNOTATION_GROUP_NAME)
    if group is not None:
        metadata["annotations"] = {ANNOTATION_GROUP_NAME: group}
    return {"metadata": metadata, "spec": kept_spec, "status": kept_status}


def _trim_config_map(obj: Raw) -> Raw:
    return {"metadata": _trim_metadata(obj), "data": obj.get("data") or {}}


def _trim_service(obj: Raw) -> Raw:
    return {"metadata": _trim_metadata(obj)}


def _trim_node(obj: Raw) -> Raw:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    return {
        "metadata": _trim_metadata(obj),
        "spec": _pick(spec, ("unschedulable", "taints")),
        "status": {"conditions": _pick_each(status.get("conditions"), _CONDITION)},
    }


def _trim_metadata(obj: Raw) -> Raw:
    return _pick(obj["metadata"], _METADATA)


def _pick(obj: Raw, fields: tuple[str, ...]) -> Raw:
    return {field: obj[field] for field in fields if field in obj}


def _pick_each(objects: Iterable[Raw] | None, fields: tuple[str, ...]) -> list[Raw]:
    return [_pick(obj, fields) for obj in objects or ()]


_TRIMMERS: dict[Resource, Callable[[Raw], Raw]] = {
    PADDLE_JOB: _trim_whole,
    POD: _trim_pod,
    SERVICE: _trim_service,
    CONFIG_MAP: _trim_config_map,
    NODE: _trim_node,
}
