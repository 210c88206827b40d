"""Containers, each as the fields beside name and image."""

from tests.pod_corpus.parts import (
    APPARMOR,
    FIELD,
    HTTP_GET,
    RESOURCE,
    SECCOMP,
    SELINUX,
    TIMING,
    WINDOWS,
    Raw,
)

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
