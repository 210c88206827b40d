"""The chart's values, one by one: the only place where they are listed."""

from api.objects import Raw
from controller.options import MAX_READS
from manifests.alerts import LIMITS, RUNBOOK
from manifests.chart.flags import FLAG_ARGUMENT, NAMESPACE_PATTERN, flag_values
from manifests.chart.pod import POD
from manifests.chart.tree import Section, Value
from manifests.chart.types import (
    ANNOTATIONS,
    EGRESS,
    INTERVAL,
    LABELS,
    NAME_OR_EMPTY,
    OBJECT,
    PEER,
    RELABELING,
    SWITCH,
    TEXT,
    TLS,
    closed,
    listed,
    pod_schema,
)
from manifests.operator import (
    IMAGE,
    NAME,
)

NAMESPACES: Raw = {
    "type": "array",
    "uniqueItems": True,
    "items": {"type": "string", "pattern": NAMESPACE_PATTERN},
}
LISTED: Raw = {"properties": {"kind": {"const": "List"}}, "required": ["kind"]}
SCOPE_RULE: Raw = {
    # Helm takes a value away that is null, as one is after `namespaces:` with nothing below it.
    "required": ["kind"],
    "if": LISTED,
    "then": {"properties": {"namespaces": {"minItems": 1}}, "required": ["namespaces"]},
    "else": {"properties": {"namespaces": {"maxItems": 0}}},
}
ALERT_LIMITS: Raw = closed(**{name: {"type": "number", "minimum": 0} for name in LIMITS}) | {
    # One that is null is taken away by Helm.
    "required": [*LIMITS]
}
READS: Raw = {"type": "number", "exclusiveMinimum": 0, "maximum": MAX_READS}
REPOSITORY, _, TAG = IMAGE.partition(":")


def monitor(name: str, what: str) -> Section:
    """A ServiceMonitor or PodMonitor."""
    return Section(
        name,
        f"{what} of the Prometheus operator.",
        (
            Value("enabled", False, SWITCH, f"Create a {what}."),
            Value("labels", {}, LABELS, "Its labels, by which a Prometheus may select it."),
            Value("interval", "", INTERVAL, "How often to scrape; empty: Prometheus' own default."),
            Value("scrapeTimeout", "", INTERVAL, "For how long; empty: Prometheus' own default."),
            Value("relabelings", [], listed(RELABELING), "Relabelings of targets."),
            Value("metricRelabelings", [], listed(RELABELING), "Relabelings of samples."),
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
    Value("commonLabels", {}, LABELS, "Labels of all objects."),
    Section(
        "image",
        "The operator's image.",
        (
            Value(
                "registry",
                "",
                {"type": "string", "pattern": "^([^/@\\s]+(/[^:/@\\s]+)*)?$"},
                "Its registry, which is put before the repository; empty: the repository says it.",
            ),
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
            Value(
                "pullSecrets",
                [],
                pod_schema("imagePullSecrets"),
                "Secrets of the registry: `- name: ...`.",
            ),
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
        listed({"type": "string", "pattern": FLAG_ARGUMENT}),
        "Further arguments, after those of `operator`.",
    ),
)
SURROUNDINGS = (
    Section(
        "rbac",
        "The operator's own rights.",
        (
            Value(
                "create",
                True,
                SWITCH,
                "Create its roles and their bindings; otherwise they must be there.",
            ),
        ),
    ),
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
            Value("annotations", {}, ANNOTATIONS, "Further annotations of it."),
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
                NAME_OR_EMPTY,
                "A Secret of type kubernetes.io/tls with the certificate, read again when it "
                "changes; empty: the operator makes one of its own.",
            ),
            Value(
                "tlsConfig",
                {"insecureSkipVerify": True},
                TLS,
                "Of ServiceMonitor and PodMonitor: how Prometheus checks the certificate. Nobody "
                "can check one that the operator has made.",
            ),
            Section(
                "tokenSecret",
                "Where Prometheus finds the token. A PodMonitor needs it.",
                (
                    Value(
                        "name",
                        "",
                        NAME_OR_EMPTY,
                        "The Secret; empty: the account of Prometheus has it.",
                    ),
                    Value("key", "token", TEXT | {"minLength": 1}, "Its key in it."),
                ),
            ),
            Section(
                "service",
                "The Service of /metrics.",
                (
                    Value("enabled", True, SWITCH, "Create it."),
                    Value(
                        "type",
                        "ClusterIP",
                        {"enum": ["ClusterIP", "NodePort", "LoadBalancer"]},
                        "Who reaches it: the cluster, or others too.",
                    ),
                    Value("annotations", {}, ANNOTATIONS, "Its annotations."),
                ),
            ),
            monitor("serviceMonitor", "ServiceMonitor"),
            monitor("podMonitor", "PodMonitor"),
            Section(
                "prometheusRule",
                "The alerts of docs/alerts.md, as a PrometheusRule of the Prometheus operator.",
                (
                    Value("enabled", False, SWITCH, "Create it."),
                    Value("labels", {}, LABELS, "Its labels, by which a Prometheus may select it."),
                    Value(
                        "runbook",
                        RUNBOOK,
                        TEXT | {"minLength": 1},
                        "Where that page can be read: the alerts link to paragraphs of it.",
                    ),
                    Value(
                        "limits",
                        LIMITS,
                        ALERT_LIMITS,
                        "Above what each of these fires: seconds, shares of the passes "
                        "(…ReconcileErrors, …PassesLate), jobs in an hour (…Failing, …Fails), jobs "
                        "now (…Stalled, …WritesRefused), and restarts and Events in 15 minutes.",
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
                        LABELS,
                        "Its labels, by which the sidecar finds it.",
                    ),
                    Value(
                        "annotations", {}, ANNOTATIONS, "Its annotations, such as a folder's name."
                    ),
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
            Value("metricsFrom", [], listed(PEER), "Peers that may read /metrics; empty: all."),
            Value(
                "egress", [], listed(EGRESS), "Rules of where it may connect to; empty: anywhere."
            ),
        ),
    ),
    Section(
        "kueue",
        "Quota by Kueue: docs/kueue.md.",
        (Value("enabled", False, SWITCH, "Hold jobs with a queue's label until it admits them."),),
    ),
    Section(
        "progress",
        "The training's progress in the status: docs/progress.md.",
        (
            Value(
                "enabled", False, SWITCH, "Read the logs of running jobs, with a right to pods/log."
            ),
            Value("reads", 5, READS, "Logs read a second, of all jobs together."),
        ),
    ),
    Section(
        "elasticEtcd",
        "The meeting point of elastic jobs: docs/elastic.md.",
        (Value("namespaces", [], NAMESPACES, "The namespaces to have one; they must exist."),),
    ),
)
EXTRA = (
    Value(
        "extraObjects",
        [],
        listed(OBJECT),
        "Further objects of the release; templates in them are rendered.",
    ),
)
VALUES = (*NAMES, *SCOPE, *POD, *SURROUNDINGS, *EXTRA)
