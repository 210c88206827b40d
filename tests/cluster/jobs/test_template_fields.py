"""What a pod template asks of nodes, volumes and registries reaches the pod untouched."""

from typing import Any

import pytest

from tests.live.lab import Lab, paddle_job

Raw = dict[str, Any]
SPEC: Raw = {
    "nodeSelector": {"accelerator": "nvidia-tesla-p100"},
    "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "accelerator", "operator": "Exists"}]}
                ]
            }
        }
    },
    "imagePullSecrets": [{"name": "default-secret"}],
    "volumes": [{"name": "dshm", "emptyDir": {"medium": "Memory"}}],
}
TRAINER: Raw = {
    "name": "paddle",
    "image": "busybox",
    "command": ["sh", "-c", "stat --file-system --format=%T /dev/shm"],
    "volumeMounts": [{"name": "dshm", "mountPath": "/dev/shm"}],
    "resources": {"limits": {"nvidia.com/gpu": 1}},
}
PASSED = [*(name for name in SPEC if name not in ("tolerations", "volumes"))]


@pytest.fixture(scope="module")
def pod(module_lab: Lab) -> Raw:
    """The pod of a completed job with this template."""
    template = {"spec": {**SPEC, "containers": [TRAINER]}}
    module_lab.submit(paddle_job("asks", {"worker": (1, template)}, cleanPodPolicy="Never"))
    module_lab.wait_completed("asks")
    return module_lab.pods("asks")[0]


@pytest.mark.parametrize("name", PASSED)
def test_field_reaches_the_pod(pod: Raw, name: str) -> None:
    assert pod["spec"][name] == SPEC[name]


@pytest.mark.parametrize("name", ["tolerations", "volumes"])
def test_list_reaches_the_pod_before_what_the_cluster_adds(pod: Raw, name: str) -> None:
    assert pod["spec"][name][: len(SPEC[name])] == SPEC[name]


def test_gpus_are_counted_by_the_scheduler(pod: Raw) -> None:
    limits = pod["spec"]["containers"][0]["resources"]["limits"]
    assert limits == {"nvidia.com/gpu": "1"}


def test_shared_memory_is_memory(module_lab: Lab, pod: Raw) -> None:
    assert module_lab.log(pod["metadata"]["name"]).strip() == "tmpfs"
