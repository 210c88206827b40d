"""Pods that wait for what will not come end the job; the wait for the ConfigMap does not."""

import pytest

from api.objects import Raw
from reconcile.startup_errors import find_startup_failure, seconds_to_startup_failure
from tests.memory.builders import a_job, a_pod, stamp, view_of

JOB = a_job().with_workers(1).build()


def config_map(seconds: float = 0.0) -> Raw:
    """The first attempt's ConfigMap, made so long after the beginning."""
    labels = {"batch.paddlepaddle.org/attempt": "1"}
    metadata = {"name": "train", "labels": labels, "creationTimestamp": stamp(seconds)}
    return {"metadata": metadata, "data": {}}


@pytest.mark.parametrize(
    ("reason", "message", "grace", "cause"),
    [
        pytest.param("InvalidImageName", "", 60, "ImageError", id="name"),
        pytest.param("ErrImageNeverPull", "", 60, "ImageError", id="never-pull"),
        pytest.param("ErrImagePull", "not found", 600, "ImageError", id="pull"),
        pytest.param("ImagePullBackOff", "", 600, "ImageError", id="pull-back-off"),
        pytest.param(
            "CreateContainerConfigError",
            "couldn't find key x in ConfigMap y",
            60,
            "ConfigError",
            id="key",
        ),
        pytest.param(
            "CreateContainerConfigError", 'secret "x" not found', 600, "ConfigError", id="object"
        ),
        pytest.param("CreateContainerError", "no command", 60, "ConfigError", id="container"),
    ],
)
def test_error_ends_the_job_after_its_grace(
    reason: str, message: str, grace: float, cause: str
) -> None:
    pod = a_pod(JOB).bound().waiting(reason, message)
    early = view_of(JOB, pod, seconds=grace - 1, config_maps=(config_map(),))
    assert find_startup_failure(early) is None
    assert seconds_to_startup_failure(early) == 1
    transition = find_startup_failure(view_of(JOB, pod, seconds=grace, config_maps=(config_map(),)))
    assert transition is not None
    condition = transition.status.condition("Failed")
    assert condition is not None
    assert condition.reason == cause
    assert condition.message.startswith(f"train-worker-0: {reason}")


@pytest.mark.parametrize(
    ("reason", "message", "maps"),
    [
        pytest.param("ContainerCreating", "", (), id="creating"),
        pytest.param("PodInitializing", "", (), id="initializing"),
        pytest.param("CrashLoopBackOff", "", (), id="back-off"),
        pytest.param(
            "CreateContainerConfigError", 'secret "x" not found', (), id="no-config-map-yet"
        ),
        pytest.param(
            "CreateContainerConfigError",
            'configmap "train" not found',
            (config_map(),),
            id="not-tried-since",
        ),
        pytest.param(
            "CreateContainerConfigError",
            "couldn't find key PADDLE_RENDEZVOUS_0123abcd_uid in ConfigMap default/train",
            (config_map(),),
            id="not-tried-since-the-namesake-went",
        ),
    ],
)
def test_normal_waits_never_end_a_job(reason: str, message: str, maps: tuple[Raw, ...]) -> None:
    pod = a_pod(JOB).bound().waiting(reason, message)
    view = view_of(JOB, pod, seconds=100_000, config_maps=maps)
    assert find_startup_failure(view) is None
    assert seconds_to_startup_failure(view) is None


def test_grace_counts_from_the_config_map() -> None:
    pod = a_pod(JOB).bound().waiting("CreateContainerConfigError", "couldn't find key x")
    maps = (config_map(1000),)
    assert find_startup_failure(view_of(JOB, pod, seconds=1059, config_maps=maps)) is None
    assert find_startup_failure(view_of(JOB, pod, seconds=1060, config_maps=maps)) is not None


def test_grace_counts_from_the_last_end_in_place() -> None:
    ended = {"terminated": {"exitCode": 1, "finishedAt": stamp(5000)}}
    pod = a_pod(JOB).bound().waiting("ErrImagePull").restarted(1).build()
    pod["status"]["containerStatuses"][0]["lastState"] = ended
    assert find_startup_failure(view_of(JOB, pod, seconds=5599)) is None
    assert find_startup_failure(view_of(JOB, pod, seconds=5600)) is not None


def test_error_of_any_container_counts() -> None:
    waiting = {"waiting": {"reason": "ContainerCreating"}}
    pod = a_pod(JOB).bound().waiting("InvalidImageName").with_container("logs", waiting)
    assert find_startup_failure(view_of(JOB, pod, seconds=60)) is not None


def test_pod_being_deleted_does_not_count() -> None:
    pod = a_pod(JOB).bound().waiting("InvalidImageName").deleting()
    assert find_startup_failure(view_of(JOB, pod, seconds=60)) is None
