"""What must hold at every moment of a job's life, whatever happens to it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from api.constants import (
    EXIT_CODE_ELASTIC_RESTART,
    EXIT_CODE_RELAUNCH,
    LABEL_ATTEMPT,
    LABEL_INDEX,
    LABEL_JOB_UID,
    LABEL_QUEUE,
    LABEL_ROLE,
    Role,
)
from api.objects import (
    Raw,
    controller_of,
    is_deleting,
    labels_of,
    name_of,
    parse_time,
    uid_of,
)
from tests.memory.kubelet import Kubelet
from tests.memory.world import Change, World

LISTS = ("PADDLE_PSERVERS", "PADDLE_TRAINER_IPS")
TERMINAL = ("Completed", "Failed")
TERMINAL_POD = ("Succeeded", "Failed")
RUN_ON = (("Never", "Completed"), ("Never", "Failed"), ("OnFailure", "Completed"))
"""cleanPodPolicy and phase of the jobs whose pods may run after the end."""
NONE_STAY = (
    *(("Always", "Completed"), ("Always", "Failed")),
    *(("OnFailure", "Failed"), ("OnCompletion", "Completed")),
)
"""The same of the jobs that keep no pod."""
LATE = timedelta(seconds=3)
"""A deadline is kept within 2 s; times of the status are whole seconds."""
UNCHARGED_CODES = (0, EXIT_CODE_ELASTIC_RESTART, EXIT_CODE_RELAUNCH)


@dataclass
class Invariants:
    """Reads every change of a world as it happens."""

    world: World
    kubelet: Kubelet
    foreign: dict[tuple[str, str], Raw] = field(default_factory=dict)
    chargeable: int = 0
    """Ends of pods that may be charged, at most."""
    most_limit: int = 0
    _read: int = 0
    seen: Callable[[], int] = lambda: 0
    """The version up to which the operator has seen pods."""
    _deleted: dict[int, int] = field(default_factory=dict)
    """By the version of the change that follows a delete of the operator, what it had seen."""
    _jobs: dict[str, Raw] = field(default_factory=dict)
    """By UID, each job's last version."""
    _pods: set[str] = field(default_factory=set)
    _lives: dict[str, Raw] = field(default_factory=dict)
    """By name, the last version of each pod of ours that is there."""
    _workload: Raw | None = None
    """The Workload while it has quota."""
    _full_ends: set[tuple[str, str]] = field(default_factory=set)
    """Attempt and name of each pod whose trainer exited with 0 before anybody ended the pod."""
    _addresses: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    """By job UID and attempt, every address that its pods had."""

    def note_write(self, verb: str) -> None:
        """The operator is about to write to the world."""
        if verb == "delete":
            self._deleted[self.world.version + 1] = self.seen()

    def check(self) -> None:
        """Read the changes since the last check."""
        changes = self.world.changes[self._read :]
        self._read = len(self.world.changes)
        for change in changes:
            self._note_address(change.obj or {})
        for change in changes:
            if change.place[0] == "Pod":
                self._check_life(change)
            if change.obj is not None:
                self._check_change(change, change.obj)
            self._check_quota(change)
        self._check_foreign()
        # A delete of what was gone has changed nothing: the next change is somebody else's.
        self._deleted = {at: seen for at, seen in self._deleted.items() if at <= self.world.version}

    def _check_life(self, change: Change) -> None:
        """The operator deletes no healthy pod of the attempt that its job is in.

        Nor, after the job's end, one whose end it has seen, if cleanPodPolicy is unset.
        """
        pod = self._lives.pop(change.place[1], None)
        if change.obj is not None and labels_of(change.obj).get(LABEL_JOB_UID):
            self._lives[change.place[1]] = change.obj
        if pod is not None and change.obj is not None and _ends_fully(pod, change.obj):
            self._full_ends.add((labels_of(pod).get(LABEL_ATTEMPT, "1"), name_of(pod)))
        is_deleted = change.obj is None or is_deleting(change.obj)
        by_operator = is_deleted and change.version in self._deleted
        if pod is None or not by_operator or is_deleting(pod):
            return
        job = self._jobs[labels_of(pod)[LABEL_JOB_UID]]
        status, labels = job.get("status") or {}, labels_of(pod)
        is_past = labels[LABEL_ATTEMPT] != str(status.get("attempt", labels[LABEL_ATTEMPT]))
        has_ended = status.get("phase") in TERMINAL
        if not _is_healthy(pod):
            is_unseen = int(pod["metadata"]["resourceVersion"]) > self._deleted[change.version]
            goes = {"cleanPodPolicy", "ttlSecondsAfterFinished"} & job["spec"].keys()
            may_go = is_past or goes or is_unseen or not has_ended
            assert may_go, f"the log of {name_of(pod)} was deleted"
            return
        ends = has_ended or _is_true(status, "Suspended")
        wanted = (job["spec"].get(labels[LABEL_ROLE]) or {}).get("replicas", 0)
        is_surplus = int(labels[LABEL_INDEX]) >= wanted
        assert ends or is_past or is_surplus, f"{name_of(pod)} was deleted without cause"

    def _check_quota(self, change: Change) -> None:
        """Kueue gives nobody else the quota that pods of the job still use."""
        if change.place[0] != "Workload":
            return
        before, obj = self._workload, change.obj
        has_quota = obj is not None and _is_true(obj.get("status") or {}, "QuotaReserved")
        self._workload = obj if has_quota else None
        assert has_quota or not before or not self._lives, "quota was given back"

    def _check_admission(self, pod: Raw, job: Raw) -> None:
        """No role of a queued job has more pods than were admitted, or others."""
        if self._workload is None:
            assert LABEL_QUEUE not in labels_of(job), "a pod was made without quota"
            return
        role, status = labels_of(pod)[LABEL_ROLE], self._workload["status"]
        admitted = _count_of(role, status["admission"]["podSetAssignments"])
        admitted -= _count_of(role, status.get("reclaimablePods") or ())
        pods = [each for each in self._lives.values() if labels_of(each)[LABEL_ROLE] == role]
        live = [each for each in pods if each.get("status", {}).get("phase") not in TERMINAL_POD]
        assert len(live) <= admitted, f"{len(live)} pods of {role}, and {admitted} were admitted"
        pod_sets = self._workload["spec"]["podSets"]
        template = next(each["template"] for each in pod_sets if each["name"] == role)
        is_same = template["spec"].get("nodeSelector") == pod["spec"].get("nodeSelector")
        assert is_same, "a pod was made from another template than the one that was admitted"

    def _note_address(self, obj: Raw) -> None:
        address = str((obj.get("status") or {}).get("podIP") or "")
        labels = labels_of(obj) if address else {}
        if LABEL_JOB_UID in labels:
            place = (labels[LABEL_JOB_UID], labels[LABEL_ATTEMPT])
            self._addresses.setdefault(place, set()).add(address)

    def _check_change(self, change: Change, obj: Raw) -> None:
        kind = change.place[0]
        if kind == "PaddleJob":
            self._check_job(obj)
        if kind == "Pod" and labels_of(obj).get(LABEL_JOB_UID):
            self._check_pod(obj)
        if kind == "ConfigMap" and labels_of(obj).get(LABEL_JOB_UID):
            self._check_config_map(obj)

    def _check_job(self, job: Raw) -> None:
        before = (self._jobs.get(uid_of(job)) or {}).get("status") or {}
        status = job.get("status") or {}
        self._jobs[uid_of(job)] = job
        assert not (wrong := wrong_steps(before, status)), wrong
        charged = status.get("failureCount", 0)
        assert charged <= self.most_limit, "more charged restarts than the limit"
        assert charged <= self.chargeable, "charged twice, or for another's doing"
        assert len(status.get("failures") or ()) <= 5
        if status.get("phase") == "Completed" != before.get("phase"):
            self._check_completion(job, str(status.get("attempt", 1)))

    def _check_completion(self, job: Raw, attempt: str) -> None:
        """Never without a full end: an elastic job's least number of workers, or all workers."""
        worker = job["spec"]["worker"]
        names = {f"train-worker-{index}" for index in range(worker["replicas"])}
        full = {name for of, name in self._full_ends if of == attempt}
        least = 1 if "requests" in worker else len(names)
        assert len(names & full) >= least, "completed without a full end"

    def _check_pod(self, pod: Raw) -> None:
        labels = labels_of(pod)
        name = f"train-{labels[LABEL_ROLE]}-{labels[LABEL_INDEX]}"
        assert name_of(pod) == name, "a role and index has one name"
        told = self.kubelet.told.get(uid_of(pod))
        if told is not None:
            self._check_told(pod, told)
        if uid_of(pod) not in self._pods:
            self._pods.add(uid_of(pod))
            self._check_birth(pod)

    def _check_birth(self, pod: Raw) -> None:
        owner = controller_of(pod) or {}
        job = self._jobs.get(str(owner.get("uid")), {})
        status = job.get("status") or {}
        assert status.get("phase") not in TERMINAL, "a pod was made after the end"
        assert not _is_true(status, "Suspended"), "a pod was made while suspended"
        attempt = int(labels_of(pod)[LABEL_ATTEMPT])
        assert attempt == status.get("attempt", attempt), "a pod was made for an ended attempt"
        self._check_admission(pod, job)

    def _check_told(self, pod: Raw, told: Raw) -> None:
        """A trainer began with the addresses of its own attempt."""
        if not told:
            return
        labels = labels_of(pod)
        own = self._addresses.get((labels[LABEL_JOB_UID], labels[LABEL_ATTEMPT]), set())
        hosts = {host for name in LISTS for host in told.get(name, "").split(",") if host}
        strangers = {host for host in hosts if host[0].isdigit()} - own
        assert not strangers, f"{name_of(pod)} was told addresses of another attempt"

    def _check_config_map(self, config_map: Raw) -> None:
        labels, name = labels_of(config_map), name_of(config_map)
        attempt = labels[LABEL_ATTEMPT]
        assert name == ("train" if attempt == "1" else f"train-attempt-{attempt}")
        assert config_map["immutable"] is True

    def _check_foreign(self) -> None:
        for place, obj in self.foreign.items():
            assert self.world.objects.get(place) == obj, f"{place} belongs to someone else"


