"""Pods that an API server accepts, which between them set every field that a Pod has.

Each is small enough to read; `container_pods` and `volume_pods` make one of each entry in a
table. They name the RuntimeClass `corpus` and the ServiceAccount `default`.
"""

from collections.abc import Iterator
from typing import Any

Raw = dict[str, Any]

RUNTIME_CLASS: Raw = {
    "apiVersion": "node.k8s.io/v1",
    "kind": "RuntimeClass",
    "metadata": {"name": "corpus"},
    "handler": "runc",
    "overhead": {"podFixed": {"cpu": "100m"}},
}

SELECTOR: Raw = {
    "matchLabels": {"app": "train"},
    "matchExpressions": [{"key": "tier", "operator": "In", "values": ["a", "b"]}],
}
NODE_TERM: Raw = {
    "matchExpressions": [{"key": "gpu", "operator": "Gt", "values": ["1"]}],
    "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}],
}
POD_TERM: Raw = {
    "labelSelector": SELECTOR,
    "namespaceSelector": SELECTOR,
    "namespaces": ["default"],
    "topologyKey": "kubernetes.io/hostname",
    "matchLabelKeys": ["rev"],
    "mismatchLabelKeys": ["other"],
}
POD_AFFINITY: Raw = {
    "requiredDuringSchedulingIgnoredDuringExecution": [POD_TERM],
    "preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 100, "podAffinityTerm": POD_TERM}
    ],
}
HTTP_GET: Raw = {
    "host": "127.0.0.1",
    "path": "/ok",
    "port": "web",
    "scheme": "HTTP",
    "httpHeaders": [{"name": "X-A", "value": "1"}, {"name": "X-Empty"}],
}
TIMING: Raw = {
    "initialDelaySeconds": 1,
    "periodSeconds": 2,
    "timeoutSeconds": 1,
    "failureThreshold": 3,
    "successThreshold": 1,
}
SECCOMP: Raw = {"type": "Localhost", "localhostProfile": "profiles/a.json"}
APPARMOR: Raw = {"type": "Localhost", "localhostProfile": "a"}
SELINUX: Raw = {"user": "u", "role": "r", "type": "t", "level": "s0"}
WINDOWS: Raw = {
    "gmsaCredentialSpec": "{}",
    "gmsaCredentialSpecName": "gmsa",
    "hostProcess": False,
    "runAsUserName": "User",
}
FIELD: Raw = {"fieldPath": "metadata.name", "apiVersion": "v1"}
RESOURCE: Raw = {"containerName": "main", "resource": "limits.cpu", "divisor": "1m"}
ITEMS: list[Raw] = [{"key": "k", "path": "p", "mode": 0o400}]
DOWNWARD: list[Raw] = [
    {"path": "name", "fieldRef": FIELD, "mode": 0o400},
    {"path": "cpu", "resourceFieldRef": RESOURCE},
]

