"""The operator's own objects: namespace, account, roles, Deployment and the Service for metrics."""

from dataclasses import dataclass

from api.constants import OPERATOR_LABELS, RELEASE
from api.crd import PROTECTION
from api.objects import Raw
from manifests.rbac import (
    AGGREGATE,
    CLUSTER_RULES,
    LEASE_RULES,
    METRICS_PATH,
    REVIEW_RULES,
    RULES,
    USER_ROLES,
    Table,
    policy_rules,
)

NAMESPACE = "paddle-system"
NAME = "paddle-controller-manager"
IMAGE = f"paddlejob-operator:{RELEASE}"
NAMED_AFTER = "-of-$(OPERATOR_NAMESPACE)"
"""Only a variable of kustomize is replaced after an overlay has changed the namespace."""
RBAC = "rbac.authorization.k8s.io"
METRICS_PORT = 8080
HEALTH_PORT = 8081
METRICS_ADDRESS = f"$(POD_IP):{METRICS_PORT}"
HEALTH_ADDRESS = f"$(POD_IP):{HEALTH_PORT}"
USER_ID = 65532
REPLICAS = 1
RESOURCES: Raw = {
    "requests": {"cpu": "100m", "memory": "128Mi"},
    "limits": {"memory": "512Mi"},
}
POD_SECURITY_CONTEXT: Raw = {"runAsNonRoot": True, "runAsUser": USER_ID, "runAsGroup": USER_ID}
LIVENESS_SECONDS: Raw = {"initialDelaySeconds": 15, "periodSeconds": 20}
READINESS_SECONDS: Raw = {"periodSeconds": 5}
SECCOMP: Raw = {"seccompProfile": {"type": "RuntimeDefault"}}
SECURITY_CONTEXT: Raw = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "readOnlyRootFilesystem": True,
}


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to install: for the jobs of one namespace or of all, on a recent Kubernetes or 1.15.

    The operator for all namespaces asks the API server who is allowed to read the metrics, which
    needs a cluster-wide permission. In a movable variant no argument contains the namespace, so
    that kustomize can change it, and the names of cluster-wide objects end in it, so that a second
    operator in another namespace does not take the first one's.
    """

    all_namespaces: bool = False
    has_seccomp_field: bool = True
    is_movable: bool = False


def build_operator(variant: Variant) -> list[Raw]:
    """All objects, in the order in which they are created."""
    account = _object("v1", "ServiceAccount", NAME)
    objects = [
        _namespace(),
        account,
        *_roles(variant),
        *((*_metrics_roles(), *build_user_roles()) if variant.all_namespaces else ()),
        _deployment(variant),
        _metrics_service(),
    ]
    if variant.is_movable:
        _name_after_namespace(objects)
    return objects


def _name_after_namespace(objects: list[Raw]) -> None:
    """Let the names of ClusterRoles and their bindings end in a variable of kustomize."""
    for obj in objects:
        if obj["kind"].startswith("ClusterRole"):
            obj["metadata"]["name"] += NAMED_AFTER
            if "roleRef" in obj:
                obj["roleRef"]["name"] += NAMED_AFTER


def _object(api_version: str, kind: str, name: str, *, in_cluster_scope: bool = False) -> Raw:
    metadata: Raw = {"name": name, "labels": dict(OPERATOR_LABELS)}
    if not in_cluster_scope:
        metadata["namespace"] = NAMESPACE
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def _namespace() -> Raw:
    """The namespace has no label: deleting by label must not delete it with everything in it."""
    metadata: Raw = {"name": NAMESPACE, "annotations": dict(PROTECTION)}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def _roles(variant: Variant) -> list[Raw]:
    if variant.all_namespaces:
        own = _role_and_binding(NAME, (*RULES, *CLUSTER_RULES), in_cluster_scope=True)
    else:
        own = _role_and_binding(NAME, RULES)
    return own + _role_and_binding(f"{NAME}-leader-election", LEASE_RULES)


def build_rights() -> list[Raw]:
    """The operator's Role and RoleBinding for one more namespace, which kustomize fills in."""
    rights = _role_and_binding(NAME, RULES)
    for obj in rights:
        del obj["metadata"]["namespace"]
    return rights


