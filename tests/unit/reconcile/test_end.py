"""Whose doing an end was, and what follows: one table, which docs/fault-tolerance.md shows."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from api.constants import Reason, Role
from api.objects import Raw, format_time
from reconcile.failure.incident import build_failure
from reconcile.model.end import Author
from reconcile.model.view import View
from tests.memory.builders import (
    PodBuilder,
    a_job,
    a_pod,
    a_template,
    at,
    incident_of,
    stamp,
    view_of,
)
from tests.memory.world import World

PAGE = Path(__file__).parents[3] / "docs" / "fault-tolerance.md"
JOB = a_job().with_workers(2, a_template(initContainers=[{"name": "fetch"}])).build()
CODE, LIMIT, ASKED = Reason.POD_FAILED, Reason.POD_FAILED, Reason.TRAINER_ASKED_RESTART
NODE, LOST, CLUSTER = Reason.POD_EVICTED, Reason.NODE_LOST, Reason.POD_EVICTED
TARGET = "DisruptionTarget"
PRESSURE = (
    "The node was low on resource: ephemeral-storage. Threshold quantity: 1Gi, available: 9Mi. "
    "Container paddle was using 9Gi, request is 0, has larger consumption of ephemeral-storage. "
)
OLD_PRESSURE = (
    "The node was low on resource: memory. Container paddle was using 9Gi, which exceeds its "
    "request of 8Gi. Container rate-limit was using 1Mi, which exceeds its request of 0. "
)
"""Of kubelets before 1.25, which set no condition either."""
EXCEEDED = (
    'Usage of EmptyDir volume "scratch" exceeds the limit "1Gi". ',
    "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. ",
    'Container paddle exceeded its local ephemeral storage limit "1Gi". ',
)
RUNC = "OCI runtime create failed: runc create failed: unable to start container process: "
TEMPLATES_FAULT = (
    f'{RUNC}exec: "pythonn": executable file not found in $PATH: unknown',
    f'{RUNC}error during container init: exec: "/run.sh": permission denied: unknown',
    f'{RUNC}chdir to cwd ("/nowhere") set in config.json failed: no such file or directory',
    "crun: executable file `pythonn` not found in $PATH: No such file or directory",
    "container init was OOM-killed (memory limit too low?)",
    'starting container process caused "exec: \\"pythonn\\": executable file not found in $PATH"',
    'starting root container: error finding executable "pythonn" in PATH [/usr/bin]',
    f'{RUNC}exec: "/opt/nvidia/nvidia_entrypoint.sh": stat /opt/nvidia/nvidia_entrypoint.sh: no',
    f'{RUNC}exec: "./webhook.sh": permission denied: unknown',
)
NODES_FAULT = (
    "",
    "failed to create containerd task: context deadline exceeded",
    f"{RUNC}error during container init: error running hook #0: nvidia-container-cli: driver error",
    "fork/exec /usr/bin/runc: resource temporarily unavailable",
    f'{RUNC}exec: "nvidia-smi": executable file not found in $PATH: unknown',
    f'{RUNC}exec: "/usr/local/bin/nvidia-container-runtime": stat: no such file or directory',
    f'{RUNC}Running hook #0:: error running hook: exec: "oci-umount": not found',
    f'{RUNC}error running createRuntime hook #0: exec: "oci-umount": not found',
    f"{RUNC}unable to apply cgroup configuration: no space left on device",
    'get apparmor_parser version: exec: "apparmor_parser": executable file not found in $PATH',
)


def ended(code: int = 143, seconds: float = 9.0, **fields: Any) -> PodBuilder:
    return a_pod(JOB).ended(code, seconds, **fields)


def failed(reason: str, message: str = "", code: int | None = 137) -> PodBuilder:
    """A pod that its kubelet let fail; its container has ended with this code, or has not ended."""
    pod = a_pod(JOB).running() if code is None else ended(code)
    return pod.with_status(phase="Failed", reason=reason, message=message)


def disrupted(reason: str, code: int = 143, seconds: float = 5.0) -> PodBuilder:
    return ended(code).with_condition(TARGET, reason=reason, seconds=seconds)


def anew(code: int) -> PodBuilder:
    """As kubelet 1.36 shows it: neither a reason nor a condition that says so."""
    pod = ended(code, 20, started=8)
    times = {"lastTransitionTime": stamp(21), "status": "True"}
    conditions = [{"type": each, **times} for each in ("PodScheduled", "Initialized")]
    return pod.with_status(conditions=conditions)


def bare() -> PodBuilder:
    return a_pod(JOB).bound()


def init(code: int, name: str = "fetch") -> PodBuilder:
    end = {"terminated": {"exitCode": code, "reason": "Error", "message": "panic"}}
    waits = a_pod(JOB).bound().waiting("PodInitializing").with_status(phase="Failed")
    return waits.with_init_container(name, end)


REJECTED = ("NodeAffinity", "OutOfnvidia.com/gpu", "TopologyAffinityError", "Nobody'sWord")
WAITED: Raw = {
    "name": "paddle",
    "restartCount": 1,
    "state": {"waiting": {"reason": "CrashLoopBackOff"}},
    "lastState": {"terminated": {"exitCode": 1, "reason": "Error", "finishedAt": stamp()}},
}
Ends = tuple[PodBuilder, ...]
RUNS_AGAIN = [{**WAITED, "state": {"running": {"startedAt": stamp(1)}}}]
ROWS: dict[str, tuple[Ends, Author, Reason | None]] = {
    "the trainer exits with an error, or a signal ends it (`OOMKilled`, a plain 137)": (
        (
            *(ended(1), ended(137), ended(137, reason="OOMKilled"), ended(255)),
            *(ended(1, reason="X"), disrupted("", 1, 10), ended(1).deleting(10)),
            disrupted("EvictionByEvictionAPI", 1, 70).deleting(75),
        ),
        Author.PROGRAM,
        CODE,
    ),
    "it exits with 101 or 102 (elastic: 241): PaddlePaddle's launcher asks for a restart": (
        (ended(101), ended(102)),
        Author.PROGRAM,
        ASKED,
    ),
    "an init container of the template fails, with any code": (
        (init(1), init(101), init(102), init(241)),
        Author.PROGRAM,
        CODE,
    ),
    "`Evicted` for a limit of its own (`emptyDir.sizeLimit`, `ephemeral-storage`); "
    "`DeadlineExceeded` of the pod": (
        (
            *(failed("Evicted", words) for words in EXCEEDED),
            *(failed("Evicted", words, None) for words in EXCEEDED),
            failed("Evicted", EXCEEDED[0], 0),
            ended(137, reason="ContainerStatusUnknown").with_status(
                phase="Failed", reason="Evicted", message=EXCEEDED[0]
            ),
            failed("DeadlineExceeded", code=None),
            failed("DeadlineExceeded", code=0),
        ),
        Author.PROGRAM,
        LIMIT,
    ),
    "`StartError` of a container, by its template: no such command or folder, too little memory": (
        tuple(ended(128, reason="StartError", message=words) for words in TEMPLATES_FAULT),
        Author.PROGRAM,
        CODE,
    ),
    "`StartError`, by anything else: the runtime, a device, the node's disk": (
        (
            *(ended(128, reason="StartError", message=words) for words in NODES_FAULT),
            ended(127, reason="ContainerCannotRun", message="device or resource busy"),
        ),
        Author.NODE,
        NODE,
    ),
    "the pod is `Failed`, and no container has ended: its kubelet rejected it": (
        (
            *(failed(reason, "Pod was rejected: no", None) for reason in REJECTED),
            bare().with_status(phase="Failed", reason="NodeAffinity"),
            bare().with_status(phase="Failed", reason="SMTAlignmentError", containerStatuses=[]),
            bare().with_status(phase="Failed", reason="NodePorts", containerStatuses=None),
            bare().with_status(phase="Failed", reason="Gone", containerStatuses=[WAITED]),
            bare().with_status(phase="Failed", containerStatuses=None),
            bare().with_status(phase="Failed", containerStatuses=[{"name": "paddle", "state": {}}]),
            a_pod(JOB)
            .running()
            .with_init_container("fetch", {"terminated": {"exitCode": 0}})
            .with_status(phase="Failed", reason="UnexpectedAdmissionError"),
        ),
        Author.NODE,
        NODE,
    ),
    "every condition is younger than the container: its kubelet restarted, and rejected the pod": (
        tuple(anew(code) for code in (0, 1, 137, 143)),
        Author.NODE,
        NODE,
    ),
    "a container is lost: 137 `ContainerStatusUnknown`, 255 `Unknown`": (
        (
            ended(137, reason="ContainerStatusUnknown", startedAt=None, finishedAt=None),
            ended(255, reason="Unknown"),
            ended(0, reason="Unknown"),
        ),
        Author.NODE,
        LOST,
    ),
    "`Evicted` for its node's need": (
        (
            failed("Evicted", PRESSURE),
            failed("Evicted", PRESSURE, 0),
            failed("Evicted", OLD_PRESSURE),
            failed("Evicted", PRESSURE).with_condition(TARGET, reason="TerminationByKubelet"),
            failed("Evicted", EXCEEDED[0]).with_condition(TARGET, reason="TerminationByKubelet"),
            failed("Evicted"),
        ),
        Author.CLUSTER,
        CLUSTER,
    ),
    "an init container fails that admission has added, such as a service mesh's": (
        (init(126, "istio-validation"), init(137, "proxy")),
        Author.CLUSTER,
        CLUSTER,
    ),
    "`DisruptionTarget`: eviction, preemption, a drain": (
        (
            disrupted("EvictionByEvictionAPI"),
            disrupted("EvictionByEvictionAPI", 143, 70),
            disrupted("PreemptionByScheduler", 1),
            disrupted("TerminationByKubelet", 101),
            a_pod(JOB).running().with_condition(TARGET).deleting(30),
            a_pod(JOB)
            .with_status(phase="Running", containerStatuses=RUNS_AGAIN)
            .with_condition(TARGET, seconds=20)
            .deleting(30),
        ),
        Author.CLUSTER,
        CLUSTER,
    ),
    "`DisruptionTarget` by the taint manager or the pod collector: the node is gone": (
        (
            disrupted("DeletionByTaintManager"),
            a_pod(JOB)
            .running()
            .with_status(phase="Failed")
            .with_condition(TARGET, reason="DeletionByPodGC"),
        ),
        Author.CLUSTER,
        LOST,
    ),
    "any other reason of the pod, after its containers have ended: a shutdown, a critical pod": (
        (
            failed("Terminated"),
            failed("Preempting", code=1),
            failed("Shutdown", code=0),
            *(
                ended(code).with_status(phase=phase, reason="Terminated")
                for code in (0, 143)
                for phase in ("Running", "Succeeded")
            ),
        ),
        Author.CLUSTER,
        CLUSTER,
    ),
    "exit 0 in or after the second in which the eviction or the shutdown began": (
        (disrupted("", 0, 5), disrupted("", 0, 9), disrupted("", 0, 5).with_status(phase="Failed")),
        Author.CLUSTER,
        CLUSTER,
    ),
    "a pod is deleted by hand, or exits with 0 since": (
        (
            ended(143).deleting(5),
            ended(143).deleting(70),
            ended(1).deleting(5),
            ended(0).deleting(9),
            ended(1).restarted(1).with_status(phase="Running").deleting(10),
            a_pod(JOB).running().deleting(),
        ),
        Author.USER,
        Reason.POD_VANISHED,
    ),
    "exit 0 before any of these": (
        (
            ended(0),
            disrupted("", 0, 10),
            disrupted("TerminationByKubelet", 0, 10).with_status(reason="Terminated"),
            ended(0).deleting(10),
            bare().with_status(phase="Succeeded"),
        ),
        Author.PROGRAM,
        None,
    ),
}
"""What the cluster shows, ends that do, whose doing it was, and why the attempt ends if it does."""
CASES = [
    pytest.param(pod, *row[1:], id=f"{row[1]}-{number}-{place}")
    for number, row in enumerate(ROWS.values())
    for place, pod in enumerate(row[0])
]
CHARGED = {CODE}
NEXT = {
    CODE: "restart, or failure at `backoffLimit`",
    ASKED: "restart",
    NODE: "restart, elsewhere if it can be",
    LOST: "restart, elsewhere if it can be",
    Reason.POD_VANISHED: "restart",
    None: "it stays done, whatever the pod says later",
}


def seen(pod: PodBuilder, job: Raw = JOB) -> View:
    return view_of(job, pod, a_pod(JOB, index=1).running(), seconds=60)


@pytest.mark.parametrize(("pod", "author", "reason"), CASES)
def test_an_end_has_one_author_and_only_the_program_is_charged(pod, author, reason):
    view = seen(pod)
    if reason is None:
        assert view.completed[Role.WORKER] == {0}
        return
    assert not view.completed[Role.WORKER]
    assert view.pods["train-worker-0"].ending.author is author
    incident = incident_of(view)
    assert (incident.reason, incident.is_charged) == (reason, reason in CHARGED)


def test_the_page_has_the_table():
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    shown = {row[0]: row[1:4] for row in rows if len(row) == 5}
    shown.pop("what the cluster shows")
    charged = {True: "yes", False: "no"}
    assert shown == {
        shows: [str(author), charged[reason in CHARGED], NEXT[reason]]
        for shows, (_, author, reason) in ROWS.items()
    }


SENTENCES = {
    "rejected": (
        failed("NodeAffinity", "Pod was rejected: Predicate NodeAffinity failed", None),
        "failed: NodeAffinity: Pod was rejected: Predicate NodeAffinity failed",
    ),
    "own-limit": (
        failed("Evicted", EXCEEDED[0]),
        'failed: Evicted: Usage of EmptyDir volume "scratch" exceeds the limit "1Gi"; '
        "raise its emptyDir.sizeLimit",
    ),
    "own-storage": (
        failed("Evicted", EXCEEDED[2]),
        'failed: Evicted: Container paddle exceeded its local ephemeral storage limit "1Gi"; '
        "raise resources.limits.ephemeral-storage",
    ),
    "nodes-need": (failed("Evicted", PRESSURE), f"failed: Evicted: {PRESSURE.rstrip('. ')}"),
    "deadline": (
        failed("DeadlineExceeded", "Pod was active on the node longer than the specified deadline"),
        "failed: DeadlineExceeded: Pod was active on the node longer than the specified deadline; "
        "raise activeDeadlineSeconds of the pod template",
    ),
    "without-a-word": (bare().with_status(phase="Failed"), "failed: its node does not say why"),
    "init-container-after-a-sidecar": (
        a_pod(JOB)
        .bound()
        .waiting("PodInitializing")
        .with_status(phase="Failed")
        .with_init_container("proxy", {"terminated": {"exitCode": 137, "reason": "Error"}})
        .with_init_container("fetch", {"terminated": {"exitCode": 7}}),
        "did not start: fetch exited with code 7",
    ),
    "lost": (ended(255, reason="Unknown"), "failed with Unknown"),
    "not-started": (
        ended(128, reason="StartError", message=TEMPLATES_FAULT[0]),
        'failed with StartError: exec: "pythonn": executable file not found in $PATH',
    ),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_an_end_is_told_in_the_words_of_who_ended_it(name):
    pod, text = SENTENCES[name]
    view = seen(pod)
    incident = incident_of(view)
    assert incident.message == f"train-worker-0 on node-1 {text}"
    assert build_failure(view, incident).message.splitlines()[0] in (incident.message, text)


PREEMPTED = {"reason": "PreemptionByScheduler", "message": "preempting to accommodate a pod."}
TOLD = {
    "running": (a_pod(JOB).running().deleting(30), "is being deleted"),
    "ended": (ended(143), "was ended by SIGTERM"),
    "killed-after-its-grace": (ended(137, message="KeyError: 1"), "was ended by SIGKILL"),
}


@pytest.mark.parametrize("name", TOLD)
def test_who_ends_a_pod_is_told_in_the_words_of_its_condition(name):
    pod, how = TOLD[name]
    incident = incident_of(seen(pod.with_condition(TARGET, seconds=5, **PREEMPTED)))
    who = "PreemptionByScheduler: preempting to accommodate a pod"
    assert incident.message == f"train-worker-0 on node-1 {how}: {who}"


def test_who_evicts_a_pod_is_told_also_if_its_peer_ended_first():
    evicted = a_pod(JOB).running().with_condition(TARGET, seconds=5, **PREEMPTED)
    peer = a_pod(JOB, index=1).ended(1, 9, message="RuntimeError: Connection reset by peer")
    message = incident_of(view_of(JOB, evicted, peer, seconds=20)).message
    assert "evicted: PreemptionByScheduler: preempting to accommodate a pod; after" in message


def test_a_program_that_failed_before_an_eviction_is_told_by_its_own_words():
    pod = ended(1, 3, message="KeyError: 1").with_condition(TARGET, seconds=5, **PREEMPTED)
    message = "train-worker-0 on node-1 exited with code 1: KeyError: 1"
    assert incident_of(seen(pod)).message == message


@pytest.mark.parametrize("code", [1, 137, 143])
def test_a_deletion_is_recorded_as_one_although_a_process_ran_out_of_memory_before(code):
    view = seen(ended(code, reason="OOMKilled").deleting(5))
    assert build_failure(view, incident_of(view)).reason == Reason.POD_VANISHED


@pytest.mark.parametrize("code", [1, 137, 143])
def test_an_eviction_is_recorded_as_one_although_a_process_ran_out_of_memory_before(code):
    view = seen(ended(code, reason="OOMKilled").with_condition(TARGET, seconds=5))
    assert build_failure(view, incident_of(view)).reason == CLUSTER


@pytest.mark.parametrize("policy", ["Never", "OnFailure"])
@pytest.mark.parametrize("is_deletion_first", [False, True])
def test_a_trainer_that_leaves_with_0_in_a_drain_is_trained_again(policy, is_deletion_first):
    """Whichever is seen first: its end, or the deletion."""
    world = World()
    world.run(a_job().with_workers(1, a_template(restartPolicy=policy)))
    world.advance(100)
    condition = {"type": TARGET, "status": "True", "lastTransitionTime": format_time(world.now)}
    world.change("Pod", "train-worker-0", lambda p: p["status"].update(conditions=[condition]))
    steps: list[Callable[[], object]] = [
        lambda: world.kubelet.end("train-worker-0", 0),
        lambda: world.kubelet.delete("train-worker-0"),
    ]
    for step in reversed(steps) if is_deletion_first else steps:
        step()
        world.settle()
    status = world.status()
    assert (status["phase"], status["attempt"]) == ("Restarting", 2)
    assert status.get("failureCount", 0) == 0
    assert status["failures"][-1]["reason"] == Reason.POD_EVICTED


@pytest.mark.parametrize("reason", ["NodeAffinity", "UnexpectedAdmissionError", "Evicted"])
def test_a_worker_that_is_done_stays_done_when_its_kubelet_rejects_the_pod(reason):
    world = World()
    world.run(a_job().with_workers(2))
    world.advance(100)
    world.kubelet.see_end("train-worker-0", 0)
    say(world, phase="Failed", reason=reason, containerStatuses=None)
    world.settle()
    world.kubelet.see_end("train-worker-1", 0)
    assert (world.phase(), world.status()["attempt"]) == ("Completed", 1)


def test_a_trainer_asked_to_end_by_a_suspension_has_not_completed_the_job():
    world = World()
    world.run(a_job().with_workers(1))
    world.edit_spec(suspend=True)
    world.settle()
    world.kubelet.end("train-worker-0", 0)
    world.settle()
    assert world.phase() != "Completed"


def test_a_node_that_rejects_for_ever_is_asked_ever_later_and_a_bounded_number_of_times():
    world = World()
    world.submit(a_job().with_workers(1))
    starts: list[float] = []
    for _ in range(3000):
        world.settle()
        if world.phase() == "Failed":
            break
        world.kubelet.reap_all()
        if (
            world.of_kind("Pod")
            and (world.of_kind("Pod")[0].get("status") or {}).get("phase") is None
        ):
            starts.append((world.now - at(0)).total_seconds())
            world.kubelet.bind("train-worker-0")
            say(world, phase="Failed", reason="SMTAlignmentError", message="no")
            continue
        world.advance(30)
    status = world.status()
    assert {c["type"]: c["reason"] for c in status["conditions"]}["Failed"] == Reason.RESTART_LOOP
    assert (len(starts), status.get("failureCount", 0)) == (101, 0)
    assert starts[-1] > 9 * 3600
    assert status["avoidNodes"] == ["node-1"]


def say(world: World, **status: Any) -> None:
    """What the kubelet says of worker 0."""
    world.change("Pod", "train-worker-0", lambda pod: pod.setdefault("status", {}).update(status))


CONDITIONS: dict[str, Any] = {
    "none": None,
    "text": "DisruptionTarget",
    "number": 5,
    "odd-reason": [{"type": TARGET, "status": "True", "reason": []}],
    "of-texts": ["DisruptionTarget", None, 5],
    "of-odd-fields": [{"type": 5, "status": ["True"]}, {"type": TARGET, "status": True}],
    "no-time": [{"type": TARGET, "status": "True"}],
    "odd-time": [{"type": TARGET, "status": "True", "lastTransitionTime": 5}],
    "no-calendar": [{"type": TARGET, "status": "True", "lastTransitionTime": "yesterday"}],
    "year-1": [{"type": TARGET, "status": "True", "lastTransitionTime": "0001-01-01T00:00:00Z"}],
    "year-9999": [{"type": TARGET, "status": "True", "lastTransitionTime": "9999-12-31T23:59:59Z"}],
}
TIMES = (None, "", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "1970-01-01T00:00:00Z", "noon")
ODD: dict[str, Raw] = {
    "rejected": {"phase": "Failed", "reason": "Nobody'sWord", "message": None},
    "rejected-200": {
        "phase": "Failed",
        "reason": "Nobody'sWord",
        "containerStatuses": [{"name": f"c{n}", "state": {"running": {}}} for n in range(200)],
    },
    "failed-without-a-word": {"phase": "Failed"},
    "no-such-phase": {"phase": "Gone", "reason": 7},
}
ODD_ENDS: dict[str, Raw] = ODD | {
    f"{code} at {time}": {
        "phase": "Succeeded" if code == 0 else "Failed",
        "containerStatuses": [
            {"name": "paddle", "state": {"terminated": {"exitCode": code, "finishedAt": time}}}
        ],
    }
    for code in (0, 1)
    for time in TIMES
}


@pytest.mark.parametrize("conditions", CONDITIONS)
@pytest.mark.parametrize("end", ODD_ENDS)
def test_odd_statuses_are_judged_once_and_in_a_sentence(end, conditions):
    world = World()
    world.run(a_job().with_workers(1).with_spec(backoffLimit=1))
    world.advance(100)
    say(world, **{"containerStatuses": None, **ODD_ENDS[end], "conditions": CONDITIONS[conditions]})
    world.settle()
    status = world.status()
    assert status["attempt"] in (1, 2), "no loop"
    assert len(status.get("failures") or ()) == status.get("restartCount", 0), "nothing is lost"
    for condition in status["conditions"]:
        assert "\n" not in condition.get("message", ""), "one sentence"
