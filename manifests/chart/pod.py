"""The values of the operator's Deployment and its pods, beside the operator's flags."""

from api.objects import Raw
from manifests.chart.flags import VARIABLE_NAME
from manifests.chart.tree import Section, Value
from manifests.chart.types import (
    AMOUNT,
    ANNOTATIONS,
    LABELS,
    NAME_OR_EMPTY,
    QUANTITY,
    STRATEGY,
    SWITCH,
    closed,
    named,
    pod_schema,
    probe,
    whole,
)
from manifests.operator import (
    LIVENESS_SECONDS,
    POD_SECURITY_CONTEXT,
    READINESS_SECONDS,
    REPLICAS,
    RESOURCES,
    SECCOMP,
    SECURITY_CONTEXT,
)

AMOUNTS = closed(
    requests={"type": "object", "additionalProperties": QUANTITY},
    limits={"type": "object", "additionalProperties": QUANTITY},
    claims=pod_schema("containers", "*", "resources", "claims"),
)


def _container(field: str) -> Raw:
    return pod_schema("containers", "*", field)


_ENV = _container("env")
_ENV["items"]["properties"]["name"] |= VARIABLE_NAME


POD = (
    Value("env", [], _ENV, "Further environment variables of the operator."),
    Value("envFrom", [], _container("envFrom"), "ConfigMaps and Secrets to take variables from."),
    Value(
        "replicas",
        REPLICAS,
        {"type": "integer", "minimum": 1},
        "How many operators; one leads, and the others stand by.",
    ),
    Value("resources", RESOURCES, AMOUNTS, "What the container requests, and may take at most."),
    Value("annotations", {}, ANNOTATIONS, "Annotations of the Deployment."),
    Value(
        "strategy",
        {},
        STRATEGY,
        "How an upgrade replaces pods; empty: Kubernetes' own default. Recreate where "
        "operator.leaderElect is off.",
    ),
    Value("revisionHistoryLimit", 10, whole(0), "Former ReplicaSets that are kept."),
    Value("podAnnotations", {}, ANNOTATIONS, "Annotations of the pods."),
    Value("podLabels", {}, LABELS, "Labels of the pods."),
    Value("nodeSelector", {}, LABELS, "Labels that a node must have."),
    Value("tolerations", [], pod_schema("tolerations"), "Taints that a node may have."),
    Value("affinity", {}, pod_schema("affinity"), "Rules about nodes and other pods."),
    Value(
        "topologySpreadConstraints",
        [],
        pod_schema("topologySpreadConstraints"),
        "How replicas are spread over the cluster.",
    ),
    Value("priorityClassName", "", NAME_OR_EMPTY, "Priority of the pods."),
    Value("hostNetwork", False, SWITCH, "Use the node's network and address."),
    Value(
        "dnsPolicy",
        "",
        {"enum": ["", "ClusterFirst", "ClusterFirstWithHostNet", "Default"]},
        "How names are resolved; empty: Kubernetes' own default, or ClusterFirstWithHostNet with "
        "hostNetwork.",
    ),
    Value("terminationGracePeriodSeconds", 30, whole(1), "Seconds that the pods have to end."),
    Value(
        "podSecurityContext",
        POD_SECURITY_CONTEXT | SECCOMP,
        pod_schema("securityContext"),
        "Fits Pod Security `restricted`. Set runAsUser and runAsGroup to null on OpenShift.",
    ),
    Value(
        "securityContext", SECURITY_CONTEXT, _container("securityContext"), "That of the container."
    ),
    Value("livenessProbe", LIVENESS_SECONDS, probe(), "Timings of the probe of /healthz."),
    Value(
        "readinessProbe",
        READINESS_SECONDS,
        probe(successThreshold=whole(1)),
        "Timings of the probe of /readyz.",
    ),
    Value(
        "extraVolumes",
        [],
        named(pod_schema("volumes"), "metrics-certificate"),
        "Further volumes of the pods.",
    ),
    Value("extraVolumeMounts", [], _container("volumeMounts"), "Where the operator mounts them."),
    Value(
        "sidecars",
        [],
        named(pod_schema("containers"), "manager"),
        "Further containers of the pods.",
    ),
    Section(
        "serviceAccount",
        "The account under which the operator runs.",
        (
            Value("create", True, SWITCH, "Create it; otherwise `name` is one that exists."),
            Value("name", "", NAME_OR_EMPTY, "Its name; empty: that of all objects."),
            Value("annotations", {}, ANNOTATIONS, "Its annotations."),
        ),
        {
            "if": {"properties": {"create": {"const": False}}, "required": ["create"]},
            "then": {"properties": {"name": {"minLength": 1}}, "required": ["name"]},
        },
    ),
    Section(
        "podDisruptionBudget",
        "Keeps drains from taking all replicas at once.",
        (
            Value("enabled", False, SWITCH, "Create it."),
            Value("minAvailable", "", AMOUNT, "Replicas to keep; empty: `maxUnavailable` counts."),
            Value("maxUnavailable", 1, AMOUNT, "Replicas to lose, where `minAvailable` is empty."),
        ),
    ),
)
