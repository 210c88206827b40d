"""What `explain` makes of a job, and of what else it reads."""

import re
from pathlib import Path
from typing import Any

import pytest

from api.catalogue import causes
from api.catalogue.kueue import KUEUE
from api.catalogue.meaning import say
from api.catalogue.reasons import REASONS
from api.constants import Reason
from api.objects import Raw
from kube.errors import Forbidden
from pdj.facts.facts import HIDDEN, Remark
from pdj.facts.picture import JobPicture
from pdj.gather.facts import gather
from pdj.judge.evidence import GONE
from pdj.judge.judge import judge
from pdj.judge.story import Story
from pdj.session import Screen
from pdj.text.explain import draw_story
from tests.cluster.pdj.test_explain import JOBS
from tests.memory.builders import NOW, JobBuilder, a_job, a_pod, a_template, stamp
from tests.unit.pdj.cluster import Cluster

STORAGE = "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi"
ACTIVE = "Pod was active on the node longer than the specified deadline"
CLUSTER_TESTS = Path(__file__).parents[2] / "cluster"


def explained(cluster: Cluster, picture: JobPicture) -> Story:
    return judge(gather(cluster, picture))


def story_of(job: JobBuilder, cluster: Cluster | None = None) -> Story:
    """What a user of this cluster is told about the job."""
    return explained(cluster or Cluster(), JobPicture(job.build()))


def a_failed_job(why: Reason = Reason.POD_FAILED, /, **record: Any) -> JobBuilder:
    """A job whose status has this record of its only failure."""
    usual = {"attempt": 1, "pod": "train-worker-0", "role": "worker", "index": 0, "exitCode": 1}
    job = a_job().with_workers(3).with_status(phase="Failed", attempt=1, failures=[usual | record])
    return job.with_condition("Failed", True, reason=why)


def shown(job: JobBuilder) -> list[str]:
    """What `explain` prints."""
    return draw_story(story_of(job), "en", Screen(has_colour=False).paint, NOW)


def test_chinese_explanation_has_chinese_punctuation():
    job = a_failed_job(message="ValueError: no").with_condition("Running", False, reason="Ended")
    lines = draw_story(story_of(job), "zh", Screen(has_colour=False).paint, NOW)
    assert [line for line in lines if re.search("[一-龥][:(]|。 ", line)] == []
    assert lines[0].endswith("状态：Failed")
    assert "最后几行：" in lines
    assert any("更多：kubectl" in line for line in lines)
    assert any("Ended：" in line for line in lines)


@pytest.mark.parametrize("reason", [Reason.POD_FAILED, Reason.BACKOFF_LIMIT_EXCEEDED])
@pytest.mark.parametrize(
    ("ended", "meaning"),
    [
        ({"exitCode": 137, "signal": 9, "reason": "OOMKilled"}, causes.OUT_OF_MEMORY),
        ({"exitCode": 247, "signal": 9, "reason": "PodFailed"}, causes.KILLED),
        ({"exitCode": 139, "signal": 11, "reason": "PodFailed"}, None),
        ({"exitCode": 1, "reason": "PodFailed"}, None),
        (
            {"exitCode": 137, "signal": 9, "message": f"failed: Evicted: {STORAGE}"},
            causes.OVER_LIMIT,
        ),
        ({"exitCode": None, "message": f"failed: DeadlineExceeded: {ACTIVE}"}, causes.OVER_LIMIT),
        ({"exitCode": 1, "message": "DeadlineExceeded: 504 exceeded a limit"}, None),
        ({"exitCode": 1, "message": "the rate exceeded the limit"}, None),
        ({"exitCode": 135, "signal": 7, "reason": "PodFailed"}, causes.SHARED_MEMORY_FULL),
        ({"exitCode": 1, "message": "ERROR: Unexpected BUS error"}, causes.SHARED_MEMORY_FULL),
        (
            {"exitCode": 1, "message": "OSError: CUDA error(214), uncorrectable ECC"},
            causes.FAULTS["hardware"],
        ),
        ({"exitCode": 1, "message": "fine\nCUDA error(214)"}, None),
        (
            {"exitCode": 1, "message": "OSError: [Errno 28] No space left on device"},
            causes.DISK_FULL,
        ),
        (
            {"exitCode": 1, "message": "ModuleNotFoundError: No module named 'nlp'"},
            causes.NO_MODULE,
        ),
        ({"exitCode": 1, "message": "/usr/bin/python: No module named train"}, causes.NO_MODULE),
    ],
)
def test_want_of_memory_is_no_error_of_the_program(ended, meaning, reason):
    (finding,) = story_of(a_failed_job(reason, **ended)).findings
    assert finding.meaning == (meaning or REASONS[reason])


