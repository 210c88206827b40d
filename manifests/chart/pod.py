"""The values of the operator's Deployment and its pods, beside the operator's flags."""

from api.objects import Raw
from manifests.chart.flags import VARIABLE_NAME
from manifests.chart.tree import Section, Value
from manifests.chart.types import (
    AMOUNT,
    AMOUNTS,
    ANNOTATIONS,
    LABELS,
    NAME_OR_EMPTY,
    STRATEGY,
    SWITCH,
    containers,
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


def _container(field: str) -> Raw:
    return pod_schema("containers", "*", field)


_ENV = _container("env")
_ENV["items"]["properties"]["name"] |= VARIABLE_NAME


POD = (
    Value("env", [], _ENV, "More environment variables of the operator."),
    Value("envFrom", [], _container("envFrom"), "ConfigMaps and Secrets to take variables from."),
    Value(
        "replicas",
        REPLICAS,
        {"type": "integer", "minimum": 1},
        "Number of operator pods: one leads, and the others wait to take over. More than one needs "
        "operator.leaderElect.",
    ),
    Value("resources", RESOURCES, AMOUNTS, "Resource requests and limits of the container."),
    Value("annotations", {}, ANNOTATIONS, "Annotations of the Deployment."),
    Value(
        "strategy",
        {},
        STRATEGY,
        "How an upgrade replaces pods; empty: Kubernetes' own default. It is always Recreate if "
        "operator.leaderElect is off.",
    ),
    Value("revisionHistoryLimit", 10, whole(0), "How many former ReplicaSets are kept."),
    Value("podAnnotations", {}, ANNOTATIONS, "Annotations of the pods."),
    Value("podLabels", {}, LABELS, "Labels of the pods."),
    Value("nodeSelector", {}, LABELS, "Labels that a node must have to run the operator."),
    Value(
        "tolerations", [], pod_schema("tolerations"), "Taints of nodes that the operator tolerates."
    ),
    Value(
        "affinity", {}, pod_schema("affinity"), "Affinity of the pods to nodes and to other pods."
    ),
    Value(
        "topologySpreadConstraints",
        [],
        pod_schema("topologySpreadConstraints"),
        "Constraints for spreading the replicas over the cluster.",
    ),
    Value("priorityClassName", "", NAME_OR_EMPTY, "PriorityClass of the pods."),
    Value("runtimeClassName", "", NAME_OR_EMPTY, "RuntimeClass of the pods."),
    Value("schedulerName", "", NAME_OR_EMPTY, "Scheduler of the pods; empty: Kubernetes' own."),
    Value("hostAliases", [], pod_schema("hostAliases"), "More lines of the pods' /etc/hosts."),
    Value(
        "dnsConfig", {}, pod_schema("dnsConfig"), "DNS servers, domains and options of the pods."
    ),
    Value("hostNetwork", False, SWITCH, "Use the node's network and address."),
    Value(
        "dnsPolicy",
        "",
        {"enum": ["", "ClusterFirst", "ClusterFirstWithHostNet", "Default"]},
        "DNS policy of the pods; empty: Kubernetes' own default, or ClusterFirstWithHostNet with "
        "hostNetwork.",
    ),
    Value("terminationGracePeriodSeconds", 30, whole(1), "Seconds that the pods get to stop."),
    Value(
        "podSecurityContext",
        POD_SECURITY_CONTEXT | SECCOMP,
        pod_schema("securityContext"),
        "Security context of the pods. The default is allowed by the Pod Security Standard "
        "`restricted`. Set runAsUser and runAsGroup to null on OpenShift.",
    ),
    Value(
        "securityContext",
        SECURITY_CONTEXT,
        _container("securityContext"),
        "Security context of the container.",
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
        "More volumes of the pods.",
    ),
    Value(
        "extraVolumeMounts",
        [],
        _container("volumeMounts"),
        "Mounts of extraVolumes in the operator's container.",
    ),
    Value(
        "sidecars",
        [],
        containers("containers", "manager"),
        "More containers of the pods.",
    ),
    Value(
        "initContainers",
        [],
        containers("initContainers", "manager"),
        "Containers that run before the operator's.",
    ),
    Section(
        "serviceAccount",
        "The account under which the operator runs.",
        (
            Value("create", True, SWITCH, "Create it; otherwise `name` must be one that exists."),
            Value(
                "name",
                "",
                NAME_OR_EMPTY,
                "The account's name; empty: the same name as the other objects.",
            ),
            Value("annotations", {}, ANNOTATIONS, "Its annotations."),
            Value("labels", {}, LABELS, "Its labels."),
            Value(
                "automount",
                True,
                SWITCH,
                "Mount its token; otherwise `extraVolumes` must bring one, under the usual path.",
            ),
        ),
        {
            "if": {"properties": {"create": {"const": False}}, "required": ["create"]},
            "then": {"properties": {"name": {"minLength": 1}}, "required": ["name"]},
        },
    ),
    Section(
        "podDisruptionBudget",
        "A PodDisruptionBudget: a drain of nodes does not stop all replicas at once.",
        (
            Value("enabled", False, SWITCH, "Create it."),
            Value(
                "minAvailable",
                "",
                AMOUNT,
                "Replicas that must stay; empty: `maxUnavailable` decides.",
            ),
            Value(
                "maxUnavailable",
                1,
                AMOUNT,
                "Replicas that can be stopped at once, if `minAvailable` is empty.",
            ),
            Value(
                "unhealthyPodEvictionPolicy",
                "",
                {"enum": ["", "IfHealthyBudget", "AlwaysAllow"]},
                "Whether a replica that is not ready may always be evicted (Kubernetes 1.27); "
                "empty: Kubernetes' own default.",
            ),
        ),
    ),
)
