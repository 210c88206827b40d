"""Pods that an API server accepts, which between them set every field that a Pod has.

Each is small enough to read. They name the RuntimeClass `corpus` and the ServiceAccount `default`.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

Raw = dict[str, Any]
# Without YAML's anchors: each pod is its own.
CORPUS: Raw = json.loads(
    json.dumps(yaml.safe_load(Path(__file__).with_name("corpus.yaml").read_text()))
)
PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
PERIODS = {"initialDelaySeconds": 1, "periodSeconds": 2, "timeoutSeconds": 1, "failureThreshold": 3}
NOT_IN_INIT = {*PROBES, "lifecycle"}
"""Only native sidecars may have these among init containers."""
RUNTIME_CLASS: Raw = {
    "apiVersion": "node.k8s.io/v1",
    "kind": "RuntimeClass",
    "metadata": {"name": "corpus"},
    "handler": "runc",
    "overhead": {"podFixed": {"cpu": "100m"}},
}


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
    for name, fields in (CORPUS["containers"] | dict(_asked())).items():
        yield f"container-{name}", {"containers": [main | fields]}
        if not fields.keys() & NOT_IN_INIT:
            init = {"name": "init", "image": "i", **fields}
            yield f"init-{name}", {"containers": [main], "initContainers": [init]}
        else:
            sidecar = {"name": "side", "image": "i", "restartPolicy": "Always", **fields}
            yield f"sidecar-{name}", {"containers": [main], "initContainers": [sidecar]}
    for name, source in CORPUS["volumes"].items():
        yield f"volume-{name}", {"containers": [main], "volumes": [{"name": "v", **source}]}
    for name, fields in CORPUS["pods"].items():
        yield f"pod-{name}", {"containers": [main]} | fields
    for name, spec in CORPUS["whole"].items():
        yield name, spec
        if "proxy" not in str(spec):
            yield f"{name}-init", _moved_to_init(spec)


def _asked() -> Iterator[tuple[str, Raw]]:
    """Containers with each probe and each hook."""
    for name, handler in CORPUS["handlers"].items():
        for probe in PROBES if "sleep" not in handler else ():
            periods: Raw = PERIODS | {"successThreshold": 1} if name == "http" else {}
            if periods and probe != "readinessProbe":
                periods["terminationGracePeriodSeconds"] = 5
            yield f"{probe.lower()}-{name}", {probe: handler | periods}
        if "grpc" not in handler:
            yield f"lifecycle-{name}", {"lifecycle": {"postStart": handler, "preStop": handler}}


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
