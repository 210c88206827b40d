"""Children that the API server refuses: a wait where that may heal, else the end of the job."""

import pytest

from api.catalogue.meaning import Who
from api.catalogue.reasons import REASONS
from api.constants import Reason
from reconcile.model.plan import ALTERED, FORMER_JOB, YOUNG_KIND, Refusal
from tests.memory.builders import a_job, view_of, wait_of
from tests.memory.world import World

WORDS = 'Pod "train-worker-0" is invalid: spec.containers[0].name: Invalid value: "Paddle"'
GRACE_SECONDS = 60


def refuse(world: World, kind: str, name: str, message: str = WORDS) -> None:
    """The API server's validation refuses a child as it is sent."""
    world.refusals[(kind, name)] = Refusal(kind, name, "Invalid", message, 422, is_final=True)


def test_invalid_child_ends_the_job_with_the_servers_words(world):
    refuse(world, "Pod", "train-worker-0")
    world.begin(a_job().with_workers(2))
    assert world.condition("Pending")["reason"] == "InvalidSpec"
    assert world.after(GRACE_SECONDS - 1).requeue_after == 1
    assert world.phase() == "Pending"
    world.after(1)
    failed = world.condition("Failed")
    assert (world.phase(), failed["reason"]) == ("Failed", "InvalidSpec")
    assert failed["message"] == f"Pod train-worker-0: {WORDS}"
    (failure,) = world.status()["failures"]
    assert (failure["pod"], failure["role"], failure["index"]) == ("train-worker-0", "worker", 0)
    assert failure["message"] == failed["message"]


@pytest.mark.parametrize(
    ("kind", "name", "spec"),
    [
        ("Service", "train-worker-0", {"intranet": "Service"}),
        ("ConfigMap", "train", {}),
        ("PodGroup", "train-0123abcd", {"schedulingPolicy": {}}),
    ],
)
def test_no_kind_of_child_is_waited_for_in_vain(world, kind, name, spec):
    world.volcano_served = True
    refuse(world, kind, name)
    world.begin(a_job().with_workers(1).with_spec(**spec))
    world.kubelet.place_all()
    world.settle()
    world.after(GRACE_SECONDS)
    assert world.condition("Failed")["reason"] == "InvalidSpec"
    assert world.status()["failures"][0].get("role", "") == ""


def test_later_attempt_has_a_grace_of_its_own(world):
    world.run(a_job().with_workers(1).with_spec(backoffLimit=1))
    world.advance(1000)
    refuse(world, "Pod", "train-worker-0")
    world.kubelet.end("train-worker-0", 1)
    world.kubelet.let_go()
    world.after(GRACE_SECONDS - 1)
    assert world.phase() == "Restarting"
    world.after(1)
    assert world.phase() == "Failed"


def test_grace_counts_from_when_it_was_told_not_from_an_earlier_wait(world):
    world.refused_kinds.add("Pod")
    world.begin(a_job().with_workers(1))
    world.advance(3600)
    world.refused_kinds.clear()
    refuse(world, "Pod", "train-worker-0")
    world.settle()
    assert (world.phase(), world.condition("Pending")["reason"]) == ("Pending", "InvalidSpec")


def test_grace_outlives_the_operator(world):
    refuse(world, "Pod", "train-worker-0")
    world.begin(a_job().with_workers(2))
    told = world.status()
    for _ in range(2):
        world.advance(GRACE_SECONDS / 3)
        world.restart()
        world.settle()
        assert world.status() == told
    world.advance(GRACE_SECONDS / 3)
    world.restart()
    world.settle()
    assert world.phase() == "Failed"


def test_job_goes_on_when_it_is_valid_after_all(world):
    refuse(world, "Pod", "train-worker-0")
    world.begin(a_job().with_workers(1))
    world.refusals.clear()
    world.after(GRACE_SECONDS / 2)
    assert world.names("Pod") == ["train-worker-0"]
    assert world.condition("Pending")["reason"] == "WaitingForPods"
    world.after(GRACE_SECONDS)
    assert world.phase() == "Pending"


@pytest.mark.parametrize("code", [403, 422])
def test_what_may_heal_is_waited_for(world, code):
    refusal = Refusal("Pod", "train-worker-0", "Forbidden", "violates PodSecurity", code)
    world.refusals[refusal.child] = refusal
    world.begin(a_job().with_workers(1))
    world.after(100_000)
    assert world.condition("Pending")["reason"] == "CreateRefused"


