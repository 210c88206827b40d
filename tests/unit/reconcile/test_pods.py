"""What a pod counts as: its trainer container decides."""

import pytest

from api.constants import Role
from api.trainer import trainer_name
from reconcile.model.pods import PodState, PodView, view_pod
from tests.memory.builders import PodBuilder, a_job, a_pod

JOB = a_job().with_ps(1).with_workers(2).build()
RUNNING = {"running": {"startedAt": "2026-01-02T03:04:05Z"}}
FAILED = {"terminated": {"exitCode": 1}}


def view(pod: PodBuilder) -> PodView:
    """The view of a pod whose trainer is named paddle."""
    return view_pod(pod.build(), {Role.WORKER: "paddle"})


@pytest.mark.parametrize(
    ("pod", "state"),
    [
        pytest.param(a_pod(JOB), PodState.PENDING, id="not-bound"),
        pytest.param(a_pod(JOB).bound(), PodState.STARTING, id="bound"),
        pytest.param(a_pod(JOB).bound().waiting("X"), PodState.STARTING, id="waiting"),
        pytest.param(a_pod(JOB).running(), PodState.RUNNING, id="running"),
        pytest.param(a_pod(JOB).ended(0), PodState.SUCCEEDED, id="exited-0"),
        pytest.param(a_pod(JOB).ended(1), PodState.FAILED, id="exited-1"),
        pytest.param(
            a_pod(JOB).bound().with_status(phase="Failed", reason="Evicted"),
            PodState.FAILED,
            id="failed-without-a-container",
        ),
        pytest.param(
            a_pod(JOB).bound().with_status(phase="Unknown"), PodState.UNKNOWN, id="unknown"
        ),
        pytest.param(
            a_pod(JOB).ended(0).with_status(phase="Running").with_container("logs", RUNNING),
            PodState.SUCCEEDED,
            id="sidecar-outlives-the-trainer",
        ),
        pytest.param(
            a_pod(JOB).ended(1).with_status(phase="Running").with_container("logs", RUNNING),
            PodState.FAILED,
            id="sidecar-outlives-a-failed-trainer",
        ),
        pytest.param(
            a_pod(JOB).ended(0).with_status(phase="Failed").with_container("logs", FAILED),
            PodState.SUCCEEDED,
            id="sidecar-fails-after-the-trainer",
        ),
        pytest.param(
            a_pod(JOB).running().with_container("logs", FAILED),
            PodState.RUNNING,
            id="sidecar-fails",
        ),
        pytest.param(
            a_pod(JOB).running().with_init_container("proxy", RUNNING),
            PodState.RUNNING,
            id="native-sidecar-runs",
        ),
        pytest.param(
            a_pod(JOB).ended(1).restarted(1).with_status(phase="Running"),
            PodState.STARTING,
            id="kubelet-will-restart-it",
        ),
        pytest.param(
            a_pod(JOB).ended(1).restarted(1), PodState.FAILED, id="kubelet-restarts-it-no-more"
        ),
        pytest.param(
            a_pod(JOB).ended(0).restarted(1).with_status(phase="Running"),
            PodState.SUCCEEDED,
            id="exited-0-with-restarts-on-failure",
        ),
    ],
)
def test_trainer_decides_the_state(pod: PodBuilder, state: PodState) -> None:
    assert view(pod).state is state


@pytest.mark.parametrize(
    ("names", "trainer"),
    [
        pytest.param(["logs", "paddle"], "paddle", id="by-name"),
        pytest.param(["main", "logs"], "main", id="else-the-first"),
        pytest.param([], "paddle", id="none"),
    ],
)
def test_trainer_is_named_paddle_or_the_first(names: list[str], trainer: str) -> None:
    assert trainer_name({"containers": [{"name": name} for name in names]}) == trainer


@pytest.mark.parametrize(
    ("pod", "is_disrupted", "has_lost_node"),
    [
        pytest.param(a_pod(JOB).ended(1), False, False, id="own-exit"),
        pytest.param(
            a_pod(JOB)
            .ended(143)
            .with_condition("DisruptionTarget", reason="PreemptionByScheduler"),
            True,
            False,
            id="preempted",
        ),
        pytest.param(
            a_pod(JOB).ended(143).with_condition("DisruptionTarget", reason="DeletionByPodGC"),
            True,
            True,
            id="node-gone",
        ),
        pytest.param(
            a_pod(JOB).ended(1).with_condition("DisruptionTarget", "False"),
            False,
            False,
            id="false",
        ),
        pytest.param(
            a_pod(JOB).bound().with_status(phase="Failed", reason="OutOfcpu"),
            True,
            False,
            id="full",
        ),
        pytest.param(
            a_pod(JOB).bound().with_status(phase="Failed", reason="Evicted"),
            True,
            False,
            id="evicted",
        ),
        pytest.param(
            a_pod(JOB).bound().with_status(phase="Failed", reason="DeadlineExceeded"),
            False,
            False,
            id="its-own-deadline",
        ),
    ],
)
def test_cluster_is_told_from_program(
    pod: PodBuilder, is_disrupted: bool, has_lost_node: bool
) -> None:
    assert (view(pod).is_disrupted, view(pod).has_lost_node) == (is_disrupted, has_lost_node)


@pytest.mark.parametrize(("code", "signal"), [(1, None), (137, 9), (143, 15), (128, None)])
def test_exit_code_tells_the_signal(code: int, signal: int | None) -> None:
    end = view(a_pod(JOB).ended(code)).end
    assert end is not None
    assert end.signal == signal


def test_failed_init_container_is_the_pods_end() -> None:
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
def test_labels_tampered_with_read_as_no_pod_of_ours(labels: dict[str, str]) -> None:
    pod = view(a_pod(JOB).with_labels(**labels))
    assert pod.role is None or pod.attempt == 0 or pod.index == -1
