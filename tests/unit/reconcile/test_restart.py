"""Gang restarts: one incident, one attempt, one charge; back-off between."""

from dataclasses import replace

import pytest

from api.constants import ANNOTATION_KEEP_LOGS, ANNOTATION_RESTARTED_AT, LABEL_ATTEMPT
from api.objects import Raw
from api.status import MAX_AVOID_NODES
from reconcile.attempt.in_place import find_exhausted_in_place
from reconcile.attempt.restart import answer_incident, restart_delay
from tests.memory.builders import a_job, a_pod, at, incident_of, view_of
from tests.memory.world import World

WORKER = "train-worker-0"


def start(world: World, **spec: object) -> None:
    """A job of one server and two workers, all running."""
    world.run(a_job().with_ps(1).with_workers(2).with_spec(**spec))
    assert world.phase() == "Running"


def recover(world: World) -> None:
    """Let the pods of the ended attempt go, the back-off pass, and the next attempt run."""
    world.kubelet.let_go()
    world.advance(360)
    world.run()


def fail(world: World) -> None:
    """A worker fails, and the job recovers."""
    world.kubelet.end(WORKER, 1)
    recover(world)


def test_failure_without_a_limit_fails_the_job(world):
    start(world)
    world.kubelet.see_end("train-worker-0", 1, message="boom")
    assert world.phase() == "Failed"
    assert world.condition("Failed")["reason"] == "PodFailed"
    assert (
        "train-worker-0 on node-1 exited with code 1: boom" in world.condition("Failed")["message"]
    )
    assert world.status()["failures"][0]["exitCode"] == 1


def test_failure_within_the_limit_restarts_the_gang(world):
    start(world, backoffLimit=1)
    before = {pod["metadata"]["uid"] for pod in world.of_kind("Pod")}
    world.kubelet.see_end("train-worker-0", 1)
    assert world.phase() == "Restarting"
    recover(world)
    assert world.phase() == "Running"
    assert before.isdisjoint(pod["metadata"]["uid"] for pod in world.of_kind("Pod"))
    status = world.status()
    assert (status["attempt"], status["restartCount"], status["failureCount"]) == (2, 1, 1)
    assert world.condition("Restarting")["status"] == "False"


@pytest.mark.parametrize("limit", [0, 1], ids=["failed", "restarted"])
def test_culprits_log_is_kept_where_the_job_asks_for_it(limit):
    job = a_job().with_workers(2).with_spec(backoffLimit=limit)
    raw = job.with_metadata(annotations={ANNOTATION_KEEP_LOGS: "true"}).build()
    view = view_of(raw, a_pod(raw).running().build(), a_pod(raw, index=1).ended(3).build())
    kept = answer_incident(view, incident_of(replace(view, now=at(60)))).keep_log
    assert kept
    assert kept.pod == "train-worker-1"


@pytest.mark.parametrize("sees_first", [False, True], ids=["at-once", "echo"])
def test_incident_that_fails_all_pods_is_charged_once(world, sees_first):
    start(world, backoffLimit=3)
    for name, code in (("train-worker-0", 1), ("train-ps-0", 1), ("train-worker-1", 15)):
        world.kubelet.end(name, code)
        if sees_first:
            world.settle()
    recover(world)
    assert world.status()["failureCount"] == 1
    assert [outcome.kind for outcome in world.counted].count("restarted") == 1


def test_failure_beyond_the_limit_fails_the_job(world):
    start(world, backoffLimit=1)
    fail(world)
    world.kubelet.see_end("train-worker-1", 1)
    assert world.phase() == "Failed"
    assert world.condition("Failed")["reason"] == "BackoffLimitExceeded"
    assert world.status()["failureCount"] == 1
    assert [failure["attempt"] for failure in world.status()["failures"]] == [1, 2]


@pytest.mark.parametrize(
    ("incident", "reason"),
    [
        pytest.param(lambda kubelet: kubelet.evict(WORKER), "PodEvicted", id="evicted"),
        pytest.param(lambda kubelet: kubelet.end(WORKER, 101), "TrainerAskedRestart", id="asked"),
        pytest.param(lambda kubelet: kubelet.delete(WORKER), "PodVanished", id="deleted"),
        pytest.param(lambda kubelet: kubelet.vanish(WORKER), "PodVanished", id="vanished"),
        pytest.param(lambda kubelet: kubelet.give_address(WORKER), "AddressChanged", id="moved"),
    ],
)
def test_disruption_restarts_uncharged(world, incident, reason):
    start(world)
    incident(world.kubelet)
    recover(world)
    status = world.status()
    assert world.phase() == "Running"
    assert (status["attempt"], status["restartCount"]) == (2, 1)
    assert "failureCount" not in status
    assert status["failures"][0]["attempt"] == 1
    assert [o.reason for o in world.counted if o.kind == "restarted"] == [reason]


def lose_again(world: World, seconds: float = 59) -> None:
    """Another uncharged restart, so many seconds after all pods run."""
    world.advance(seconds)
    world.kubelet.vanish("train-worker-0")
    recover(world)


