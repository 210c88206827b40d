"""What has been read about a job, and what not: the ground of every judgement."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from api.catalogue.meaning import Words
from api.constants import LABEL_INDEX, LABEL_ROLE, Condition, Reason, Role
from api.job import PaddleJob
from api.objects import Raw, labels_of, name_of
from api.status import Failure, JobCondition
from api.trainer import container_status, has_started, trainer_name, trainer_of
from pdj.facts.picture import JobPicture, conditions_of
from pdj.facts.training import Training
from reconcile.words.alone import describe_alone, trains_alone
from reconcile.words.fault import Fault, fault_of

Remark = Words | str
"""A line for people: in both languages, or as it was found."""
HIDDEN: Words = ("not allowed to see", "无权查看")
EVENTS = "events of "
"""The answers whose names begin with this are Events."""
ETCD = "paddle-elastic-etcd"
"""The Service of manifests/elastic, in the job's namespace."""
FAILED = frozenset({Reason.POD_FAILED, Reason.BACKOFF_LIMIT_EXCEEDED, Reason.RESTART_LOOP})
PLACES = frozenset({Reason.UNSCHEDULABLE, Reason.PARTLY_PLACED, Reason.STARTING_DEADLINE_EXCEEDED})
QUOTAS = frozenset({Reason.QUOTA_EXCEEDED, Reason.PARTLY_PLACED})
GROUPS = frozenset(
    {Reason.POD_GROUP_PENDING, Reason.POD_GROUP_INVALID, Reason.POD_GROUP_UNAVAILABLE}
)


