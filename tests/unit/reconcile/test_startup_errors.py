"""Pods that wait for what will not come end the job; the wait for the ConfigMap does not."""

import copy

import pytest

from api.objects import Raw
from api.status import JobCondition
from reconcile.children.startup_errors import await_startup
from reconcile.model.hold import Hold
from reconcile.model.move import Move
from reconcile.model.view import View
from tests.memory.builders import a_config_map, a_job, a_pod, plan_of, stamp, status_of, view_of

JOB = a_job().with_workers(1).build()
CONFIG, IMAGE = "(--config-error-after)", "(--image-error-after)"


def told(reason: str, flag: str, since: float = 0.0, says: str = "train-worker-0: x") -> Raw:
    """A job whose status has told of such an error since then."""
    raw = a_job().with_workers(1).with_condition("Pending", True, since, reason).build()
    grace = {"cause": says, "grace": flag.strip("()"), "since": stamp(since)}
    raw["status"]["waiting"] = grace | {"child": "train-worker-0"}
    return raw


def end_of(view: View) -> Move | None:
    """The end of a job with a pod past its grace."""
    answer = await_startup(view)
    return answer if isinstance(answer, Move) else None


def failed(view: View) -> JobCondition:
    end = end_of(view)
    assert end is not None
    condition = end.status.condition("Failed")
    assert condition is not None
    return condition


def wait_of(view: View) -> Hold:
    """The wait of a job whose pods are all within their grace."""
    answer = await_startup(view)
    assert isinstance(answer, Hold)
    return answer


GRACES = {
    "name": ("InvalidImageName", "", 60, "ImageError"),
    "never-pull": ("ErrImageNeverPull", "", 60, "ImageError"),
    "pull": ("ErrImagePull", "not found", 600, "ImageError"),
    "pull-back-off": ("ImagePullBackOff", "", 600, "ImageError"),
    "key": ("CreateContainerConfigError", "couldn't find key x in ConfigMap y", 60, "ConfigError"),
    "object": ("CreateContainerConfigError", 'secret "x" not found', 600, "ConfigError"),
    "container": ("CreateContainerError", "no command", 60, "ConfigError"),
    "root": (
        "CreateContainerConfigError",
        "container has runAsNonRoot and image will run as root (pod: ...)",
        60,
        "ConfigError",
    ),
    "root-user": (
        "CreateContainerConfigError",
        "container's runAsUser breaks non-root policy (pod: ...)",
        60,
        "ConfigError",
    ),
    "no-program": (
        "RunContainerError",
        'OCI runtime create failed: runc create failed: unable to start container process: exec: "'
        'trian": executable file not found in $PATH: unknown',
        60,
        "ConfigError",
    ),
    "no-path": (
        "RunContainerError",
        'unable to start container process: exec: "/x": stat /x: no such file or directory',
        60,
        "ConfigError",
    ),
    "hook": (
        "RunContainerError",
        "unable to start container process: error running hook #0: "
        'exec: "ldconfig": executable file not found in $PATH',
        600,
        "ConfigError",
    ),
    "no-program-of-the-nodes": (
        "CreateContainerError",
        'get apparmor_parser version: exec: "apparmor_parser": executable file not found in $PATH',
        600,
        "ConfigError",
    ),
    "no-such-user": ("CreateContainerError", "mount callback: no users found", 60, "ConfigError"),
    "slow-disk": ("CreateContainerError", "context deadline exceeded", 600, "ConfigError"),
    "reserved": ("CreateContainerError", "failed to reserve container name", 600, "ConfigError"),
    "cache": ("CreateContainerConfigError", "failed to sync secret cache", 600, "ConfigError"),
    "sub-path": (
        "CreateContainerConfigError",
        "failed to create subPath directory for volumeMount: no such file or directory",
        600,
        "ConfigError",
    ),
    "hook-of-a-container": ("PostStartHookError", "timed out", 600, "ConfigError"),
    "unheard-of": ("WarpCoreOffline", "dilithium", 600, "ConfigError"),
    "inspect": ("ImageInspectError", "context deadline exceeded", 600, "ImageError"),
    "registry": ("RegistryUnavailable", "503", 600, "ImageError"),
    "signature": ("SignatureValidationFailed", "no signature", 600, "ImageError"),
    "volume-of-an-image": ("ImageVolumeMountFailed", "...", 600, "ImageError"),
    "no-name-of-an-image": ("ErrImagePull", "invalid reference format", 60, "ImageError"),
}


@pytest.mark.parametrize(("reason", "message", "grace", "cause"), GRACES.values(), ids=GRACES)
def test_error_ends_the_job_after_its_grace(reason, message, grace, cause):
    pod = a_pod(JOB).bound().waiting(reason, message)
    job = told(cause, IMAGE if grace == 600 else CONFIG)
    early = view_of(job, pod, seconds=grace - 1, config_maps=(a_config_map(),))
    assert end_of(early) is None
    assert wait_of(early).seconds == 1
    condition = failed(view_of(job, pod, seconds=grace, config_maps=(a_config_map(),)))
    assert condition.reason == cause
    assert condition.message.startswith(f"train-worker-0: {reason}")