@pytest.mark.parametrize(
    ("reason", "line"),
    [
        (
            Reason.POD_FAILED,
            "Next: Read its last lines in the failure record and correct the program;",
        ),
        (Reason.CONFIG_ERROR, "Next: Create the missing object or correct its name;"),
        (Reason.NODE_LOST, "Next: The job needs nothing, unless a pod stays on the node for ever"),
    ],
)
def test_the_next_step_begins_with_the_usual_cause(reason, line):
    assert any(each.startswith(line) for each in shown(a_failed_job(reason)))


def test_failed_program_is_explained_with_its_last_lines_and_the_command_for_more():
    lines = [f"line {number}" for number in range(15)]
    message = "\n".join(["ValueError: no", *lines])
    printed = shown(a_failed_job(attempt=2, index=1, reason="PodFailed", message=message))
    start = printed.index("Its last lines:") + 1
    assert printed[start : start + 10] == [f"  {line}" for line in lines[-10:]]
    command = "kubectl pdj -n default logs train --role worker --index 1 --attempt 2"
    assert printed[start + 10] == f"  more: {command}"


def test_want_of_memory_is_known_in_the_history_too():
    story = story_of(a_failed_job(exitCode=None, reason="OOMKilled"))
    assert [each.meaning for each in story.history] == [causes.OUT_OF_MEMORY]


def test_a_role_that_is_none_stays_out_of_the_command_for_more():
    """Whoever may write the status may write it, and the command is there to be copied."""
    job = a_failed_job(role="worker; touch /tmp/x", index=None, reason="PodFailed")
    assert "  more: kubectl pdj -n default logs train --attempt 1" in shown(job)


@pytest.mark.parametrize("warning", ["FailedMount", "AWordThatWeHaveNotThoughtOf"])
@pytest.mark.parametrize(
    ("pod", "seconds", "meaning"),
    [
        (lambda pod: pod, 1, REASONS[Reason.WAITING_FOR_PODS]),
        (lambda pod: pod.bound(seconds=1), 0, REASONS[Reason.WAITING_FOR_PODS]),
        (lambda pod: pod.bound(seconds=1), 1, causes.NOT_SET_UP),
        (lambda pod: pod.bound().with_address("10.0.0.1"), 1, REASONS[Reason.WAITING_FOR_PODS]),
        (
            lambda pod: (
                pod.bound()
                .with_address("10.0.0.1")
                .with_condition("PodReadyToStartContainers", "False")
            ),
            1,
            causes.NOT_SET_UP,
        ),
    ],
    ids=["no node", "before it had a node", "no address", "address", "of its host"],
)
def test_what_a_pod_needs_before_it_starts_is_not_waited_for(warning, pod, seconds, meaning):
    job = a_job().with_workers(1).with_status(phase="Starting")
    job.with_condition("Pending", True, reason=Reason.WAITING_FOR_PODS)
    built = pod(a_pod(job.build())).build()
    event = {
        "type": "Warning",
        "reason": warning,
        "message": 'configmap "settings" not found',
        "involvedObject": built["metadata"] | {"kind": "Pod"},
        "metadata": {"creationTimestamp": stamp(seconds)},
    }
    (finding,) = explained(Cluster(events=[event]), JobPicture(job.build(), (built,))).findings
    assert finding.meaning == meaning