def build_user_roles() -> list[Raw]:
    """The permissions on jobs for the cluster's roles view, edit and admin."""
    roles = []
    for name, (table, into) in USER_ROLES.items():
        role = _object(f"{RBAC}/v1", "ClusterRole", f"{NAME}-{name}", in_cluster_scope=True)
        role["metadata"]["labels"] |= {f"{AGGREGATE}{each}": "true" for each in into}
        role["rules"] = policy_rules(table)
        roles.append(role)
    return roles


def _metrics_roles() -> list[Raw]:
    """The permissions to check who reads the metrics, and those that readers need."""
    auth = _role_and_binding(f"{NAME}-metrics-auth", REVIEW_RULES, in_cluster_scope=True)
    reader = _object(f"{RBAC}/v1", "ClusterRole", f"{NAME}-metrics-reader", in_cluster_scope=True)
    reader["rules"] = [{"nonResourceURLs": [METRICS_PATH], "verbs": ["get"]}]
    return [*auth, reader]


def _role_and_binding(name: str, table: Table, *, in_cluster_scope: bool = False) -> list[Raw]:
    kind = "ClusterRole" if in_cluster_scope else "Role"
    role = _object(f"{RBAC}/v1", kind, name, in_cluster_scope=in_cluster_scope)
    role["rules"] = policy_rules(table)
    binding = _object(f"{RBAC}/v1", f"{kind}Binding", name, in_cluster_scope=in_cluster_scope)
    binding["roleRef"] = {"apiGroup": RBAC, "kind": kind, "name": name}
    binding["subjects"] = [{"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}]
    return [role, binding]


def _deployment(variant: Variant) -> Raw:
    deployment = _object("apps/v1", "Deployment", NAME)
    deployment["spec"] = {
        "replicas": REPLICAS,
        "selector": {"matchLabels": dict(OPERATOR_LABELS)},
        "template": {
            "metadata": {"labels": dict(OPERATOR_LABELS)} | _seccomp_annotation(variant),
            "spec": {
                "serviceAccountName": NAME,
                "securityContext": POD_SECURITY_CONTEXT | _seccomp_field(variant),
                "containers": [_container(variant)],
            },
        },
    }
    return deployment


def _seccomp_field(variant: Variant) -> Raw:
    return SECCOMP if variant.has_seccomp_field else {}


def _seccomp_annotation(variant: Variant) -> Raw:
    if variant.has_seccomp_field:
        return {}
    return {"annotations": {"seccomp.security.alpha.kubernetes.io/pod": "runtime/default"}}


def _container(variant: Variant) -> Raw:
    own_namespace = "$(POD_NAMESPACE)" if variant.is_movable else NAMESPACE
    scope = [] if variant.all_namespaces else [f"--namespace={own_namespace}"]
    return {
        "name": "manager",
        "image": IMAGE,
        "args": [
            *scope,
            # Only the pod's own address, even if the pod uses the host's network.
            f"--health-probe-bind-address={HEALTH_ADDRESS}",
            "--leader-elect",
            f"--metrics-bind-address={METRICS_ADDRESS}",
            *(["--metrics-secure"] if variant.all_namespaces else []),
        ],
        "env": [
            _field("POD_IP", "status.podIP"),
            *(
                [_field("POD_NAMESPACE", "metadata.namespace")]
                if scope and variant.is_movable
                else []
            ),
        ],
        "ports": [
            {"name": "metrics", "containerPort": METRICS_PORT},
            {"name": "health", "containerPort": HEALTH_PORT},
        ],
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": "health"}, **LIVENESS_SECONDS},
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": "health"}, **READINESS_SECONDS},
        "resources": RESOURCES,
        "securityContext": SECURITY_CONTEXT,
    }


def _field(variable: str, path: str) -> Raw:
    return {"name": variable, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def _metrics_service() -> Raw:
    service = _object("v1", "Service", f"{NAME}-metrics")
    service["spec"] = {
        "selector": dict(OPERATOR_LABELS),
        "ports": [{"name": "metrics", "port": METRICS_PORT, "targetPort": "metrics"}],
    }
    return service