def wrong_steps(before: Raw, after: Raw) -> list[str]:
    """What must not have happened between two versions of a job's status."""
    wrong = [
        f"{counter} fell from {before[counter]} to {after.get(counter, 0)}"
        for counter in ("attempt", "restartCount", "failureCount")
        if before.get(counter, 0) > after.get(counter, 0)
    ]
    if before.get("phase") not in TERMINAL:
        return wrong
    if after.get("phase") != before["phase"]:
        wrong.append(f"was {before['phase']} and is {after.get('phase')}")
    for role in Role:
        counts = [(status.get(role) or {}) for status in (before, after)]
        if any(
            counts[0].get(word, 0) != counts[1].get(word, 0) for word in ("failed", "succeeded")
        ):
            wrong.append(f"has ended, and the counts of {role} went on")
    return wrong


def check_deadline(world: World, since: datetime) -> None:
    """A job whose active deadline came after this moment failed in time, whatever else failed."""
    status = world.status()
    start, limit = parse_time(status.get("startTime")), _active_seconds(world.job())
    if start is None or limit is None:
        return
    ended = parse_time(status.get("completionTime")) or world.now
    end = start + timedelta(seconds=limit)
    came_later = since <= end
    assert not came_later or ended <= end + LATE, f"{ended - end} late"