@pytest.mark.parametrize(("node", "is_shown"), [("", True), ("node-1", False)])
def test_what_an_autoscaler_says_of_a_pod_without_a_node_is_shown(node, is_shown):
    why = "pod didn't trigger scale-up: 3 max node group size reached"
    said = f"train-worker-0: NotTriggerScaleUp: {why}"
    assert warned(node, ("Normal", "NotTriggerScaleUp", said)) == [said] * is_shown


def test_no_other_events_of_a_pod_without_a_node_hide_its_warnings():
    warning = "train-worker-0: FailedScheduling: 0/4 nodes are available"
    others = [f"train-worker-0: TriggeredScaleUp: group {number}" for number in range(9)]
    told = [("Warning", "FailedScheduling", warning)]
    told += [("Normal", "TriggeredScaleUp", each) for each in others]
    assert warned("", *told) == [*others[-4:], warning]


def warned(node: str, *told: tuple[str, str, str]) -> list[Remark]:
    """What is shown of a pod's Events: of each the type, the reason and the line."""
    job = a_job().with_workers(1).with_status(phase="Pending")
    job.with_condition("Pending", True, reason=Reason.UNSCHEDULABLE)
    pod = a_pod(job.build()).bound(node).build()
    events = [
        {
            "type": type_,
            "reason": reason,
            "message": said.split(": ", 2)[2],
            "involvedObject": pod["metadata"] | {"kind": "Pod"},
            "metadata": {"creationTimestamp": stamp(seconds)},
        }
        for seconds, (type_, reason, said) in enumerate(told)
    ]
    return [*explained(Cluster(events=events), JobPicture(job.build(), (pod,))).warnings]


@pytest.mark.parametrize(("asked", "fits"), [(4, True), ("4", True), (8, False), ("8", False)])
def test_what_no_node_has_is_said_to_never_fit(asked, fits):
    template = a_template()
    template["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": asked}}
    job = a_job().with_workers(2, template).with_status(phase="Pending")
    job.with_condition("Pending", True, reason=Reason.UNSCHEDULABLE)
    nodes = [
        {"metadata": {"name": f"node-{n}"}, "status": {"allocatable": {"nvidia.com/gpu": gpus}}}
        for n, gpus in enumerate("24")
    ]
    first = say(story_of(job, Cluster(nodes=nodes)).evidence["nodes"][0], "en")
    never = "each pod of worker asks for nvidia.com/gpu 8, but no node has more than 4: it never"
    assert first.startswith("node-0: " if fits else never)


@pytest.mark.parametrize("are_kept", [True, False])
def test_who_waited_in_vain_is_shown_beside_the_others(are_kept):
    message = "RuntimeError: [/gloo/unbound_buffer.cc:86] TIMEOUT self_rank = none pair_rank = -1"
    built = a_failed_job(message=message).build()
    pods = [a_pod(built, index=0).ended(1), a_pod(built, index=1).ended(143), a_pod(built, index=2)]
    picture = JobPicture(built, tuple(pod.build() for pod in (pods if are_kept else pods[:1])))
    cluster = Cluster(logs={"train-worker-1": "one\ntwo\nthree\nfour"})
    story = explained(cluster, picture)
    assert story.findings[0].meaning == causes.FAULTS["peer"]
    said = [f"train-worker-1: {line}" for line in ("two", "three", "four")]
    assert story.evidence["peers"] == (said if are_kept else [GONE])


def with_service(place: str) -> Cluster:
    """A cluster that has this Service."""
    cluster = Cluster()
    namespace, _, name = place.partition("/")
    cluster.objects[f"/api/v1/namespaces/{namespace}/services/{name}"] = {}
    return cluster


def an_elastic_job(reason: Reason) -> JobBuilder:
    """A job in its second attempt; the first had no connection to its etcd."""
    failed = {"attempt": 1, "pod": "train-worker-0", "role": "worker", "index": 0, "exitCode": 1}
    failed |= {"reason": reason, "message": "etcd connection failed"}
    job = a_job().with_elastic_workers(2, 1, 3)
    job.with_status(phase="Restarting", attempt=2, failures=[failed])
    return job.with_condition("Restarting", True, reason=reason)


