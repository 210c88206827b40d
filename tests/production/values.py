"""Sets of values that people install with, each of them a whole values.yaml."""

from typing import Any

Raw = dict[str, Any]
DIGEST = "sha256:" + "0123456789abcdef" * 4
PEER = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}
SPREAD = {
    "maxSkew": 1,
    "topologyKey": "topology.kubernetes.io/zone",
    "whenUnsatisfiable": "ScheduleAnyway",
    "labelSelector": {"matchLabels": {"app.kubernetes.io/name": "paddlejob-operator"}},
}
APART = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {
                "topologyKey": "kubernetes.io/hostname",
                "labelSelector": SPREAD["labelSelector"],
            }
        ]
    }
}
FLAGS: Raw = {
    "kubeconfig": "/etc/kubeconfig",
    "workers": 16,
    "metricsBindAddress": "$(POD_IP):9090",
    "healthProbeBindAddress": ":8081",
    "leaderElect": True,
    "leaderElectionNamespace": "team-a",
    "leaderElectionId": "mine",
    "logFormat": "json",
    "logLevel": "debug",
    "scheduling": "volcano",
    "elasticServer": "etcd.infra:2379",
    "elasticTimeout": 999999,
    "forceDeleteAfter": 1.5,
    "configErrorAfter": 30,
    "imageErrorAfter": 86400,
    "hostPortRange": "40000-50000",
    "hostPortShare": 0.5,
}
TEAMS = ["team-a", "team-b"]
SETS: dict[str, Raw] = {
    "none": {},
    "own namespace": {"scope": {"kind": "Own"}},
    "list of namespaces": {"scope": {"kind": "List", "namespaces": TEAMS}},
    "image": {
        "image": {
            "repository": "registry.example.com:5000/platform/paddlejob-operator",
            "digest": DIGEST,
            "pullPolicy": "IfNotPresent",
            "pullSecrets": [{"name": "registry"}],
        }
    },
    "highly available": {
        "replicas": 3,
        "podDisruptionBudget": {"enabled": True},
        "topologySpreadConstraints": [SPREAD],
        "affinity": APART,
        "priorityClassName": "system-cluster-critical",
    },
    "placement": {
        "nodeSelector": {"kubernetes.io/os": "linux", "pool": "system"},
        "tolerations": [{"key": "pool", "operator": "Equal", "value": "system"}],
        "resources": {"requests": {"cpu": 1, "memory": "1Gi"}, "limits": {"memory": "4Gi"}},
    },
    "labels and annotations": {
        "commonLabels": {"team": "platform", "cost-center": "42"},
        "podLabels": {"sidecar.istio.io/inject": "false"},
        "podAnnotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"},
        "annotations": {"reloader": "on"},
        "serviceAccount": {"annotations": {"owner": "platform"}},
        "env": [{"name": "PADDLEJOB_LOG_LEVEL", "value": "debug"}],
        "extraArgs": ["--log-format=json"],
    },
    "every flag": {"operator": FLAGS},
    "closed network": {
        "networkPolicy": {
            "enabled": True,
            "metricsFrom": [PEER],
            "egress": [{"ports": [{"port": 443}, {"port": 6443}]}],
        },
        "podDisruptionBudget": {"enabled": True, "minAvailable": "50%"},
    },
    "ServiceMonitor": {
        "metrics": {
            "serviceMonitor": {
                "enabled": True,
                "interval": "30s",
                "scrapeTimeout": "10s",
                "labels": {"release": "prometheus"},
                "relabelings": [{"action": "labeldrop", "regex": "pod"}],
                "metricRelabelings": [
                    {"action": "drop", "sourceLabels": ["__name__"], "regex": "python_.*"}
                ],
            }
        }
    },
    "PodMonitor": {
        "metrics": {
            "service": {"enabled": False},
            "podMonitor": {"enabled": True},
            "tokenSecret": {"name": "prometheus-token"},
        },
    },
    "certificate": {
        "metrics": {
            "certificateSecret": "metrics-tls",
            "tlsConfig": {
                "ca": {"secret": {"name": "metrics-tls", "key": "ca.crt"}},
                "serverName": "paddle-controller-manager-metrics.paddle-system.svc",
            },
            "serviceMonitor": {"enabled": True},
        },
    },
    "monitoring": {
        "metrics": {
            "prometheusRule": {
                "enabled": True,
                "labels": {"release": "prometheus"},
                "runbook": "https://docs.example.com/alerts",
            },
            "dashboard": {"enabled": True, "annotations": {"grafana_folder": "Training"}},
        },
        "flowSchema": {"enabled": True},
    },
    "open metrics": {
        "metrics": {"secure": False, "podMonitor": {"enabled": True}},
        "userRoles": {"aggregate": False},
    },
    "elastic jobs": {"elasticEtcd": {"namespaces": TEAMS}, "scope": {"kind": "Own"}},
    "with less": {
        "crds": {"install": False},
        "userRoles": {"aggregate": False},
        "serviceAccount": {"create": False, "name": "default"},
        "operator": {"leaderElect": False, "metricsBindAddress": "0"},
        "metrics": {"service": {"enabled": False}},
    },
    "OpenShift": {
        "fullnameOverride": "",
        "podSecurityContext": {"runAsUser": None, "runAsGroup": None},
    },
}
WRONG: dict[str, tuple[Raw, str]] = {
    "an unknown value": ({"replicaCount": 2}, "replicaCount"),
    "an unknown flag": ({"operator": {"worker": 2}}, "worker"),
    "too many workers": ({"operator": {"workers": 900}}, "workers"),
    "workers in words": ({"operator": {"workers": "many"}}, "workers"),
    "a level that is none": ({"operator": {"logLevel": "loud"}}, "logLevel"),
    "no replicas": ({"replicas": 0}, "replicas"),
    "many that all write": (
        {"replicas": 2, "operator": {"leaderElect": False}},
        "more than one needs operator.leaderElect",
    ),
    "a monitor of a Service that is not there": (
        {"metrics": {"service": {"enabled": False}, "serviceMonitor": {"enabled": True}}},
        "metrics.serviceMonitor",
    ),
    "a monitor of metrics that are off": (
        {
            "operator": {"metricsBindAddress": "0"},
            "metrics": {"serviceMonitor": {"enabled": True}},
        },
        "operator.metricsBindAddress",
    ),
    "a PodMonitor without a token": (
        {"metrics": {"podMonitor": {"enabled": True}}},
        "metrics.tokenSecret",
    ),
    "a certificate for nobody": (
        {"metrics": {"secure": False, "certificateSecret": "tls"}},
        "metrics.certificateSecret",
    ),
    "an empty list of namespaces": ({"scope": {"kind": "List"}}, "namespaces"),
    "a list with nothing below it": ({"scope": {"kind": "List", "namespaces": None}}, "namespaces"),
    "a scope with nothing below it": ({"scope": {"kind": None}}, "kind"),
    "a list that does not count": ({"scope": {"namespaces": ["team-a"]}}, "namespaces"),
    "a namespace twice": (
        {"scope": {"kind": "List", "namespaces": ["team-a", "team-a"]}},
        "namespaces",
    ),
    "no name of a namespace": ({"scope": {"kind": "List", "namespaces": ["A_b"]}}, "namespaces"),
    "a scope that is none": ({"scope": {"kind": "Cluster"}}, "scope"),
    "a digest that is none": ({"image": {"digest": "sha256:1"}}, "digest"),
    "no image": ({"image": {"repository": ""}}, "repository"),
    "a tag where it does not belong": ({"image": {"repository": "r.io:5000/x:1"}}, "repository"),
    "a tag that is none": ({"image": {"tag": "1.0 beta"}}, "tag"),
    "a label that selects the pods": (
        {"commonLabels": {"app.kubernetes.io/instance": "x"}},
        "commonLabels: app.kubernetes.io/instance",
    ),
    "such a label of the pods": (
        {"podLabels": {"app.kubernetes.io/name": "x"}},
        "podLabels: app.kubernetes.io/name",
    ),
    "a policy that is none": ({"image": {"pullPolicy": "Sometimes"}}, "pullPolicy"),
    "a switch in words": ({"crds": {"install": "yes"}}, "install"),
    "a label that is no text": ({"commonLabels": {"replicated": True}}, "replicated"),
    "an account without a name": ({"serviceAccount": {"create": False}}, "serviceAccount"),
    "arguments that are none": ({"extraArgs": ["workers=2"]}, "extraArgs"),
    "resources with a slip": ({"resources": {"request": {"cpu": 1}}}, "request"),
    "an amount that is none": ({"resources": {"limits": {"memory": "1GB"}}}, "memory"),
    "half a budget": (
        {"podDisruptionBudget": {"enabled": True, "minAvailable": "half"}},
        "minAvailable",
    ),
}
