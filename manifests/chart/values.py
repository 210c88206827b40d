"""The chart's values, one by one: the only place where they are listed."""

from api.objects import Raw
from manifests.alerts import RUNBOOK
from manifests.chart.flags import NAMESPACE_PATTERN, flag_values
from manifests.chart.tree import Section, Value
from manifests.operator import (
    IMAGE,
    NAME,
    POD_SECURITY_CONTEXT,
    REPLICAS,
    RESOURCES,
    SECCOMP,
    SECURITY_CONTEXT,
)

MAP: Raw = {"type": "object"}
LIST: Raw = {"type": "array", "items": {"type": "object"}}
STRINGS: Raw = {"type": "object", "additionalProperties": {"type": "string"}}
TEXT: Raw = {"type": "string"}
SWITCH: Raw = {"type": "boolean"}
NAMESPACES: Raw = {
    "type": "array",
    "uniqueItems": True,
    "items": {"type": "string", "pattern": NAMESPACE_PATTERN},
}
AMOUNT: Raw = {
    "anyOf": [
        {"type": "integer", "minimum": 0},
        {"type": "string", "pattern": "^([0-9]+%)?$"},
    ]
}
QUANTITIES: Raw = {
    "type": "object",
    "additionalProperties": {
        "anyOf": [
            {"type": "number", "minimum": 0},
            {"type": "string", "pattern": "^[0-9.]+(m|[kMGTPE]|[KMGTPE]i)?$"},
        ]
    },
}
AMOUNTS: Raw = {
    "type": "object",
    "additionalProperties": False,
    "properties": {"requests": QUANTITIES, "limits": QUANTITIES, "claims": LIST},
}
INTERVAL: Raw = {"type": "string", "pattern": "^([0-9]+(ms|s|m|h))*$"}
LISTED: Raw = {"properties": {"kind": {"const": "List"}}, "required": ["kind"]}
SCOPE_RULE: Raw = {
    # Helm takes a value away that is null, as one is after `namespaces:` with nothing below it.
    "required": ["kind"],
    "if": LISTED,
    "then": {"properties": {"namespaces": {"minItems": 1}}, "required": ["namespaces"]},
    "else": {"properties": {"namespaces": {"maxItems": 0}}},
}
REPOSITORY, _, TAG = IMAGE.partition(":")


def monitor(name: str, what: str) -> Section:
    """A ServiceMonitor or PodMonitor."""
    return Section(
        name,
        f"{what} of the Prometheus operator.",
        (
            Value("enabled", False, SWITCH, f"Create a {what}."),
            Value("labels", {}, STRINGS, "Its labels, by which a Prometheus may select it."),
            Value("interval", "", INTERVAL, "How often to scrape; empty: Prometheus' own default."),
            Value("scrapeTimeout", "", INTERVAL, "For how long; empty: Prometheus' own default."),
            Value("relabelings", [], LIST, "Relabelings of targets."),
            Value("metricRelabelings", [], LIST, "Relabelings of samples."),
        ),
    )


