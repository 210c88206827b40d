"""Raw objects as the API server sends them."""

from typing import Any

from api.constants import API_VERSION, KIND, LABEL_JOB_UID
from controller.resources import Resource
from controller.store import Store, pack

Raw = dict[str, Any]


def a_job(name: str = "train", uid: str = "job-1", version: int = 1, **more: Any) -> Raw:
    metadata = {
        "name": name,
        "namespace": "ns",
        "uid": uid,
        "resourceVersion": str(version),
        "creationTimestamp": "2026-01-02T03:04:05Z",
    }
    return {"metadata": metadata, "spec": {}, **more}


def a_pod(
    name: str = "train-worker-0", owner: Raw | None = None, version: int = 2, **metadata: Any
) -> Raw:
    base: Raw = {
        "name": name,
        "namespace": "ns",
        "uid": f"uid-of-{name}",
        "resourceVersion": str(version),
        "labels": {"batch.paddlepaddle.org/role": "worker"},
    }
    if owner is not None:
        base["ownerReferences"] = [owner_reference(owner)]
        base["labels"] = {**base["labels"], LABEL_JOB_UID: owner["metadata"]["uid"]}
    return {"metadata": base | metadata, "spec": {}, "status": {"phase": "Pending"}}


def owner_reference(job: Raw, **changes: Any) -> Raw:
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "name": job["metadata"]["name"],
        "uid": job["metadata"]["uid"],
        "controller": True,
    } | changes


def manifest(name: str = "train-worker-0", kind: str = "Pod", owner: Raw | None = None) -> Raw:
    metadata: Raw = {"name": name}
    if owner is not None:
        metadata["ownerReferences"] = [owner_reference(owner)]
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata}


def put(store: Store, resource: Resource, obj: Raw) -> None:
    """Have an object in the store."""
    store.put(resource, pack(resource, obj))


def remove(store: Store, resource: Resource, obj: Raw) -> None:
    """Have it leave the store."""
    store.remove(resource, pack(resource, obj))


def replace(store: Store, resource: Resource, objects: list[Raw], version: str) -> list[str]:
    """Have a full list in the store; the names of what it changed."""
    entries = [pack(resource, obj) for obj in objects]
    return sorted(entry.key.name for entry in store.replace(resource, entries, version))
