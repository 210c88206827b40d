"""Raw objects as the API server sends them, and a store that holds them."""

from typing import Any

from api.constants import LABEL_JOB_UID
from api.job import parse_job
from controller.cache.store import Store, pack
from controller.client.resources import Resource
from reconcile.model.plan import Create
from tests.memory import builders

Raw = dict[str, Any]
LEASE_SECONDS = 15


def a_lease(holder: str, **spec: object) -> Raw:
    return {"spec": {"holderIdentity": holder, "leaseDurationSeconds": LEASE_SECONDS, **spec}}


def a_job(name: str = "train", uid: str = "job-1", version: int = 1, **more: Any) -> Raw:
    """A job without roles, of the namespace ns."""
    job = builders.a_job(name, uid).with_metadata(namespace="ns", resourceVersion=str(version))
    return job.build() | more


def a_pod(
    name: str = "train-worker-0", owner: Raw | None = None, version: int = 2, **metadata: Any
) -> Raw:
    """A worker of its owner, or a pod that belongs to nobody."""
    pod = builders.a_pod(owner or a_job()).build()
    pod["metadata"] |= {"name": name, "uid": f"uid-of-{name}", "resourceVersion": str(version)}
    if owner is None:
        del pod["metadata"]["ownerReferences"], pod["metadata"]["labels"][LABEL_JOB_UID]
    pod["metadata"] |= metadata
    return pod


def owner_reference(job: Raw, **changes: Any) -> Raw:
    """The reference that a child has to its job."""
    return parse_job(job).owner_reference() | changes


def manifest(name: str = "train-worker-0", kind: str = "Pod", owner: Raw | None = None) -> Raw:
    metadata: Raw = {"name": name}
    if owner is not None:
        metadata["ownerReferences"] = [owner_reference(owner)]
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata}


def creation(name: str = "train-worker-0", owner: Raw | None = None) -> Create:
    return Create("Pod", name, lambda: manifest(name, owner=owner))


def put(store: Store, resource: Resource, obj: Raw) -> None:
    store.put(resource, pack(resource, obj))


def remove(store: Store, resource: Resource, obj: Raw) -> None:
    entry = pack(resource, obj)
    store.remove(resource, entry.key, entry.version)


def replace(store: Store, resource: Resource, objects: list[Raw], version: str) -> list[str]:
    """Have a full list in the store; the names of what it changed."""
    entries = [pack(resource, obj) for obj in objects]
    return sorted(entry.key.name for entry in store.replace(resource, entries, version))
