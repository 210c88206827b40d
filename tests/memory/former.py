"""What paddle-operator 0.3 leaves behind, as it stands in a cluster: nothing of ours is on it."""

from copy import deepcopy
from typing import Any

from api.constants import API_VERSION, GROUP, KIND, PLURAL, VOLCANO_API_VERSION, Role
from api.crd import CRD_NAME
from api.objects import Raw, name_of, namespace_of, uid_of

FINALIZER = "finalizers.paddlepaddle.org"
TRAINING_ROLES = {Role.PS: "PSERVER", Role.WORKER: "TRAINER", Role.HETER: "HETER"}
PORT = 36000


def former_pods(job: Raw) -> list[Raw]:
    """The pods of a job, before anybody has bound them."""
    return [
        _pod(job, role, index)
        for role in Role
        for index in range((job["spec"].get(role) or {}).get("replicas", 0))
    ]


def former_config_map(job: Raw, addresses: dict[str, str]) -> Raw:
    """The ConfigMap that lets the pods start; addresses by the pods' names."""
    data = {"TRAINER_PORTS_NUM": "20", "PADDLE_PORT": str(PORT)}
    for role, variable in (
        (Role.PS, "PADDLE_PSERVERS_IP_PORT_LIST"),
        (Role.WORKER, "PADDLE_TRAINER_ENDPOINTS"),
    ):
        own = [f"{a}:{PORT}" for name, a in addresses.items() if f"-{role}-" in name]
        if own:
            data[variable] = ",".join(own)
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": _metadata(job, name_of(job), {"paddle-res-name": name_of(job)}),
        "data": data,
    }


def former_pod_group(job: Raw) -> Raw:
    """Under Volcano: the job's name, and its own."""
    return {
        "apiVersion": VOLCANO_API_VERSION,
        "kind": "PodGroup",
        "metadata": _metadata(job, name_of(job), {}),
        "spec": {"minMember": len(former_pods(job))},
        "status": {"phase": "Running"},
    }


def former_services(job: Raw) -> list[Raw]:
    """With `intranet: Service`: one for each pod."""
    ports = [{"name": f"p-{n}", "port": PORT + n} for n in range(20)]
    return [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": _metadata(job, name_of(pod), {}),
            "spec": {
                "clusterIP": "None",
                "ports": ports,
                "selector": {"paddle-res-name": name_of(pod)},
            },
        }
        for pod in former_pods(job)
    ]


def former_status(job: Raw, phase: str, state: str) -> Raw:
    """The status with all pods of each role in one state: pending, starting, running, ..."""
    roles = [role for role in Role if role in job["spec"]]
    status: Raw = {"phase": phase, "mode": "PS" if Role.PS in roles else "Collective"}
    for role in roles:
        own = [pod for pod in former_pods(job) if f"-{role}-" in name_of(pod)]
        refs = [{"kind": "Pod", "name": name_of(pod), "apiVersion": "v1"} for pod in own]
        status[role] = {state: len(own), "refs": refs}
    if phase in ("Running", "Completed", "Failed"):
        status["startTime"] = "2026-01-02T03:00:00Z"
    if phase in ("Completed", "Failed"):
        status["completionTime"] = "2026-01-02T03:04:00Z"
    return status


def _pod(job: Raw, role: Role, index: int) -> Raw:
    name = f"{name_of(job)}-{role}-{index}"
    template = deepcopy(job["spec"][role]["template"])
    spec: dict[str, Any] = template["spec"]
    spec.setdefault("restartPolicy", "Never")
    first = spec["containers"][0]
    first["env"] = [
        *first.get("env", ()),
        {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "PADDLE_TRAINER_ID", "value": str(index)},
        {"name": "TRAINING_ROLE", "value": TRAINING_ROLES[role]},
        {"name": "PADDLE_TRAINING_ROLE", "value": TRAINING_ROLES[role]},
    ]
    first["envFrom"] = [*first.get("envFrom", ()), {"configMapRef": {"name": name_of(job)}}]
    metadata = _metadata(job, name, {"paddle-res-name": name, "paddle-res-type": str(role)})
    metadata["annotations"] = {"paddle-resource": str(role)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _metadata(job: Raw, name: str, labels: dict[str, str]) -> Raw:
    reference = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "name": name_of(job),
        "uid": uid_of(job),
        "controller": True,
        "blockOwnerDeletion": True,
    }
    metadata: Raw = {"name": name, "namespace": namespace_of(job), "ownerReferences": [reference]}
    return metadata | ({"labels": labels} if labels else {})


def former_operator() -> list[Raw]:
    """Its CRD, in short, and its Deployment and rights, as far as a move has to do with them."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": anything, "status": anything}}
    names = {"kind": KIND, "plural": PLURAL, "singular": "paddlejob", "shortNames": ["pdj"]}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    spec = {"group": GROUP, "names": names, "scope": "Namespaced", "versions": [version]}
    labels = {"control-plane": "controller-manager"}
    pod = {"containers": [{"name": "manager", "image": "busybox", "command": ["sleep", "3600"]}]}
    template = {"metadata": {"labels": labels}, "spec": pod}
    rights = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole"}
    return [
        _thing("apiextensions.k8s.io/v1", "CustomResourceDefinition", CRD_NAME, spec=spec),
        _thing("v1", "Namespace", "paddle-system"),
        _thing("v1", "ServiceAccount", "paddle-manager-sa"),
        _thing("rbac.authorization.k8s.io/v1", "ClusterRole", "paddle-manager-role", rules=[]),
        _thing(
            "rbac.authorization.k8s.io/v1",
            "ClusterRoleBinding",
            "paddle-manager-rolebinding",
            roleRef=rights | {"name": "paddle-manager-role"},
        ),
        _thing(
            "apps/v1",
            "Deployment",
            "paddle-controller-manager",
            spec={"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
        ),
    ]


def _thing(api_version: str, kind: str, name: str, **more: Any) -> Raw:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **more}