@pytest.mark.parametrize(
    ("master", "asked"),
    [
        ("", "default/paddle-elastic-etcd"),
        ("etcd://Etcd.infra.svc:2379", "infra/etcd"),
        ("etcd://10.1.2.3:2379", ""),
        ("etcd://[2001:db8::2]:2379", ""),
        ("etcd://fd00::2:2379", ""),
        ("etcd://etcd.example.com:2379", ""),
    ],
)
def test_an_etcd_that_is_not_there_is_named(master, asked):
    job = an_elastic_job(Reason.POD_FAILED)
    pod = a_pod(job.build(), attempt=2).build()
    env = [{"name": "PADDLE_MASTER", "value": master}] if master else []
    pod["spec"]["containers"][0]["env"] = env
    picture = JobPicture(job.build(), (pod,))
    facts = explained(Cluster(), picture).evidence
    if not asked:
        assert "etcd" not in facts
        return
    namespace, _, name = asked.partition("/")
    assert f"there is no Service {name} in namespace {namespace}" in facts["etcd"][0][0]
    assert "etcd" not in explained(with_service(asked), picture).evidence


@pytest.mark.parametrize("reason", [Reason.TRAINER_ASKED_RESTART, Reason.POD_FAILED])
@pytest.mark.parametrize("is_there", [True, False])
def test_who_misses_an_etcd_is_asked_to_create_it(reason, is_there):
    cluster = with_service("default/paddle-elastic-etcd") if is_there else Cluster()
    (finding,) = story_of(an_elastic_job(reason), cluster).findings
    assert finding.meaning == (REASONS[reason] if is_there else causes.NO_ETCD)


ELSEWHERE = {
    "failures/test_nodes.py": {
        Reason.ADDRESS_CHANGED,
        Reason.POD_EVICTED,
        Reason.POD_VANISHED,
        Reason.NODE_LOST,
        Reason.FORCE_DELETED,
    },
    "failures/test_refused_pods.py": {Reason.CREATE_REFUSED, Reason.CREATE_UNANSWERED},
    "surroundings/test_refused_deletes.py": {Reason.DELETE_REFUSED, Reason.PATCH_REFUSED},
    "scheduling/test_partly_placed.py": {Reason.PARTLY_PLACED},
    "scheduling/test_pending.py": {Reason.POD_GROUP_PENDING},
    "scheduling/test_kueue.py": {Reason.QUEUED, Reason.QUEUE_UNAVAILABLE, Reason.EVICTED},
    "scheduling/test_volcano.py": {Reason.POD_GROUP_INVALID, Reason.POD_GROUP_UNAVAILABLE},
    "scheduling/test_schedulers.py": {Reason.NO_FREE_PORTS},
    "jobs/test_kubectl.py": {Reason.CHILDREN_TERMINATING},
    "operator/test_progress.py": {
        *(Reason.LOG_NOT_READ, Reason.LOSS_NOT_FINITE, Reason.LOSS_FINITE, Reason.ENDED_EARLY),
    },
    "../live/stalls.py": {
        *(Reason.TRAINING_STALLED, Reason.NO_OUTPUT, Reason.NO_NEW_STEP, Reason.TRAINS_AGAIN),
    },
    "../e2e/test_disturbances.py": {Reason.STALE_CONFIG_MAP},
    "operator/test_altered.py": {Reason.ENDPOINTS_TOO_LONG, Reason.ADOPTED, Reason.RESTART_LOOP},
}
"""The live tests that bring a reason about and have it explained, besides those of the tool."""


def test_every_reason_is_brought_about_by_a_live_test_and_explained():
    here = {reason for _, reasons in JOBS.values() for reason in reasons}
    assert here.union(*ELSEWHERE.values()) == set(Reason)
    for file, reasons in ELSEWHERE.items():
        text = (CLUSTER_TESTS / file).read_text()
        assert "assert_explained(" in text, file
        assert all(f"Reason.{reason.name}" in text for reason in reasons), file


ALL_WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/workloads"
OF_NAMESPACE = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default"
VISIBILITY = "/apis/visibility.kueue.x-k8s.io/v1beta2/namespaces/default"
OWN_WORKLOADS = f"{OF_NAMESPACE}/workloads"
WORKLOAD = "paddlejob-train-0123a"