CONTAINERS: dict[str, Raw] = {
    "bare": {},
    "command": {"command": ["python"], "args": ["-c", "pass"], "workingDir": "/work"},
    "image-policy": {"imagePullPolicy": "IfNotPresent"},
    "empty-strings": {"imagePullPolicy": "", "terminationMessagePolicy": ""},
    "nulls": {"imagePullPolicy": None, "env": None, "resources": None, "command": None},
    "env": {
        "env": [
            {"name": "A", "value": "1"},
            {"name": "A", "value": "again"},
            {"name": "B", "value": "$(A)"},
            {"name": "EMPTY"},
            {"name": "F", "valueFrom": {"fieldRef": FIELD}},
            {"name": "R", "valueFrom": {"resourceFieldRef": RESOURCE}},
            {
                "name": "C",
                "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k", "optional": True}},
            },
            {
                "name": "S",
                "valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": True}},
            },
        ],
    },
    "env-from": {
        "envFrom": [
            {"prefix": "P_", "configMapRef": {"name": "c", "optional": True}},
            {"secretRef": {"name": "s", "optional": False}},
        ]
    },
    "ports": {
        "ports": [
            {"containerPort": 80, "name": "web", "protocol": "TCP"},
            {"containerPort": 80, "name": "again"},
            {"containerPort": 53, "protocol": "UDP", "hostPort": 5353, "hostIP": "127.0.0.1"},
            {"containerPort": 99, "protocol": ""},
        ]
    },
    "quantities": {
        "resources": {
            "requests": {"cpu": 0.5, "memory": "1Gi"},
            "limits": {"cpu": 1, "memory": 1073741824, "nvidia.com/gpu": 1},
        }
    },
    "quantity-forms": {
        "resources": {"limits": {"cpu": "1500m", "memory": "1.5e9", "ephemeral-storage": "10G"}}
    },
    "liveness-http": {
        "ports": [{"containerPort": 80, "name": "web"}],
        "livenessProbe": {"httpGet": HTTP_GET, **TIMING, "terminationGracePeriodSeconds": 5},
    },
    "liveness-exec": {"livenessProbe": {"exec": {"command": ["true"]}}},
    "liveness-grpc": {"livenessProbe": {"grpc": {"port": 80, "service": "s"}}},
    "liveness-tcp": {"livenessProbe": {"tcpSocket": {"host": "h", "port": 80}}},
    "readiness-http": {
        "ports": [{"containerPort": 80, "name": "web"}],
        "readinessProbe": {"httpGet": HTTP_GET, **TIMING},
    },
    "readiness-exec": {"readinessProbe": {"exec": {"command": ["true"]}}},
    "readiness-grpc": {"readinessProbe": {"grpc": {"port": 80, "service": ""}}},
    "readiness-tcp": {"readinessProbe": {"tcpSocket": {"host": "h", "port": "web"}}},
    "startup-http": {
        "startupProbe": {"httpGet": HTTP_GET, **TIMING, "terminationGracePeriodSeconds": 5}
    },
    "startup-exec": {"startupProbe": {"exec": {"command": ["true"]}}},
    "startup-grpc": {"startupProbe": {"grpc": {"port": 80, "service": "s"}}},
    "startup-tcp": {"startupProbe": {"tcpSocket": {"host": "h", "port": 80}}},
    "lifecycle-exec": {
        "lifecycle": {
            "postStart": {"exec": {"command": ["true"]}},
            "preStop": {"exec": {"command": ["true"]}},
        }
    },
    "lifecycle-http": {
        "lifecycle": {"postStart": {"httpGet": HTTP_GET}, "preStop": {"httpGet": HTTP_GET}}
    },
    "lifecycle-tcp": {
        "lifecycle": {
            "postStart": {"tcpSocket": {"host": "h", "port": 80}},
            "preStop": {"tcpSocket": {"host": "h", "port": 80}},
        }
    },
    "lifecycle-sleep": {
        "lifecycle": {"postStart": {"sleep": {"seconds": 1}}, "preStop": {"sleep": {"seconds": 0}}}
    },
    "terminal": {
        "stdin": True,
        "stdinOnce": True,
        "tty": True,
        "terminationMessagePath": "/dev/last",
        "terminationMessagePolicy": "FallbackToLogsOnError",
    },
    "security": {
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "appArmorProfile": APPARMOR,
            "capabilities": {"add": ["IPC_LOCK"], "drop": ["ALL"]},
            "privileged": False,
            "procMount": "Default",
            "readOnlyRootFilesystem": True,
            "runAsGroup": 1,
            "runAsNonRoot": True,
            "runAsUser": 1,
            "seLinuxOptions": SELINUX,
            "seccompProfile": SECCOMP,
            "windowsOptions": WINDOWS,
        }
    },
    "resize": {
        "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}],
    },
}
"""A container's fields, by what they are about; each works in an init container too, but for
what `NOT_IN_INIT` names."""

NOT_IN_INIT = ("livenessProbe", "readinessProbe", "startupProbe", "lifecycle")
"""Only native sidecars may have these among init containers."""

