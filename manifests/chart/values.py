"""The chart's values. flags.py adds those of the operator's flags, pod.py those of its pods."""

from api.objects import Raw
from controller.options import MAX_READS
from manifests.alerts import LIMITS, RUNBOOK
from manifests.chart.etcd import ETCD, image
from manifests.chart.flags import FLAG_ARGUMENT, flag_values
from manifests.chart.pod import POD
from manifests.chart.tree import Section, Value
from manifests.chart.types import (
    ANNOTATIONS,
    EGRESS,
    INTERVAL,
    LABELS,
    NAME_OR_EMPTY,
    NAMESPACE_OR_EMPTY,
    NAMESPACES,
    OBJECT,
    PEER,
    RELABELING,
    RIGHTS,
    RULE,
    SWITCH,
    TEXT,
    TLS,
    closed,
    listed,
    pod_schema,
    whole,
)
from manifests.operator import (
    IMAGE,
    METRICS_PORT,
    NAME,
)

LISTED: Raw = {"properties": {"kind": {"const": "List"}}, "required": ["kind"]}
SCOPE_RULE: Raw = {
    # Helm removes a value that is null, such as `namespaces:` with nothing below it.
    "required": ["kind"],
    "if": LISTED,
    "then": {"properties": {"namespaces": {"minItems": 1}}, "required": ["namespaces"]},
    "else": {"properties": {"namespaces": {"maxItems": 0}}},
}
ALERT_LIMITS: Raw = closed(**{name: {"type": "number", "minimum": 0} for name in LIMITS}) | {
    # Helm removes a limit that is null.
    "required": [*LIMITS]
}
READS: Raw = {"type": "number", "exclusiveMinimum": 0, "maximum": MAX_READS}
REPOSITORY, _, TAG = IMAGE.partition(":")
ELSEWHERE = Value("namespace", "", NAMESPACE_OR_EMPTY, "Its namespace; empty: the operator's.")


def monitor(name: str, what: str) -> Section:
    """The values of a ServiceMonitor or PodMonitor."""
    return Section(
        name,
        f"{what} of the Prometheus operator.",
        (
            Value("enabled", False, SWITCH, f"Create a {what}."),
            Value("labels", {}, LABELS, "Its labels, by which Prometheus can select it."),
            Value("interval", "", INTERVAL, "How often to scrape; empty: Prometheus' own default."),
            Value(
                "scrapeTimeout",
                "",
                INTERVAL,
                "Timeout of a scrape; empty: Prometheus' own default.",
            ),
            ELSEWHERE,
            Value("relabelings", [], listed(RELABELING), "Relabelings of targets."),
            Value("metricRelabelings", [], listed(RELABELING), "Relabelings of samples."),
        ),
    )


