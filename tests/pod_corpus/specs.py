"""Pod specs: fields beside one container, and whole ones."""

from tests.pod_corpus.parts import (
    APPARMOR,
    NODE_TERM,
    POD_AFFINITY,
    SECCOMP,
    SELECTOR,
    SELINUX,
    WINDOWS,
    Raw,
)

PODS: dict[str, Raw] = {
    "names": {
        "hostname": "h",
        "subdomain": "s",
        "setHostnameAsFQDN": True,
        "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["a"]}, {"ip": "10.0.0.1"}],
    },
    "hostname-override": {"hostnameOverride": "other.example.com"},
    "dns": {
        "dnsPolicy": "None",
        "dnsConfig": {
            "nameservers": ["10.0.0.10"],
            "searches": ["svc.local"],
            "options": [{"name": "ndots", "value": "2"}, {"name": "edns0"}],
        },
    },
    "empty-strings": {"dnsPolicy": "", "schedulerName": "", "serviceAccountName": ""},
    "nulls": {
        "volumes": None,
        "nodeSelector": None,
        "affinity": None,
        "tolerations": None,
        "restartPolicy": None,
        "securityContext": None,
    },
    "host": {"hostNetwork": True, "hostPID": True, "hostIPC": True},
    "own-user-namespace": {"hostUsers": False},
    "share-processes": {"shareProcessNamespace": True, "enableServiceLinks": False},
    "node": {"nodeName": "node-1", "nodeSelector": {"accelerator": "nvidia-tesla-p100"}},
    "node-affinity": {
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [NODE_TERM]
                },
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 1, "preference": NODE_TERM},
                    {"weight": 1},
                ],
            }
        }
    },
    "pod-affinity": {"affinity": {"podAffinity": POD_AFFINITY}},
    "pod-anti-affinity": {"affinity": {"podAntiAffinity": POD_AFFINITY}},
    "tolerations": {
        "tolerations": [
            {"key": "gpu", "operator": "Equal", "value": "yes", "effect": "NoSchedule"},
            {"key": "gone", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60},
            {"operator": "Exists"},
        ]
    },
    "spread": {
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": SELECTOR,
                "minDomains": 2,
                "matchLabelKeys": ["rev"],
                "nodeAffinityPolicy": "Honor",
                "nodeTaintsPolicy": "Ignore",
            },
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"},
        ]
    },
    "gates": {"schedulingGates": [{"name": "example.com/hold"}], "schedulerName": "volcano"},
    "gang": {"schedulingGroup": {"podGroupName": "gang"}},
    "priority": {"priorityClassName": "system-cluster-critical"},
    "priority-zero": {"priority": 0, "preemptionPolicy": "PreemptLowerPriority"},
    "account": {
        "serviceAccountName": "default",
        "serviceAccount": "default",
        "automountServiceAccountToken": False,
        "imagePullSecrets": [{"name": "regcred"}, {"name": "regcred"}],
    },
    "runtime": {"runtimeClassName": "corpus", "overhead": {"cpu": "100m"}},
    "linux": {"os": {"name": "linux"}, "restartPolicy": "OnFailure"},
    "deadlines": {
        "activeDeadlineSeconds": 60,
        "terminationGracePeriodSeconds": 30,
        "restartPolicy": "Never",
    },
    "readiness-gates": {"readinessGates": [{"conditionType": "example.com/ready"}]},
    "resources": {
        "resources": {"requests": {"cpu": 1, "memory": "1Gi"}, "limits": {"cpu": 2.5}},
    },
    "security": {
        "securityContext": {
            "appArmorProfile": APPARMOR,
            "fsGroup": 1,
            "fsGroupChangePolicy": "OnRootMismatch",
            "runAsGroup": 1,
            "runAsNonRoot": True,
            "runAsUser": 1,
            "seLinuxChangePolicy": "Recursive",
            "seLinuxOptions": SELINUX,
            "seccompProfile": SECCOMP,
            "supplementalGroups": [1, 2],
            "supplementalGroupsPolicy": "Merge",
            "sysctls": [{"name": "net.ipv4.ip_local_port_range", "value": "1024 60999"}],
            "windowsOptions": WINDOWS,
        }
    },
    "sysctl-without-value": {"securityContext": {"sysctls": [{"name": "net.ipv4.tcp_syncookies"}]}},
}
"""A pod spec's own fields, by what they are about."""

WHOLE_PODS: dict[str, Raw] = {
    "mounts": {
        "containers": [
            {
                "name": "main",
                "image": "i",
                "volumeMounts": [
                    {"name": "v", "mountPath": "/a", "readOnly": True, "subPath": "s"},
                    {"name": "v", "mountPath": "/b", "subPathExpr": "$(HOSTNAME)"},
                    {"name": "v", "mountPath": "/c", "mountPropagation": "HostToContainer"},
                    {
                        "name": "v",
                        "mountPath": "/d",
                        "readOnly": True,
                        "recursiveReadOnly": "IfPossible",
                    },
                ],
                "volumeDevices": [{"name": "raw", "devicePath": "/dev/x"}],
            }
        ],
        "volumes": [
            {"name": "v", "emptyDir": {}},
            {"name": "raw", "persistentVolumeClaim": {"claimName": "raw"}},
        ],
    },
    "claims": {
        "resourceClaims": [
            {"name": "gpu", "resourceClaimName": "shared"},
            {"name": "nic", "resourceClaimTemplateName": "nics"},
        ],
        "containers": [
            {
                "name": "main",
                "image": "i",
                "resources": {"claims": [{"name": "gpu", "request": "one"}, {"name": "nic"}]},
            }
        ],
    },
    "env-file": {
        "containers": [
            {
                "name": "main",
                "image": "i",
                "env": [
                    {
                        "name": "E",
                        "valueFrom": {
                            "fileKeyRef": {
                                "volumeName": "v",
                                "path": "f.env",
                                "key": "K",
                                "optional": True,
                            }
                        },
                    }
                ],
            }
        ],
        "volumes": [{"name": "v", "emptyDir": {}}],
    },
    "restart-rules": {
        "restartPolicy": "Never",
        "containers": [
            {
                "name": "main",
                "image": "i",
                "restartPolicy": "Never",
                "restartPolicyRules": [
                    {"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}
                ],
            }
        ],
    },
    "stop-signal": {
        "os": {"name": "linux"},
        "containers": [{"name": "main", "image": "i", "lifecycle": {"stopSignal": "SIGUSR1"}}],
    },
    "token": {
        "serviceAccountName": "default",
        "containers": [{"name": "main", "image": "i"}],
        "volumes": [
            {
                "name": "v",
                "projected": {
                    "sources": [
                        {
                            "serviceAccountToken": {
                                "path": "token",
                                "audience": "a",
                                "expirationSeconds": 3600,
                            }
                        }
                    ]
                },
            }
        ],
    },
    "native-sidecar": {
        "initContainers": [
            {
                "name": "proxy",
                "image": "i",
                "restartPolicy": "Always",
                "lifecycle": {"preStop": {"sleep": {"seconds": 1}}},
                "startupProbe": {"exec": {"command": ["true"]}},
            }
        ],
        "containers": [{"name": "main", "image": "i"}],
    },
    "several-containers": {
        "containers": [{"name": "log", "image": "i"}, {"name": "paddle", "image": "i"}],
    },
}
"""Pod specs given whole."""