VOLUMES: dict[str, Raw] = {
    "empty-dir": {"emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
    "host-path": {"hostPath": {"path": "/data", "type": "DirectoryOrCreate"}},
    "host-path-any": {"hostPath": {"path": "/data", "type": ""}},
    "config-map": {
        "configMap": {"name": "c", "defaultMode": 0o644, "optional": True, "items": ITEMS}
    },
    "secret": {
        "secret": {"secretName": "s", "defaultMode": 0o600, "optional": True, "items": ITEMS}
    },
    "claim": {"persistentVolumeClaim": {"claimName": "data", "readOnly": True}},
    "nfs": {"nfs": {"server": "nas", "path": "/", "readOnly": False}},
    "downward": {"downwardAPI": {"defaultMode": 0o444, "items": DOWNWARD}},
    "projected": {
        "projected": {
            "defaultMode": 0o444,
            "sources": [
                {"configMap": {"name": "c", "optional": True, "items": ITEMS}},
                {"downwardAPI": {"items": DOWNWARD}},
            ],
        }
    },
    "projected-secret": {
        "projected": {"sources": [{"secret": {"name": "s", "optional": True, "items": ITEMS}}]}
    },
    "trust-bundle": {
        "projected": {
            "sources": [
                {
                    "clusterTrustBundle": {
                        "signerName": "example.com/signer",
                        "labelSelector": SELECTOR,
                        "optional": True,
                        "path": "ca.pem",
                    }
                },
                {"clusterTrustBundle": {"name": "bundle", "path": "other.pem"}},
            ]
        }
    },
    "certificate": {
        "projected": {
            "sources": [
                {
                    "podCertificate": {
                        "signerName": "example.com/signer",
                        "keyType": "ED25519",
                        "maxExpirationSeconds": 3600,
                        "credentialBundlePath": "bundle.pem",
                        "userAnnotations": {"example.com/a": "b"},
                    }
                },
                {
                    "podCertificate": {
                        "signerName": "example.com/signer",
                        "keyType": "ED25519",
                        "keyPath": "key.pem",
                        "certificateChainPath": "chain.pem",
                    }
                },
            ]
        }
    },
    "ephemeral": {
        "ephemeral": {
            "volumeClaimTemplate": {
                "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}},
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "1Gi"}, "limits": {"storage": "2Gi"}},
                    "selector": SELECTOR,
                    "storageClassName": "fast",
                    "volumeAttributesClassName": "gold",
                    "volumeMode": "Filesystem",
                    "dataSource": {"apiGroup": "x.io", "kind": "Snapshot", "name": "s"},
                    "dataSourceRef": {"apiGroup": "x.io", "kind": "Snapshot", "name": "s"},
                },
            }
        }
    },
    "image": {"image": {"reference": "data:v1", "pullPolicy": "IfNotPresent"}},
    "csi": {
        "csi": {
            "driver": "d.io",
            "fsType": "ext4",
            "readOnly": True,
            "nodePublishSecretRef": {"name": "s"},
            "volumeAttributes": {"a": "b"},
        }
    },
    "aws": {
        "awsElasticBlockStore": {
            "volumeID": "v",
            "fsType": "ext4",
            "partition": 1,
            "readOnly": True,
        }
    },
    "gce": {
        "gcePersistentDisk": {"pdName": "v", "fsType": "ext4", "partition": 1, "readOnly": True}
    },
    "azure-disk": {
        "azureDisk": {
            "diskName": "d",
            "diskURI": "https://blob/d.vhd",
            "cachingMode": "None",
            "fsType": "ext4",
            "kind": "Shared",
            "readOnly": True,
        }
    },
    "azure-file": {"azureFile": {"secretName": "s", "shareName": "f", "readOnly": True}},
    "cephfs": {
        "cephfs": {
            "monitors": ["m"],
            "path": "/",
            "user": "u",
            "secretFile": "/f",
            "secretRef": {"name": "s"},
            "readOnly": True,
        }
    },
    "rbd": {
        "rbd": {
            "monitors": ["m"],
            "image": "i",
            "fsType": "ext4",
            "pool": "p",
            "user": "u",
            "keyring": "/k",
            "secretRef": {"name": "s"},
            "readOnly": True,
        }
    },
    "cinder": {
        "cinder": {
            "volumeID": "v",
            "fsType": "ext4",
            "readOnly": True,
            "secretRef": {"name": "s"},
        }
    },
    "fc": {"fc": {"targetWWNs": ["5"], "lun": 1, "fsType": "ext4", "readOnly": True}},
    "fc-wwids": {"fc": {"wwids": ["3"]}},
    "flex": {
        "flexVolume": {
            "driver": "a/b",
            "fsType": "ext4",
            "readOnly": True,
            "options": {"a": "b"},
            "secretRef": {"name": "s"},
        }
    },
    "flocker": {"flocker": {"datasetName": "d"}},
    "flocker-id": {"flocker": {"datasetUUID": "u"}},
    "git": {"gitRepo": {"repository": "r", "revision": "v", "directory": "d"}},
    "gluster": {"glusterfs": {"endpoints": "e", "path": "p", "readOnly": True}},
    "iscsi": {
        "iscsi": {
            "targetPortal": "10.0.0.1:3260",
            "portals": ["10.0.0.2:3260"],
            "iqn": "iqn.2001-04.com.example:storage",
            "lun": 1,
            "iscsiInterface": "default",
            "initiatorName": "iqn.2001-04.com.example:client",
            "fsType": "ext4",
            "readOnly": True,
            "chapAuthDiscovery": True,
            "chapAuthSession": True,
            "secretRef": {"name": "s"},
        }
    },
    "photon": {"photonPersistentDisk": {"pdID": "p", "fsType": "ext4"}},
    "portworx": {"portworxVolume": {"volumeID": "v", "fsType": "ext4", "readOnly": True}},
    "quobyte": {
        "quobyte": {
            "registry": "r:7861",
            "volume": "v",
            "user": "u",
            "group": "g",
            "tenant": "t",
            "readOnly": True,
        }
    },
    "scale-io": {
        "scaleIO": {
            "gateway": "https://g",
            "system": "s",
            "secretRef": {"name": "s"},
            "sslEnabled": True,
            "protectionDomain": "d",
            "storagePool": "p",
            "storageMode": "ThinProvisioned",
            "volumeName": "v",
            "fsType": "xfs",
            "readOnly": True,
        }
    },
    "storage-os": {
        "storageos": {
            "volumeName": "v",
            "volumeNamespace": "n",
            "fsType": "ext4",
            "readOnly": True,
            "secretRef": {"name": "s"},
        }
    },
    "vsphere": {
        "vsphereVolume": {
            "volumePath": "[d] v",
            "fsType": "ext4",
            "storagePolicyName": "n",
            "storagePolicyID": "i",
        }
    },
}

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