def test_uncharged_restarts_that_get_a_job_nowhere_end_it(world, monkeypatch):
    monkeypatch.setattr("reconcile.attempt.restart.MAX_FRUITLESS_RESTARTS", 2)
    start(world, backoffLimit=9)
    lose_again(world)
    lose_again(world, seconds=60)
    assert world.status()["fruitlessRestarts"] == 1, "the second attempt ran for a minute"
    fail(world)
    assert world.status()["fruitlessRestarts"] == 1, "charged ones have their own limit"
    lose_again(world)
    assert world.phase() == "Running"
    lose_again(world)
    assert world.condition("Failed")["reason"] == "RestartLoop"
    assert world.condition("Failed")["message"].startswith("restarted 2 times")


def restart_on_request(world: World) -> None:
    asked = {ANNOTATION_RESTARTED_AT: "now"}
    world.change("PaddleJob", "train", lambda job: job["metadata"].update(annotations=asked))
    recover(world)


def suspend_and_resume(world: World) -> None:
    for suspend in (True, False):
        world.edit_spec(suspend=suspend)
        recover(world)


@pytest.mark.parametrize("end", [restart_on_request, suspend_and_resume])
def test_a_run_that_its_user_ends_was_not_fruitless_and_begins_the_count_anew(world, end):
    start(world, backoffLimit=2)
    lose_again(world)
    assert world.status()["fruitlessRestarts"] == 1
    world.advance(600)
    end(world)
    assert (world.phase(), world.status().get("fruitlessRestarts", 0)) == ("Running", 0)
    world.kubelet.end("train-worker-0", 1)
    world.kubelet.let_go()
    assert len(world.names("Pod")) == 3


def test_next_attempt_waits_for_the_last_pod_to_go(world):
    start(world, backoffLimit=1)
    world.kubelet.see_end("train-worker-0", 1)
    world.after(3600)
    assert {pod["metadata"]["labels"][LABEL_ATTEMPT] for pod in world.of_kind("Pod")} == {"1"}
    assert world.condition("Pending")["reason"] == "PodsTerminating"


def test_next_attempt_waits_for_its_back_off(world):
    start(world, backoffLimit=2)
    fail(world)
    world.kubelet.end("train-worker-0", 1)
    plan = world.kubelet.let_go()
    assert world.names("Pod") == []
    assert plan.requeue_after == 10.0
    assert world.condition("Pending")["reason"] == "BackOff"
    world.after(9)
    assert world.names("Pod") == []
    world.after(1)
    assert len(world.names("Pod")) == 3


def test_first_restart_comes_as_soon_as_the_last_pod_is_gone(world):
    start(world)
    world.kubelet.delete("train-worker-0")
    world.kubelet.let_go()
    assert len(world.names("Pod")) == 3


@pytest.mark.parametrize(("ran_seconds", "made"), [(599, 0), (600, 3)])
def test_attempt_that_ran_for_ten_minutes_begins_the_count_anew(world, ran_seconds, made):
    start(world, backoffLimit=2)
    fail(world)
    world.advance(ran_seconds)
    world.kubelet.end("train-worker-0", 1)
    world.kubelet.let_go()
    assert len(world.names("Pod")) == made
    assert world.status()["restartCount"] == 2


@pytest.mark.parametrize(
    ("restarts", "seconds"), [(0, 0), (1, 0), (2, 10), (3, 20), (7, 320), (8, 360), (1000, 360)]
)
def test_back_off_doubles_up_to_six_minutes(restarts, seconds):
    assert restart_delay(restarts) == seconds


def test_node_of_a_failure_is_avoided(world):
    start(world, backoffLimit=1)
    fail(world)
    assert world.status()["avoidNodes"] == ["node-1"]
    affinity = world.get("Pod", "train-ps-0")["spec"]["affinity"]["nodeAffinity"]
    term = affinity["preferredDuringSchedulingIgnoredDuringExecution"][0]["preference"]
    assert term["matchFields"][0]["values"] == ["node-1"]


@pytest.mark.parametrize(
    ("said", "is_avoided"), [("CUDA error(214), uncorrectable ECC error", True), ("Error", False)]
)
def test_node_of_a_broken_device_is_avoided_though_a_rule_does_not_charge_it(
    world, said, is_avoided
):
    rule = {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [7]}}
    start(world, podFailurePolicy={"rules": [rule]})
    world.kubelet.end("train-worker-0", 7, message=f"OSError: {said}")
    recover(world)
    assert world.status()["attempt"] == 2
    assert world.status().get("avoidNodes", []) == ["node-1"] * is_avoided


def test_avoided_nodes_are_bounded(world):
    start(world, backoffLimit=1)
    many = [f"node-{number}" for number in range(2, 2 + MAX_AVOID_NODES)]
    world.change("PaddleJob", "train", lambda job: job["status"].update(avoidNodes=many))
    world.kubelet.see_end("train-worker-0", 1)
    assert world.status()["avoidNodes"] == [*many[1:], "node-1"]