class Queues(Cluster):
    """A cluster whose Kueue says this of the job's Workload, or that hides it."""

    def __init__(self, *conditions: Raw) -> None:
        super().__init__()
        pending = {"metadata": {"name": WORKLOAD}, "positionInLocalQueue": 1}
        places = {"items": [{"metadata": {"name": "other"}}, pending]}
        if conditions:
            self.objects = {
                f"{OWN_WORKLOADS}/{WORKLOAD}": {"status": {"conditions": conditions}},
                f"{OF_NAMESPACE}/localqueues/team": {"spec": {"clusterQueue": "lender"}},
                f"{VISIBILITY}/localqueues/team/pendingworkloads": places,
            }
        else:
            self.objects = {f"{OWN_WORKLOADS}/{WORKLOAD}": Forbidden("")}
        self.visible: tuple[str, ...] = (OWN_WORKLOADS,)
        self.holders = 1

    def get(self, path: str, query: Raw | None = None, *_: Any, **__: Any) -> Raw:
        """Workloads with quota, and no Events."""
        if not path.endswith("/workloads"):
            return super().get(path, query)
        assert (query or {})["fieldSelector"] == "status.admission.clusterQueue=lender"
        if path not in self.visible:
            raise Forbidden(path)
        status = {"conditions": [{"type": "QuotaReserved", "status": "True"}]}
        owner = {"kind": "PaddleJob", "name": "big"}
        metadata = {"namespace": "default", "name": "w", "ownerReferences": [owner]}
        return {"items": [{"metadata": metadata, "status": status}] * self.holders}


def a_queued_job(reason: Reason) -> JobBuilder:
    job = a_job().with_workers(1).with_metadata(labels={"kueue.x-k8s.io/queue-name": "team"})
    return job.with_status(phase="Pending").with_condition("Pending", True, reason=reason)


@pytest.mark.parametrize(
    ("told", "meaning"),
    [*KUEUE.items(), ("DeactivatedDueToRequeuingLimitExceeded", KUEUE["RequeuingLimitExceeded"])],
)
def test_every_reason_of_kueue_has_its_meaning(told, meaning):
    reason = Reason(meaning.seen or "Queued")
    type_, status = ("Evicted", "True") if reason == "Evicted" else ("QuotaReserved", "False")
    queues = Queues({"type": type_, "status": status, "reason": told})
    assert story_of(a_queued_job(reason), queues).findings[0].meaning == meaning
    assert story_of(a_queued_job(reason), Queues()).findings[0].meaning == REASONS[reason]


@pytest.mark.parametrize(
    ("visible", "holders", "told"),
    [
        ((ALL_WORKLOADS,), 1, ["team <- PaddleJob default/big"]),
        ((OWN_WORKLOADS,), 1, ["team <- PaddleJob default/big"]),
        ((OWN_WORKLOADS,), 12, ["team <- PaddleJob default/big"] * 10 + ["... 2 more"]),
        ((), 1, [HIDDEN]),
    ],
)
def test_queued_job_has_its_place_and_who_holds_the_quota(visible, holders, told):
    queues = Queues({"type": "QuotaReserved", "status": "False", "reason": "WaitingForQuota"})
    queues.visible, queues.holders = visible, holders
    assert story_of(a_queued_job(Reason.QUEUED), queues).evidence["queue"] == [
        "team: 2 of 2",
        *told,
    ]


@pytest.mark.parametrize(
    ("quota", "reason"), [("False", "WaitingForQuota"), ("True", "Admitted")], ids=str
)
def test_job_of_multikueue_is_explained_by_its_workload(quota, reason):
    told = {"type": "QuotaReserved", "status": quota, "reason": reason}
    admitted = {"type": "Admitted", "status": quota, "reason": reason}
    job = a_job().with_workers(1).with_spec(managedBy="kueue.x-k8s.io/multikueue")
    story = story_of(job, Queues(told, admitted))
    assert story.findings[0].meaning == KUEUE[reason]