def _active_seconds(job: Raw) -> float | None:
    limit = job["spec"].get("activeDeadlineSeconds")
    return None if limit is None or job["spec"].get("suspend") else float(limit)


def check_end(world: World) -> None:
    """What must hold once nothing happens any more."""
    job = world.job()
    status = world.status()
    own = uid_of(job)
    for kind in ("Pod", "Service", "ConfigMap", "PodGroup"):
        for obj in world.of_kind(kind):
            owner = controller_of(obj)
            assert owner is None or owner["uid"] == own, f"{kind} {name_of(obj)} is an orphan"
    pods = world.of_kind("Pod")
    assert not [name_of(pod) for pod in pods if is_deleting(pod)]
    assert {labels_of(pod)[LABEL_ATTEMPT] for pod in pods} <= {str(status["attempt"])}
    assert status["phase"] in TERMINAL, f"the job ended nowhere: {status}"
    assert status["observedGeneration"] == job["metadata"]["generation"]
    assert not _is_true(status, "Running")
    assert not _is_true(status, "Pending")
    _check_cleaned(job, status, pods)


def _check_cleaned(job: Raw, status: Raw, pods: list[Raw]) -> None:
    end = (job["spec"].get("cleanPodPolicy"), status["phase"])
    running = [name_of(pod) for pod in pods if pod["status"]["phase"] not in TERMINAL_POD]
    assert end in RUN_ON or not running, f"{running} run on after the end"
    assert end not in NONE_STAY or not pods, "pods stay that the policy does not keep"


def _count_of(role: str, counts: Iterable[Raw]) -> int:
    return sum(each["count"] for each in counts if each["name"] == role)


def _ends_fully(before: Raw, after: Raw) -> bool:
    """Whether the trainer exits with 0 here, and nobody has begun to end its pod."""
    phases = [(pod.get("status") or {}).get("phase") for pod in (before, after)]
    is_ended = is_deleting(after) or _is_true(after.get("status") or {}, "DisruptionTarget")
    return phases[0] != phases[1] == "Succeeded" and not is_ended


def _is_healthy(pod: Raw) -> bool:
    phase = (pod.get("status") or {}).get("phase", "Pending")
    return phase not in TERMINAL_POD and not is_deleting(pod)


def _is_true(status: Raw, type_: str) -> bool:
    conditions = status.get("conditions") or ()
    return any(c["type"] == type_ and c["status"] == "True" for c in conditions)