def test_fatal_policy_ends_a_job_with_restarts_left(world):
    rule = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}
    start(world, backoffLimit=5, podFailurePolicy={"rules": [rule]})
    world.kubelet.see_end("train-worker-0", 42)
    assert world.condition("Failed")["reason"] == "PodFailurePolicy"


def test_transition_is_written_before_it_is_acted_upon(world):
    start(world, backoffLimit=1)
    world.kubelet.end("train-worker-0", 1)
    plan = world.work()
    assert plan.status is not None
    assert not (plan.deletes or plan.creates)


@pytest.mark.parametrize(
    ("limit", "restarts", "ends"),
    [
        pytest.param(None, [5], False, id="default-not-reached"),
        pytest.param(None, [3, 3], True, id="default-reached-together"),
        pytest.param(0, [1], True, id="zero-allows-none"),
        pytest.param(2, [1], False, id="not-reached"),
        pytest.param(2, [2], True, id="reached"),
    ],
)
def test_in_place_restarts_count_as_in_batch_v1(limit, restarts, ends):
    job = a_job().with_workers(len(restarts)).with_spec(backoffLimit=limit).build()
    pods = [a_pod(job, index=i).running().restarted(count) for i, count in enumerate(restarts)]
    transition = find_exhausted_in_place(view_of(job, *pods))
    assert (transition is not None) == ends


@pytest.mark.parametrize(
    ("last", "ends"),
    [
        pytest.param({"exitCode": 1, "reason": "Error"}, True, id="program"),
        pytest.param({"exitCode": 255, "reason": "Unknown"}, False, id="node-rebooted"),
        pytest.param({"exitCode": 137, "reason": "ContainerStatusUnknown"}, False, id="lost"),
    ],
)
def test_the_node_s_restart_in_place_does_not_count(last, ends):
    job = a_job().with_workers(1).with_spec(backoffLimit=1).build()
    pod = a_pod(job).running().restarted(1).build()
    pod["status"]["containerStatuses"][0]["lastState"] = {"terminated": last}
    assert (find_exhausted_in_place(view_of(job, pod)) is not None) == ends


SIDECAR: Raw = {"state": {"running": {}}, "restartCount": 9}
RESTARTED: dict[str, tuple[Raw, dict[str, Raw], str, str]] = {
    "trainer": (
        {"exitCode": 1, "reason": "Error", "message": "KeyError: 'x'"},
        {},
        "exited with code 1: KeyError: 'x'",
        "PodFailed",
    ),
    "out-of-memory": (
        {"exitCode": 137, "reason": "OOMKilled"},
        {},
        "ran out of memory (OOMKilled)",
        "OOMKilled",
    ),
    "sidecar": (
        {"exitCode": 1, "reason": "Error"},
        {"logs": {**SIDECAR, "lastState": {"terminated": {"exitCode": 3, "reason": "Error"}}}},
        "runs, but logs exited with code 3",
        "PodFailed",
    ),
}


@pytest.mark.parametrize("name", RESTARTED)
def test_too_many_restarts_in_place_are_told_and_recorded_with_the_last_end(name):
    last, others, said, reason = RESTARTED[name]
    job = a_job().with_workers(1).with_spec(backoffLimit=1).build()
    pod = a_pod(job).running().restarted(2)
    for other, status in others.items():
        pod.with_container(other, **status)
    raw = pod.build()
    raw["status"]["containerStatuses"][-1]["lastState"] = {"terminated": last}
    move = find_exhausted_in_place(view_of(job, raw))
    assert move is not None
    condition = move.status.condition("Failed")
    assert condition is not None
    assert condition.message.endswith(f"; train-worker-0 on node-1 {said}")
    (record,) = move.status.failures
    assert (record.pod, record.reason) == ("train-worker-0", reason)


@pytest.mark.parametrize(
    ("restarts", "said"),
    [
        pytest.param(2, "exited with code 1: KeyError: 'x'", id="as-often-as-the-trainer"),
        pytest.param(3, "runs, but fetch exited with code 4", id="more-often"),
    ],
)
def test_an_init_container_that_ended_well_at_last_is_told_by_its_failure(restarts, said):
    job = a_job().with_workers(1).with_spec(backoffLimit=1).build()
    done, failed = ({"terminated": {"exitCode": code, "reason": "Error"}} for code in (0, 4))
    pod = a_pod(job).running().restarted(2)
    pod.with_init_container("fetch", done, restartCount=restarts, lastState=failed)
    raw = pod.build()
    last = {"exitCode": 1, "reason": "Error", "message": "KeyError: 'x'"}
    raw["status"]["containerStatuses"][0]["lastState"] = {"terminated": last}
    move = find_exhausted_in_place(view_of(job, raw))
    assert move is not None
    condition = move.status.condition("Failed")
    assert condition is not None
    assert condition.message.endswith(f"; train-worker-0 on node-1 {said}")


def test_in_place_restart_is_no_incident(world):
    template = {"spec": {"restartPolicy": "OnFailure", "containers": [{"name": "paddle"}]}}
    world.run(a_job().with_workers(2, template))
    world.kubelet.restart("train-worker-1")
    world.settle()
    assert (world.phase(), world.status()["attempt"]) == ("Running", 1)