NORMAL_WAITS = {
    "creating": ("ContainerCreating", "", ()),
    "initializing": ("PodInitializing", "", ()),
    "back-off": ("CrashLoopBackOff", "", ()),
    "no-config-map-yet": ("CreateContainerConfigError", 'configmap "train" not found', ()),
    "anothers-config-map": (
        "CreateContainerConfigError",
        "couldn't find key PADDLE_RENDEZVOUS_0123abcd_uid in ConfigMap default/train",
        (),
    ),
    "not-tried-since": (
        "CreateContainerConfigError",
        'configmap "train" not found',
        (a_config_map(),),
    ),
}


@pytest.mark.parametrize(("reason", "message", "maps"), NORMAL_WAITS.values(), ids=NORMAL_WAITS)
def test_normal_waits_never_end_a_job(reason, message, maps):
    pod = a_pod(JOB).bound().waiting(reason, message)
    view = view_of(JOB, pod, seconds=100_000, config_maps=maps)
    assert await_startup(view) is None


OTHERS = {
    "secret": 'secret "train" not found',
    "config-map": 'configmap "settings" not found',
    "similar-name": 'configmap "train-2" not found',
    "key": "couldn't find key x in ConfigMap default/settings",
}


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("maps", [(), (a_config_map(),)], ids=["no-map", "map"])
def test_only_the_attempts_own_config_map_is_expected(text, maps):
    pod = a_pod(JOB).bound().waiting("CreateContainerConfigError", text)
    assert wait_of(view_of(JOB, pod, config_maps=maps)).reason == "ConfigError"


def test_elastic_job_awaits_no_config_map_of_its_own():
    job = a_job().with_elastic_workers(2, 1, 3).build()
    text = 'configmap "train" not found'
    pod = a_pod(job).bound().waiting("CreateContainerConfigError", text)
    assert wait_of(view_of(job, pod)).reason == "ConfigError"


@pytest.mark.parametrize("kind", ["with_init_container", "with_container"])
def test_other_container_that_cannot_start_is_named(kind):
    state = {"waiting": {"reason": "CreateContainerError", "message": "no device"}}
    pod = getattr(a_pod(JOB).bound().waiting("PodInitializing"), kind)("logs", state)
    wait = wait_of(view_of(JOB, pod))
    assert (wait.reason, wait.seconds) == ("ConfigError", 600)
    assert wait.cause == "train-worker-0 (logs): CreateContainerError: no device"


def test_error_that_cannot_heal_is_told_before_one_that_can():
    state = {"waiting": {"reason": "ErrImagePull", "message": "503"}}
    pod = a_pod(JOB).bound().waiting("InvalidImageName", "no").with_init_container("logs", state)
    wait = wait_of(view_of(JOB, pod))
    assert (wait.seconds, wait.state) == (60, "InvalidImageName")


@pytest.mark.parametrize("code", [None, 0], ids=["runs", "has-ended"])
def test_sidecar_does_not_end_a_pod_whose_trainer_has_started(code):
    state = {"waiting": {"reason": "InvalidImageName", "message": "no"}}
    pod = a_pod(JOB).running() if code is None else a_pod(JOB).ended(code)
    view = view_of(told("ImageError", CONFIG), pod.with_container("logs", state), seconds=60)
    assert await_startup(view) is None


def test_grace_counts_from_the_config_map():
    pod = a_pod(JOB).bound().waiting("CreateContainerConfigError", "couldn't find key x")
    maps, job = (a_config_map(1000),), told("ConfigError", CONFIG)
    assert end_of(view_of(job, pod, seconds=1059, config_maps=maps)) is None
    assert end_of(view_of(job, pod, seconds=1060, config_maps=maps)) is not None


def test_error_of_a_pod_that_no_scheduler_has_bound_is_told_once():
    """With spec.nodeName in the template, some nodes set no condition PodScheduled."""
    pod = a_pod(JOB).waiting("InvalidImageName", "no").build()
    pod["spec"]["nodeName"] = "node-1"
    first = view_of(told("ImageError", CONFIG), pod, seconds=30)
    later = view_of(told("ImageError", CONFIG), pod, seconds=50)
    assert wait_of(first).message == wait_of(later).message
    assert end_of(view_of(first.observed.job, pod, seconds=60)) is not None