NAMES = (
    Value(
        "fullnameOverride",
        NAME,
        {"type": "string", "maxLength": 40, "pattern": "^([a-z]([-a-z0-9]*[a-z0-9])?)?$"},
        "Name of all objects. The same for every release, so that Helm itself refuses a second one "
        "with rights in the same place. Empty: made of the release's name.",
    ),
    Value("commonLabels", {}, STRINGS, "Labels of all objects."),
    Section(
        "image",
        "The operator's image.",
        (
            Value(
                "repository",
                REPOSITORY,
                {"type": "string", "pattern": "^([^/@\\s]+/)?[^:@\\s]+$"},
                "Where it is, without tag and digest.",
            ),
            Value(
                "tag",
                "",
                {"type": "string", "pattern": "^[-.\\w]{0,128}$"},
                "Its tag; empty: the chart's appVersion.",
            ),
            Value(
                "digest",
                "",
                {"type": "string", "pattern": "^(sha256:[0-9a-f]{64})?$"},
                "Its digest, `sha256:...`, which wins over the tag.",
            ),
            Value(
                "pullPolicy",
                "",
                {"enum": ["", "Always", "IfNotPresent", "Never"]},
                "When to pull it; empty: Kubernetes' own default.",
            ),
            Value("pullSecrets", [], LIST, "Secrets of the registry: `- name: ...`."),
        ),
    ),
)
SCOPE = (
    Section(
        "scope",
        "Whose jobs are run. The rights follow: a ClusterRole for all namespaces, Roles otherwise.",
        (
            Value(
                "kind",
                "All",
                {"enum": ["All", "Own", "List"]},
                "All: of every namespace. Own: of the release's namespace. List: of `namespaces`.",
            ),
            Value("namespaces", [], NAMESPACES, "With List: the namespaces, which must exist."),
        ),
        SCOPE_RULE,
    ),
    Section("operator", "The operator's flags: docs/operator.md explains them.", flag_values()),
    Value(
        "extraArgs",
        [],
        {"type": "array", "items": {"type": "string", "pattern": "^--"}},
        "Further arguments, after those of `operator`.",
    ),
    Value("env", [], LIST, "Further environment variables of the operator."),
)
POD = (
    Value(
        "replicas",
        REPLICAS,
        {"type": "integer", "minimum": 1},
        "How many operators; one leads, and the others stand by.",
    ),
    Value("resources", RESOURCES, AMOUNTS, "What the container requests, and may take at most."),
    Value("annotations", {}, STRINGS, "Annotations of the Deployment."),
    Value("podAnnotations", {}, STRINGS, "Annotations of the pods."),
    Value("podLabels", {}, STRINGS, "Labels of the pods."),
    Value("nodeSelector", {}, STRINGS, "Labels that a node must have."),
    Value("tolerations", [], LIST, "Taints that a node may have."),
    Value("affinity", {}, MAP, "Rules about nodes and other pods."),
    Value("topologySpreadConstraints", [], LIST, "How replicas are spread over the cluster."),
    Value("priorityClassName", "", TEXT, "Priority of the pods."),
    Value(
        "podSecurityContext",
        POD_SECURITY_CONTEXT | SECCOMP,
        MAP,
        "Fits Pod Security `restricted`. Set runAsUser and runAsGroup to null on OpenShift.",
    ),
    Value("securityContext", SECURITY_CONTEXT, MAP, "The same of the container."),
    Section(
        "serviceAccount",
        "The account under which the operator runs.",
        (
            Value("create", True, SWITCH, "Create it; otherwise `name` is one that exists."),
            Value("name", "", TEXT, "Its name; empty: that of all objects."),
            Value("annotations", {}, STRINGS, "Its annotations."),
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
SURROUNDINGS = (
    Section(
        "userRoles",
        "What people may do with jobs.",
        (
            Value(
                "aggregate",
                True,
                SWITCH,
                "Add reading jobs to the ClusterRole view, and writing them to edit and admin.",
            ),
        ),
    ),
    Section(
        "crds",
        "The definition of PaddleJob, a template so that upgrades reach it.",
        (
            Value("install", True, SWITCH, "Install it with the release."),
            Value(
                "keep",
                True,
                SWITCH,
                "Keep it, and all jobs, when the release or its GitOps application goes.",
            ),
            Value("annotations", {}, STRINGS, "Further annotations of it."),
        ),
    ),
    Section(
        "metrics",
        "How Prometheus finds the operator, and what it needs to read it.",
        (
            Value(
                "secure",
                True,
                SWITCH,
                "Serve them by HTTPS, to those whose token may `get` /metrics: bind the "
                "ClusterRole whose name ends in -metrics-reader to the account of Prometheus.",
            ),
            Value(
                "certificateSecret",
                "",
                TEXT,
                "A Secret of type kubernetes.io/tls with the certificate, read again when it "
                "changes; empty: the operator makes one of its own.",
            ),
            Value(
                "tlsConfig",
                {"insecureSkipVerify": True},
                MAP,
                "Of ServiceMonitor and PodMonitor: how Prometheus checks the certificate. Nobody "
                "can check one that the operator has made.",
            ),
            Section(
                "tokenSecret",
                "Where Prometheus finds the token. A PodMonitor needs it.",
                (
                    Value("name", "", TEXT, "The Secret; empty: the account of Prometheus has it."),
                    Value("key", "token", TEXT, "Its key in it."),
                ),
            ),
            Section(
                "service",
                "The Service of /metrics.",
                (
                    Value("enabled", True, SWITCH, "Create it."),
                    Value("annotations", {}, STRINGS, "Its annotations."),
                ),
            ),
            monitor("serviceMonitor", "ServiceMonitor"),
            monitor("podMonitor", "PodMonitor"),
            Section(
                "prometheusRule",
                "The alerts of docs/alerts.md, as a PrometheusRule of the Prometheus operator.",
                (
                    Value("enabled", False, SWITCH, "Create it."),
                    Value(
                        "labels", {}, STRINGS, "Its labels, by which a Prometheus may select it."
                    ),
                    Value(
                        "runbook",
                        RUNBOOK,
                        TEXT | {"minLength": 1},
                        "Where that page can be read: the alerts link to paragraphs of it.",
                    ),
                ),
            ),
            Section(
                "dashboard",
                "The dashboard, as a ConfigMap that Grafana's sidecar finds.",
                (
                    Value("enabled", False, SWITCH, "Create it."),
                    Value(
                        "labels",
                        {"grafana_dashboard": "1"},
                        STRINGS,
                        "Its labels, by which the sidecar finds it.",
                    ),
                    Value("annotations", {}, STRINGS, "Its annotations, such as a folder's name."),
                ),
            ),
        ),
    ),
    Section(
        "flowSchema",
        "Puts the operator's Lease where its own creates cannot delay it.",
        (
            Value(
                "enabled",
                False,
                SWITCH,
                "Create a FlowSchema for the priority level leader-election (Kubernetes 1.29).",
            ),
        ),
    ),
    Section(
        "networkPolicy",
        "Who reaches the operator's ports. Probes come from nodes, and are let in.",
        (
            Value("enabled", False, SWITCH, "Create it."),
            Value("metricsFrom", [], LIST, "Peers that may read /metrics; empty: all."),
            Value("egress", [], LIST, "Rules of where it may connect to; empty: anywhere."),
        ),
    ),
    Section(
        "kueue",
        "Quota by Kueue: docs/kueue.md.",
        (Value("enabled", False, SWITCH, "Hold jobs with a queue's label until it admits them."),),
    ),
    Section(
        "elasticEtcd",
        "The meeting point of elastic jobs: docs/elastic.md.",
        (Value("namespaces", [], NAMESPACES, "The namespaces to have one; they must exist."),),
    ),
)
VALUES = (*NAMES, *SCOPE, *POD, *SURROUNDINGS)