def all_pods() -> dict[str, Raw]:
    """Every pod of the corpus by its name."""
    specs = dict(_all_specs())
    pods = {name: _pod(name, spec) for name, spec in specs.items()}
    pods["metadata"]["metadata"] |= {
        "labels": {"app": "train"},
        "annotations": {"a": "b", "empty": None},
        "creationTimestamp": None,
        "finalizers": ["example.com/keep"],
        "ownerReferences": [
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "name": "c",
                "uid": "u",
                "controller": False,
                "blockOwnerDeletion": False,
            }
        ],
    }
    return pods


def _all_specs() -> Iterator[tuple[str, Raw]]:
    main: Raw = {"name": "main", "image": "i"}
    yield "metadata", {"containers": [main]}
    for name, fields in CONTAINERS.items():
        yield f"container-{name}", {"containers": [main | fields]}
        if not fields.keys() & set(NOT_IN_INIT):
            init = {"name": "init", "image": "i", **fields}
            yield f"init-{name}", {"containers": [main], "initContainers": [init]}
        else:
            sidecar = {"name": "side", "image": "i", "restartPolicy": "Always", **fields}
            yield f"sidecar-{name}", {"containers": [main], "initContainers": [sidecar]}
    for name, source in VOLUMES.items():
        yield f"volume-{name}", {"containers": [main], "volumes": [{"name": "v", **source}]}
    for name, fields in PODS.items():
        yield f"pod-{name}", {"containers": [main]} | fields
    for name, spec in WHOLE_PODS.items():
        yield name, spec
        if "proxy" not in str(spec):
            yield f"{name}-init", _moved_to_init(spec)


def _moved_to_init(spec: Raw) -> Raw:
    """The same pod with its first container as an init container before another one."""
    first, *others = spec["containers"]
    if "lifecycle" in first:
        first = first | {"restartPolicy": "Always"}
    init = first | {"name": "first"}
    return spec | {
        "initContainers": [init],
        "containers": [*others, {"name": "last", "image": "i"}],
    }


def _pod(name: str, spec: Raw) -> Raw:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