@pytest.mark.parametrize(
    ("reason", "message", "grace", "cause"),
    [
        pytest.param("ErrImagePull", "unexpected EOF", 600, "ImageError", id="pull"),
        pytest.param("CreateContainerError", "no command", 60, "ConfigError", id="container"),
    ],
)
def test_grace_counts_from_when_the_job_first_tells_of_the_error(reason, message, grace, cause):
    """A large image was pulled for longer than the grace."""
    pod, maps = a_pod(JOB).bound().waiting(reason, message), (a_config_map(),)
    view = view_of(JOB, pod, seconds=3000, config_maps=maps)
    assert end_of(view) is None
    assert wait_of(view).seconds == grace
    job = copy.deepcopy(JOB)
    job["status"] = status_of(plan_of(view))
    assert job["status"]["reason"] == cause
    early = view_of(job, pod, seconds=3000 + grace - 1, config_maps=maps)
    assert end_of(early) is None
    late = view_of(job, pod, seconds=3000 + grace, config_maps=maps)
    assert end_of(late) is not None, "however often the operator starts anew"


@pytest.mark.parametrize(
    "job",
    [
        pytest.param(told("WaitingForPods", ""), id="another-wait"),
        pytest.param(told("ConfigError", IMAGE), id="another-error"),
        pytest.param(told("ImageError", CONFIG), id="another-grace"),
    ],
)
def test_what_the_job_told_of_before_does_not_count(job):
    pod = a_pod(JOB).bound().waiting("ErrImagePull")
    view = view_of(job, pod, seconds=3000)
    assert end_of(view) is None
    assert wait_of(view).seconds == 600
    conditions = status_of(plan_of(view))["conditions"]
    (pending,) = [each for each in conditions if each["type"] == "Pending"]
    assert pending["lastTransitionTime"] == stamp(3000)


def test_the_error_that_ends_the_job_first_is_told():
    job = a_job().with_workers(3).build()
    texts = ("ErrImagePull", ""), ("InvalidImageName", "no"), ("ErrImagePull", "")
    pods = [a_pod(job, index=i).bound().waiting(*texts[i]) for i in range(3)]
    wait = wait_of(view_of(job, *pods))
    assert wait.cause + wait.more == "train-worker-1: InvalidImageName: no (and 2 more)"
    assert wait.next_step.endswith(f"this job fails at 03:05:05Z {CONFIG}")


def test_grace_counts_from_the_last_end_in_place():
    ended = {"terminated": {"exitCode": 1, "finishedAt": stamp(5000)}}
    pod = a_pod(JOB).bound().waiting("ErrImagePull").restarted(1).build()
    pod["status"]["containerStatuses"][0]["lastState"] = ended
    job = told("ImageError", IMAGE)
    assert end_of(view_of(job, pod, seconds=5599)) is None
    assert end_of(view_of(job, pod, seconds=5600)) is not None


def test_error_of_any_container_counts():
    waiting = {"waiting": {"reason": "ContainerCreating"}}
    pod = a_pod(JOB).bound().waiting("InvalidImageName").with_container("logs", waiting)
    assert end_of(view_of(told("ImageError", CONFIG), pod, seconds=60)) is not None


def test_pod_being_deleted_does_not_count():
    pod = a_pod(JOB).bound().waiting("InvalidImageName").deleting()
    assert end_of(view_of(told("ImageError", CONFIG), pod, seconds=60)) is None


def refused_pull(seconds: float) -> View:
    """A pod that backs off, of a job whose status says why the pull failed."""
    job = a_job().with_workers(2).with_condition("Pending", True, reason="ImageError")
    raw = job.build()
    raw["status"]["waiting"] = {
        "cause": "train-worker-0: ErrImagePull: not in the image table",
        "child": "train-worker-0",
        "state": "ErrImagePull",
        "grace": "--image-error-after",
        "since": stamp(),
    }
    pods = [a_pod(raw, index=index).bound() for index in range(2)]
    waits = [pod.waiting("ImagePullBackOff", "Back-off pulling image") for pod in pods]
    return view_of(raw, *reversed(waits), seconds=seconds)


def test_end_keeps_the_cause_that_the_kubelet_no_longer_tells():
    said = "train-worker-0: ErrImagePull: not in the image table"
    assert failed(refused_pull(600)).message == said
    transition = end_of(refused_pull(600))
    assert transition is not None
    (failure,) = transition.status.failures
    assert (failure.pod, failure.role, failure.node) == ("train-worker-0", "worker", "node-1")
    assert (failure.reason, failure.message) == ("ImageError", said)


@pytest.mark.parametrize("waiting", [{"reason": None, "message": None}, {"reason": 5}, {"x": []}])
def test_state_of_wrong_types_stops_no_pass(waiting):
    pod = a_pod(JOB).bound().waiting("x").build()
    pod["status"]["containerStatuses"] = [{"name": "paddle", "state": {"waiting": waiting}}] * 200
    wait = plan_of(view_of(JOB, pod, seconds=60)).status
    assert wait is not None
