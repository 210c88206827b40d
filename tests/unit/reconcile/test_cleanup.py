"""What goes when a job has ended, by cleanPodPolicy."""

from collections.abc import Callable
from copy import deepcopy

import pytest

from api.constants import CleanPodPolicy
from api.objects import Raw
from reconcile.attempt.deadlines import seconds_to_ttl
from reconcile.children.cleanup import wanted_deletes
from reconcile.model.plan import Refusal, Settings
from tests.memory.builders import PodBuilder, a_job, a_pod, hold_of, view_of
from tests.memory.world import World, writes_nothing

SERVER, ENDED, RUNNING = "train-ps-0", "train-worker-0", "train-worker-1"
WORKERS = [ENDED, RUNNING]
ALL = [SERVER, *WORKERS]
RUNS: Raw = {"running": {}}


def end(world: World, policy: str | None, outcome: str) -> None:
    """A job with one server and two workers comes to its end."""
    world.submit(
        a_job().with_ps(1).with_workers(2).with_spec(cleanPodPolicy=policy, intranet="Service")
    )
    world.run()
    if outcome == "Completed":
        world.kubelet.end_all("worker")
    else:
        world.kubelet.end(ENDED, 1)
    world.kubelet.let_go()
    assert world.phase() == outcome


@pytest.mark.parametrize(
    ("policy", "outcome", "left"),
    [
        pytest.param(None, "Completed", WORKERS, id="unset-completed"),
        pytest.param("OnCompletion", "Completed", [], id="OnCompletion-completed"),
        pytest.param("Always", "Completed", [], id="Always-completed"),
        pytest.param("OnFailure", "Completed", ALL, id="OnFailure-completed"),
        pytest.param("Never", "Completed", ALL, id="Never-completed"),
        pytest.param(None, "Failed", [ENDED], id="unset-failed"),
        pytest.param("OnCompletion", "Failed", [ENDED], id="OnCompletion-failed"),
        pytest.param("Always", "Failed", [], id="Always-failed"),
        pytest.param("OnFailure", "Failed", [], id="OnFailure-failed"),
        pytest.param("Never", "Failed", ALL, id="Never-failed"),
    ],
)
def test_policy_decides_which_pods_stay(world, policy, outcome, left):
    end(world, policy, outcome)
    assert world.names("Pod") == left
    assert world.names("Service") == (ALL if left == ALL else []), "they lead to pods that run"


@pytest.mark.parametrize(
    ("default", "own", "left"),
    [
        (None, None, WORKERS),
        (CleanPodPolicy.NEVER, None, ALL),
        (CleanPodPolicy.NEVER, "Always", []),
        (CleanPodPolicy.ON_COMPLETION, None, []),
        (CleanPodPolicy.ALWAYS, "OnFailure", ALL),
    ],
)
def test_operators_default_holds_where_the_job_says_nothing(default, own, left):
    world = World(Settings(default_clean_pod_policy=default))
    end(world, own, "Completed")
    assert world.names("Pod") == left


def test_operators_default_ttl_holds_where_the_job_says_nothing():
    settings = Settings(default_ttl_seconds=100)
    world = World(settings)
    end(world, None, "Completed")
    assert world.settle().requeue_after == 100
    job = a_job().with_spec(ttlSecondsAfterFinished=0).with_status(phase="Completed")
    view = view_of(job.with_status(completionTime="2026-01-01T00:00:00Z"), settings=settings)
    assert (seconds_to_ttl(view) or 0) <= 0


def test_finished_servers_read_as_they_run(world):
    end(world, "Never", "Completed")
    worker, servers = world.status()["worker"], world.status()["ps"]
    assert (worker["ready"], worker["succeeded"], servers["ready"]) == ("0/2", 2, "1/1")
    assert world.condition("Running")["status"] == "False"
    world.kubelet.vanish(SERVER)
    world.settle()
    assert world.status()["ps"]["ready"] == "0/1"