NO_WEBHOOK = 'failed calling webhook "mworkload.kb.io": dial tcp: connect: connection refused'


@pytest.mark.parametrize(
    ("code", "reason", "told"),
    [
        (500, "InternalError", "CreateUnanswered"),
        (504, "Timeout", "CreateUnanswered"),
        (429, "TooManyRequests", "CreateUnanswered"),
        (0, "Unreachable", "CreateUnanswered"),
        (403, "Forbidden", "CreateRefused"),
        (404, "NotFound", "CreateRefused"),
        (0, ALTERED, "CreateRefused"),
    ],
)
def test_who_does_not_answer_has_refused_nothing(world, code, reason, told):
    refusal = Refusal("Pod", "train-worker-0", reason, NO_WEBHOOK, code)
    world.refusals[refusal.child] = refusal
    world.begin(a_job().with_workers(1))
    world.after(100_000)
    pending = world.condition("Pending")
    assert pending["reason"] == told
    assert NO_WEBHOOK in pending["message"]
    meaning = REASONS[pending["reason"]]
    assert meaning.who is (Who.ADMIN if told == "CreateUnanswered" else Who.USER)
    assert ("change the pod template" in pending["message"]) == (told == "CreateRefused")
    world.refusals.clear()
    world.after(60)
    assert world.names("Pod") == ["train-worker-0"]


def test_a_limit_that_admission_has_put_in_is_named_with_its_cure(world):
    words = 'Pod "train-worker-0" is invalid: spec.containers[0].resources.requests: Invalid value'
    words += ': "1Gi": must be less than or equal to memory limit of 512Mi'
    refusal = Refusal("Pod", "train-worker-0", "Invalid", words, 422)
    world.refusals[refusal.child] = refusal
    world.begin(a_job().with_workers(1))
    pending = world.condition("Pending")
    assert pending["reason"] == "CreateRefused"
    for part in ("memory limit of 512Mi", "LimitRange", "kubectl get limitranges", "set requests"):
        assert part in pending["message"]


def test_every_reason_of_pod_security_is_told(world):
    reasons = (
        "host namespaces (hostNetwork=true)",
        'allowPrivilegeEscalation != false (container "paddle" must set '
        "securityContext.allowPrivilegeEscalation=false)",
        'unrestricted capabilities (container "paddle" must set '
        'securityContext.capabilities.drop=["ALL"])',
        'runAsNonRoot != true (pod or container "paddle" must set '
        "securityContext.runAsNonRoot=true)",
        'seccompProfile (pod or container "paddle" must set securityContext.seccompProfile.type to '
        '"RuntimeDefault" or "Localhost")',
    )
    words = f'pods "train-worker-0" is forbidden: violates PodSecurity "x": {", ".join(reasons)}'
    refusal = Refusal("Pod", "train-worker-0", "Forbidden", words, 403)
    world.refusals[refusal.child] = refusal
    world.begin(a_job().with_workers(1))
    message = world.condition("Pending")["message"]
    assert all(reason.partition(" (")[0] in message for reason in reasons)
    assert reasons[0] in message
    assert "next: change the pod template" in message


def test_what_is_invalid_is_told_before_what_may_heal():
    job = a_job().with_workers(2).build()
    quota = Refusal("Pod", "train-worker-0", "Forbidden", "exceeded quota: few", 403)
    invalid = Refusal("Pod", "train-worker-1", "Invalid", WORDS, 422, is_final=True)
    wait = wait_of(view_of(job, refusals=(quota, invalid)))
    assert wait and wait.reason is Reason.INVALID_SPEC


@pytest.mark.parametrize(
    ("reason", "told"), [(FORMER_JOB, "PodsTerminating"), (YOUNG_KIND, "WaitingForPods")]
)
def test_failure_that_is_a_wait_is_no_warning(world, reason, told):
    world.refusals[("Pod", "train-worker-0")] = Refusal(
        "Pod", "train-worker-0", reason, "still there", 0
    )
    world.begin(a_job().with_workers(1))
    assert world.condition("Pending")["reason"] == told
    assert "train-worker-0" in world.condition("Pending")["message"]
    assert not [event for event in world.told if event.type == "Warning"]