@dataclass(frozen=True, slots=True)
class Ask:
    """One read: a list of at most `limit` objects, one object if that is 0, or a log."""

    path: str
    query: Mapping[str, str | int] = field(default_factory=dict)
    limit: int = 0
    is_log: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What was read. `problem` says why it is not all there is; a missing object is none."""

    objects: tuple[Raw, ...] = ()
    text: str = ""
    problem: str = ""
    is_hidden: bool = False
    is_missing: bool = False

    @property
    def trouble(self) -> list[Remark]:
        """The problem as lines; none if everything was read."""
        return [HIDDEN] if self.is_hidden else [self.problem] if self.problem else []


class Event(NamedTuple):
    """An Event about the object of this kind, name and UID; `time` is as the cluster wrote it."""

    time: str
    type: str
    reason: str
    message: str
    times: int
    kind: str
    name: str
    uid: str


@dataclass(frozen=True)
class Facts:
    """A job, its pods, its training, and the answers to what was asked besides, by name."""

    picture: JobPicture
    training: Training | None = None
    answers: Mapping[str, Answer] = field(default_factory=dict)

    def answer(self, name: str) -> Answer:
        """The answer to this question; an empty one if it was not asked."""
        return self.answers.get(name, _NOTHING)

    @property
    def settled(self) -> Mapping[str, Answer]:
        """The answers that stay as they are while the pods do: those about pods that run."""
        running = {
            f"{EVENTS}{name_of(pod)}"
            for pod in self.picture.pods
            if (pod.get("status") or {}).get("phase") == "Running"
        }
        return {name: each for name, each in self.answers.items() if name in running | {"head"}}

    @cached_property
    def job(self) -> PaddleJob:
        """The parsed job. Raises Problem if this tool cannot read the job's version."""
        return self.picture.job

    @cached_property
    def conditions(self) -> tuple[JobCondition, ...]:
        """What the job says of itself, the headline first."""
        return tuple(conditions_of(self.job.status))

    @cached_property
    def reasons(self) -> frozenset[str]:
        """The reasons of these conditions."""
        return frozenset(each.reason for each in self.conditions)

    @property
    def failure(self) -> Failure | None:
        """The job's last failure record."""
        return self.job.status.failures[-1] if self.job.status.failures else None

    @cached_property
    def events(self) -> tuple[Event, ...]:
        """All Events that were read, the oldest first."""
        read = (each.objects for name, each in self.answers.items() if name.startswith(EVENTS))
        events = (read_event(raw) for objects in read for raw in objects)
        return tuple(sorted(events, key=lambda each: each.time))

    @cached_property
    def worker_0(self) -> Raw | None:
        """The pod whose log says whether each worker trains alone; None if that cannot be."""
        spec = self.job.spec
        if not spec.has_workers_only or spec.total_replicas < 2:
            return None
        for pod in self.picture.pods:
            labels = labels_of(pod)
            if (labels.get(LABEL_ROLE), labels.get(LABEL_INDEX)) == (Role.WORKER, "0"):
                return pod if _has_log(pod) else None
        return None

    @cached_property
    def alone(self) -> str:
        """A sentence that says that each worker trains alone; empty if not, or unknown."""
        condition = self.job.status.condition(Condition.TRAINED_ALONE)
        if condition and condition.status:
            return condition.message
        is_alone = trains_alone(self.answer("head").text.splitlines())
        return describe_alone(self.job) if is_alone else ""

    @cached_property
    def not_finite(self) -> str:
        """A sentence that says since when the loss is nan or inf; empty if not, or unknown."""
        if condition := self.job.status.true_condition(Condition.LOSS_NOT_FINITE):
            return condition.message
        run = self.training.progress.losses if self.training else None
        return str(run) if run and run.is_lasting else ""

    @cached_property
    def is_peer_lost(self) -> bool:
        """Whether the program failed because it waited for a peer in vain."""
        if self.failure is None or not FAILED & self.reasons:
            return False
        return fault_of(self.failure.message.partition("\n")[0]) is Fault.PEER

    @cached_property
    def peers(self) -> tuple[Raw, ...]:
        """The pods for which the failed one waited in vain, as far as they have logs."""
        failed = self.failure.pod if self.failure else ""
        others = (pod for pod in self.picture.pods if name_of(pod) != failed and _has_log(pod))
        return tuple(others) if self.is_peer_lost else ()

    @cached_property
    def etcd(self) -> tuple[str, str] | None:
        """Name and namespace of the Service where launchers meet; None for another address."""
        urls = (_master(pod) for pod in self.picture.pods)
        url = next(filter(None, urls), f"etcd://{ETCD}.{self.job.namespace}:2379")
        host = url.rpartition("//")[2].rpartition(":")[0].lower()
        name, _, domain = host.partition(".")
        namespace, _, rest = domain.partition(".")
        is_inside = rest in ("", "svc", "svc.cluster.local")
        is_name = name[:1].isalpha() and ":" not in host  # else it is an IPv4 or IPv6 address
        return (name, namespace or self.job.namespace) if is_name and is_inside else None


_NOTHING = Answer()


def read_event(raw: Raw) -> Event:
    """The Event, whatever of it is missing."""
    about = raw.get("involvedObject") or {}
    series = raw.get("series") or {}
    time = series.get("lastObservedTime") or raw.get("lastTimestamp") or raw.get("eventTime")
    return Event(
        time=str(time or (raw.get("metadata") or {}).get("creationTimestamp") or ""),
        type=str(raw.get("type") or ""),
        reason=str(raw.get("reason") or ""),
        message=str(raw.get("message") or ""),
        times=series.get("count") or raw.get("count") or 1,
        kind=str(about.get("kind") or ""),
        name=str(about.get("name") or ""),
        uid=str(about.get("uid") or ""),
    )


def _has_log(pod: Raw) -> bool:
    return has_started(container_status(pod, trainer_name(pod.get("spec") or {})))


def _master(pod: Raw) -> str:
    """The etcd's URL in the environment of the pod's trainer; empty if there is none."""
    env = trainer_of(pod.get("spec") or {}).get("env") or ()
    return next((str(each.get("value")) for each in env if each.get("name") == "PADDLE_MASTER"), "")
