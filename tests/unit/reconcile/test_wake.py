"""Pods that wait for the attempt's ConfigMap are woken once it exists, three times at most."""

import pytest

from api.constants import ANNOTATION_WOKEN, Role
from api.objects import Raw
from reconcile.children.wake import CALL_SECONDS, MAX_CALLS, WAITING, seconds_to_wake, wake_patches
from reconcile.model.view import View
from reconcile.objects.rendezvous import build_config_map
from tests.memory.builders import PodBuilder, a_job, a_pod, stamp, view_of

JOB = a_job().with_ps(1).with_workers(1).build()
RUNNING = a_pod(JOB, Role.PS).running()
CONFIG_MAP = build_config_map(view_of(JOB, RUNNING, a_pod(JOB).running()))
LATER = CALL_SECONDS


def worker(reason: str = WAITING) -> PodBuilder:
    """The worker, whose container waits."""
    return a_pod(JOB).bound().with_address("10.0.1.1").waiting(reason, "not found")


def told(text: str) -> Raw:
    """The worker that waits, with this annotation."""
    pod = worker().build()
    pod["metadata"]["annotations"] = {ANNOTATION_WOKEN: text}
    return pod


def called(times: int, seconds: float = 0.0) -> Raw:
    """The worker that waits although it was called so often, the last time then."""
    return told(f"attempt=1,call={times},at={stamp(seconds)}")


def initialized(seconds: float, status: str = "True") -> Raw:
    condition = {"type": "Initialized", "status": status, "lastTransitionTime": stamp(seconds)}
    return worker("PodInitializing").with_status(conditions=[condition]).build()


def seen(pod: PodBuilder | Raw, seconds: float = LATER, *, published: bool = True) -> View:
    """The job with a server that runs and this worker."""
    config_maps = (CONFIG_MAP,) if published else ()
    return view_of(JOB, RUNNING, pod, seconds=seconds, config_maps=config_maps)


@pytest.mark.parametrize(
    ("view", "wakes"),
    [
        pytest.param(seen(worker()), True, id="waits"),
        pytest.param(seen(worker(), published=False), False, id="no-config-map-yet"),
        pytest.param(seen(worker("ContainerCreating")), False, id="pulls-its-image"),
        pytest.param(seen(a_pod(JOB).running()), False, id="runs"),
        pytest.param(seen(worker().deleting()), False, id="goes"),
        pytest.param(seen(called(1)), True, id="still-waits"),
        pytest.param(seen(called(1), LATER - 1), False, id="was-just-called"),
        pytest.param(seen(called(MAX_CALLS)), False, id="was-called-in-vain"),
        pytest.param(seen(initialized(0)), True, id="init-containers-ended-a-while-ago"),
        pytest.param(seen(initialized(1)), False, id="init-containers-have-just-ended"),
        pytest.param(seen(initialized(0, "False")), False, id="an-init-container-runs"),
        pytest.param(seen(called(1, 9_999)), True, id="the-clock-was-set-back"),
        pytest.param(seen(told("me")), True, id="somebody-wrote-there"),
        pytest.param(seen(told("attempt=1,call=3,at=9999-99-99T99:99:99Z")), True, id="no-time"),
        pytest.param(seen(told("attempt=1,call=1,at=2026-01-02T03:04:05")), True, id="no-zone"),
    ],
)
def test_pods_that_wait_for_the_config_map_are_woken(view, wakes):
    assert [patch.target.name for patch in wake_patches(view)] == ["train-worker-0"] * wakes


def test_a_pod_that_was_called_is_looked_at_again():
    assert seconds_to_wake(seen(worker())) == CALL_SECONDS
    assert seconds_to_wake(seen(called(1), 0.5)) == CALL_SECONDS - 0.5
    assert seconds_to_wake(seen(called(MAX_CALLS))) is None
    assert seconds_to_wake(seen(a_pod(JOB).running())) is None


def test_a_deaf_kubelet_is_called_three_times_and_the_annotation_names_the_attempt(world):
    world.begin(a_job().with_workers(2))
    world.kubelet.place_all()
    for name in world.names("Pod"):
        world.kubelet.wait(name, WAITING)
    seen = []
    for _ in range(10):
        world.settle()
        pods = world.of_kind("Pod")
        seen.append(
            {(pod["metadata"].get("annotations") or {}).get(ANNOTATION_WOKEN) for pod in pods}
        )
        world.advance(1)
    calls = [texts.pop() for texts in seen if len(texts) == 1]
    assert len(calls) == len(seen), "both pods are told the same"
    heard = list(dict.fromkeys(str(call).rpartition(",")[0] for call in calls))
    assert heard == [f"attempt=1,call={n}" for n in (1, 2, 3)]