def test_counts_of_the_end_stay_when_pods_go(world):
    end(world, "Always", "Failed")
    servers = world.status()["ps"]
    assert (world.status()["worker"]["failed"], servers["failed"], servers["running"]) == (1, 0, 0)


def test_nothing_is_made_again_after_the_end(world):
    end(world, "Never", "Completed")
    for name in ALL:
        world.kubelet.vanish(name)
    world.remove("ConfigMap", "train")
    world.settle()
    assert world.names("Pod") == world.names("ConfigMap") == []
    assert world.phase() == "Completed"


Ending = Callable[[PodBuilder], PodBuilder]
GONE: Raw = {"terminated": {"exitCode": 0}}
ENDINGS: dict[str, tuple[Ending, bool]] = {
    "phase comes later": (lambda pod: pod, True),
    "native sidecar is stopped": (lambda pod: pod.with_init_container("proxy", RUNS), True),
    "sidecar has ended": (lambda pod: pod.with_container("logs", GONE), True),
    "sidecar goes on": (lambda pod: pod.with_container("logs", RUNS), False),
    "sidecar starts again": (
        lambda pod: pod.with_container("logs", {"waiting": {"reason": "CrashLoopBackOff"}}),
        False,
    ),
}
"""What becomes of a pod whose trainer has ended, and whether it then ends by itself."""


@pytest.mark.parametrize(("ending", "stays"), ENDINGS.values(), ids=ENDINGS)
@pytest.mark.parametrize(("phase", "code"), [("Completed", 0), ("Failed", 1)])
def test_pod_whose_containers_have_ended_keeps_its_log(phase, code, ending, stays):
    """A kubelet reports the trainer's end before the pod's."""
    job = a_job().with_workers(1).with_status(phase=phase, attempt=1).build()
    view = view_of(job, ending(a_pod(job).ended(code)).with_status(phase="Running"))
    assert [delete.target.name for delete in wanted_deletes(view)] == [ENDED] * (not stays)


def test_pod_that_its_kubelet_starts_again_goes():
    job = a_job().with_workers(1).with_status(phase="Failed", attempt=1).build()
    view = view_of(job, a_pod(job).ended(1).restarted(6).with_status(phase="Running"))
    assert [delete.target.name for delete in wanted_deletes(view)] == [ENDED]


def test_pods_that_are_collected_change_nothing(world):
    """Kubernetes deletes ended pods where there are too many: 12,500, by default."""
    end(world, None, "Completed")
    status = world.status()
    for name in WORKERS:
        world.kubelet.vanish(name)
        assert writes_nothing(world.settle())
    assert (world.names("Pod"), world.status()) == ([], status)


@pytest.mark.parametrize("policy", [None, "Never"])
def test_remains_of_other_attempts_go_whatever_the_policy(policy):
    job = a_job().with_workers(1).with_spec(cleanPodPolicy=policy)
    raw = job.with_status(phase="Completed", attempt=2).build()
    view = view_of(raw, a_pod(raw, attempt=2).ended(0), a_pod(raw, index=1).running())
    assert [delete.target.name for delete in wanted_deletes(view)] == [RUNNING]


def test_policy_may_change_after_the_end(world):
    end(world, "Never", "Completed")
    world.amend(cleanPodPolicy="Always")
    world.kubelet.reap_all()
    assert world.names("Pod") == []


def test_pod_that_nobody_wants_to_delete_any_more_is_no_reason_to_wait(world):
    """The operator may delete no pod, and then the job's policy is to keep them."""
    world.run(a_job().with_workers(2).with_spec(cleanPodPolicy="Always"))
    refused = Refusal("Pod", "train-worker-0", "Forbidden", "pods stay", 403, is_delete=True)
    world.kubelet.end_all("worker")
    pods = [deepcopy(pod) for pod in world.of_kind("Pod")]
    world.settle()
    job = deepcopy(world.job())
    assert hold_of(view_of(job, *pods, refusals=(refused,))) is not None
    job["spec"]["cleanPodPolicy"] = "Never"
    assert hold_of(view_of(job, *pods, refusals=(refused,))) is None
