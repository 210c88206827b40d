"""What a pod counts as: its trainer container decides."""

import pytest

from api.constants import Role
from api.trainer import Containers
from reconcile.model.pods import PodState, PodView, view_pod
from tests.memory.builders import PodBuilder, a_job, a_pod

JOB = a_job().with_ps(1).with_workers(2).build()
RUNNING = {"running": {"startedAt": "2026-01-02T03:04:05Z"}}
FAILED = {"terminated": {"exitCode": 1}}


def view(pod: PodBuilder) -> PodView:
    """The view of a pod whose trainer is named paddle."""
    return view_pod(pod.build(), {Role.WORKER: Containers("paddle")})


STATES = {
    "not-bound": (a_pod(JOB), PodState.PENDING),
    "bound": (a_pod(JOB).bound(), PodState.STARTING),
    "waiting": (a_pod(JOB).bound().waiting("X"), PodState.STARTING),
    "running": (a_pod(JOB).running(), PodState.RUNNING),
    "exited-0": (a_pod(JOB).ended(0), PodState.SUCCEEDED),
    "exited-1": (a_pod(JOB).ended(1), PodState.FAILED),
    "failed-without-a-container": (
        a_pod(JOB).bound().with_status(phase="Failed", reason="Evicted"),
        PodState.FAILED,
    ),
    "unknown": (a_pod(JOB).bound().with_status(phase="Unknown"), PodState.UNKNOWN),
    "sidecar-outlives-the-trainer": (
        a_pod(JOB).ended(0).with_status(phase="Running").with_container("logs", RUNNING),
        PodState.SUCCEEDED,
    ),
    "sidecar-outlives-a-failed-trainer": (
        a_pod(JOB).ended(1).with_status(phase="Running").with_container("logs", RUNNING),
        PodState.FAILED,
    ),
    "sidecar-fails-after-the-trainer": (
        a_pod(JOB).ended(0).with_status(phase="Failed").with_container("logs", FAILED),
        PodState.SUCCEEDED,
    ),
    "sidecar-fails": (a_pod(JOB).running().with_container("logs", FAILED), PodState.RUNNING),
    "native-sidecar-runs": (
        a_pod(JOB).running().with_init_container("proxy", RUNNING),
        PodState.RUNNING,
    ),
    "kubelet-will-restart-it": (
        a_pod(JOB).ended(1).restarted(1).with_status(phase="Running"),
        PodState.STARTING,
    ),
    "kubelet-restarts-it-no-more": (a_pod(JOB).ended(1).restarted(1), PodState.FAILED),
    "exited-0-with-restarts-on-failure": (
        a_pod(JOB).ended(0).restarted(1).with_status(phase="Running"),
        PodState.SUCCEEDED,
    ),
}


@pytest.mark.parametrize(("pod", "state"), STATES.values(), ids=STATES)
def test_trainer_decides_the_state(pod, state):
    assert view(pod).state is state


def test_failed_init_container_is_the_pods_end():
    failed = {"terminated": {"exitCode": 7, "message": "no data"}}
    pod = a_pod(JOB).bound().with_status(phase="Failed").with_init_container("fetch", failed)
    end = view(pod).end
    assert end is not None
    assert (end.container, end.exit_code, end.message) == ("fetch", 7, "no data")


@pytest.mark.parametrize(
    "labels",
    [
        pytest.param({"batch.paddlepaddle.org/role": "chief"}, id="role"),
        pytest.param({"batch.paddlepaddle.org/attempt": "x"}, id="attempt"),
        pytest.param({"batch.paddlepaddle.org/index": "-1"}, id="index"),
    ],
)
def test_labels_tampered_with_read_as_no_pod_of_ours(labels):
    pod = view(a_pod(JOB).with_labels(**labels))
    assert pod.role is None or pod.attempt == 0 or pod.index == -1