NAMES = (
    Value(
        "nameOverride",
        "",
        {"type": "string", "pattern": "^([a-z]([-a-z0-9]{0,38}[a-z0-9])?)?$"},
        "The end of the name of all objects, after the release's, unless `fullnameOverride` is set "
        "to another name; empty: `fullnameOverride`. Labels stay: tools find the operator by them.",
    ),
    Value(
        "namespaceOverride",
        "",
        NAMESPACE_OR_EMPTY,
        "The namespace of all objects, which must exist; empty: the release's.",
    ),
    Section(
        "global",
        "Values that Helm hands to all charts of a chart with several.",
        (
            Value(
                "imagePullSecrets",
                [],
                listed({"anyOf": [TEXT, pod_schema("imagePullSecrets", "*")]}),
                "Secrets with the login to registries, before those of `image.pullSecrets`: "
                "`- name: ...`, or only names.",
            ),
        ),
        {"additionalProperties": True},
    ),
    Value(
        "fullnameOverride",
        NAME,
        {"type": "string", "maxLength": 40, "pattern": "^([a-z]([-a-z0-9]*[a-z0-9])?)?$"},
        "Name of all objects. It does not depend on the release, so Helm itself refuses a second "
        "release with permissions in the same place. Empty: made from the release's name.",
    ),
    Value("commonLabels", {}, LABELS, "Labels of all objects."),
    image("The operator's image.", REPOSITORY, "the chart's appVersion"),
)
SCOPE = (
    Section(
        "scope",
        "The namespaces whose jobs are run. They determine the permissions: a ClusterRole for all "
        "namespaces, Roles otherwise.",
        (
            Value(
                "kind",
                "All",
                {"enum": ["All", "Own", "List"]},
                "All: all jobs. Own: jobs of the release's namespace. List: jobs of `namespaces`.",
            ),
            Value("namespaces", [], NAMESPACES, "With List: the namespaces, which must exist."),
        ),
        SCOPE_RULE,
    ),
    Section(
        "operator",
        "The operator's flags: docs/reference.md lists them, docs/operator.md says more.",
        flag_values(),
    ),
    Value(
        "extraArgs",
        [],
        listed({"type": "string", "pattern": FLAG_ARGUMENT}),
        "More arguments, after those of `operator`.",
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
                "Create its roles and their bindings; otherwise they must exist.",
            ),
            Value(
                "additionalRules",
                [],
                RIGHTS,
                "More rules of its role, in each place where it has that role.",
            ),
        ),
    ),
    Section(
        "userRoles",
        "Permissions of users on jobs.",
        (
            Value(
                "aggregate",
                True,
                SWITCH,
                "Allow users with the ClusterRole `view` to read jobs, and users with `edit` or "
                "`admin` to write them.",
            ),
        ),
    ),
    Section(
        "crds",
        "The CRD of PaddleJob: a template of the chart, so that upgrades change it too.",
        (
            Value("install", True, SWITCH, "Install it with the release."),
            Value(
                "keep",
                True,
                SWITCH,
                "Keep it, and all jobs, when the release or its GitOps application is deleted.",
            ),
            Value("annotations", {}, ANNOTATIONS, "More annotations of the CRD."),
        ),
    ),
    Section(
        "metrics",
        "How Prometheus finds the operator, and who is allowed to read its metrics.",
        (
            Value(
                "secure",
                True,
                SWITCH,
                "Serve /metrics by HTTPS, only to accounts that are allowed to `get` it: bind the "
                "ClusterRole whose name ends in -metrics-reader to the account of Prometheus.",
            ),
            Value(
                "certificateSecret",
                "",
                NAME_OR_EMPTY,
                "A Secret of type kubernetes.io/tls with the certificate, read again when it "
                "changes; empty: the operator makes a self-signed one.",
            ),
            Value(
                "tlsConfig",
                {"insecureSkipVerify": True},
                TLS,
                "TLS of ServiceMonitor and PodMonitor: how Prometheus checks the certificate. A "
                "self-signed one cannot be checked.",
            ),
            Section(
                "tokenSecret",
                "Where Prometheus finds the token. A PodMonitor needs it.",
                (
                    Value(
                        "name",
                        "",
                        NAME_OR_EMPTY,
                        "The Secret; empty: Prometheus uses the token of its own account.",
                    ),
                    Value(
                        "key", "token", TEXT | {"minLength": 1}, "The token's key in the Secret."
                    ),
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
                        "Type of the Service: reachable in the cluster only, or from outside too.",
                    ),
                    Value("annotations", {}, ANNOTATIONS, "Its annotations."),
                    Value("labels", {}, LABELS, "Its labels."),
                    Value("port", METRICS_PORT, whole(1) | {"maximum": 65535}, "Its port."),
                ),
            ),
            monitor("serviceMonitor", "ServiceMonitor"),
            monitor("podMonitor", "PodMonitor"),
            Section(
                "prometheusRule",
                "The alerts of docs/alerts.md, as a PrometheusRule of the Prometheus operator.",
                (
                    Value("enabled", False, SWITCH, "Create it."),
                    Value("labels", {}, LABELS, "Its labels, by which Prometheus can select it."),
                    Value(
                        "runbook",
                        RUNBOOK,
                        TEXT | {"minLength": 1},
                        "The address of docs/alerts.md: each alert links to its paragraph there.",
                    ),
                    Value(
                        "limits",
                        LIMITS,
                        ALERT_LIMITS,
                        "The limit above which each alert fires: seconds, shares of the passes "
                        "(…ReconcileErrors, …PassesLate), jobs in an hour (…Failing, …Fails), jobs "
                        "now (…Stalled, …OnLostNodes, …WritesRefused), and restarts and Events in "
                        "15 minutes.",
                    ),
                    ELSEWHERE,
                    Value(
                        "additionalRules",
                        [],
                        listed(RULE),
                        "More alerts and recorded metrics, as in a file of Prometheus' rules.",
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
                    ELSEWHERE,
                ),
            ),
        ),
    ),
    Section(
        "flowSchema",
        "A FlowSchema for requests about the Lease, so that the operator's creates cannot delay "
        "them.",
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
        "Who is allowed to connect to the operator's ports. The port of the probes is open to all, "
        "because they come from nodes.",
        (
            Value("enabled", False, SWITCH, "Create it."),
            Value(
                "metricsFrom",
                [],
                listed(PEER),
                "Peers that are allowed to read /metrics; empty: all.",
            ),
            Value(
                "egress",
                [],
                listed(EGRESS),
                "Egress rules: where the operator is allowed to connect to; empty: anywhere.",
            ),
        ),
    ),
    Section(
        "kueue",
        "Quota by Kueue: docs/kueue.md.",
        (
            Value(
                "enabled", False, SWITCH, "Hold jobs with a queue's label until Kueue admits them."
            ),
        ),
    ),
    Section(
        "progress",
        "The training's progress in the status: docs/progress.md.",
        (
            Value(
                "enabled",
                False,
                SWITCH,
                "Read the logs of running jobs. This grants the permission for pods/log.",
            ),
            Value("reads", 5, READS, "Logs read per second, for all jobs together."),
        ),
    ),
    ETCD,
)
EXTRA = (
    Value(
        "extraObjects",
        [],
        listed(OBJECT),
        "More objects of the release; templates in them are rendered.",
    ),
)
VALUES = (*NAMES, *SCOPE, *POD, *SURROUNDINGS, *EXTRA)
