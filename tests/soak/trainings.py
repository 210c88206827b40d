"""Trainings that outlive the rounds: some only pause for long, and some really hang.

Each is judged by the operator. Those that pause must never be told to stall; those that hang in
their first attempt are restarted once, also when the leader changes meanwhile.
"""

import contextlib
import os
import signal
from collections.abc import Iterable
from dataclasses import dataclass, field

from api.constants import Condition, Reason
from api.objects import Raw, name_of, namespace_of
from api.status import MAX_FAILURES
from localcluster.client.rest import has_condition
from localcluster.machine import clock
from tests.live.faulty import only_first
from tests.live.lab import paddle_job, shell
from tests.soak.jobs import COMPLETED, FAILED, RUNNING
from tests.soak.place import NAMESPACES, OPERATORS, TROUBLE, Place

AFTER_SECONDS = 120
NOTICE_SECONDS = 60.0
UNREAD_SECONDS = 120.0
"""For so long a node's logs may not be read that has not answered twice."""
STRUCK_SECONDS = 100.0
"""So long after an odd hang began, just before it is told, the leader is killed."""
MAX_LOG_BYTES = 400_000
PAUSES, HANGS = "pauses-", "hangs-"
STEP = "i=0; step() { i=$((i + 1)); echo paddlejob: step=$i total=99999 loss=0.5 $*; sleep 5; }; "
MINUTE = "for n in $(seq 12); do step; done; "
ANNOUNCED = "step quiet=300; "
PAUSING = {
    "evaluates": ("Output", f"{ANNOUNCED} sleep $((150 + i * 7 % 86))"),
    "tests": (
        "Step",
        f"{ANNOUNCED} for n in $(seq $((75 + i % 40))); do echo test $n; sleep 2; done",
    ),
    "saves": ("Output", "echo saves; sleep 95; step checkpoint=$i"),
    "stores": ("Step", "for n in $(seq 9); do echo stores; sleep 10; done; step checkpoint=$i"),
    "pours": ("Step", "for n in $(seq 12); do seq 10000 11000; step; done"),
}
"""What each does after a minute of steps, and by what it is judged."""
HANGING = {
    "silent": ("Output", "echo paddlejob: step=1 total=9; exec sleep 9999"),
    "spins": ("Step", "while true; do echo paddlejob: step=1 total=9; sleep 7; done"),
    "stuck": ("Output", "echo paddlejob: step=1 total=9 loss=2; exec sleep 9999"),
}
GOES_ON = f"{{ {STEP} {MINUTE} {MINUTE} {MINUTE} {MINUTE} exit 0; }}"


def pausing(kind: str) -> Raw:
    """A job that trains for ever, with pauses."""
    of, then = PAUSING[kind]
    template = shell(f"{STEP} while true; do {MINUTE} {then}; done")
    return _judged(f"{PAUSES}{kind}", template, of)


def hanging(kind: str, number: int) -> Raw:
    """A job that hangs in its first attempt, and trains for a while in any other."""
    of, hangs = HANGING[kind]
    return _judged(f"{HANGS}{kind}-{number}", only_first(hangs, GOES_ON), of)


def _judged(name: str, template: Raw, of: str) -> Raw:
    template["spec"]["terminationGracePeriodSeconds"] = 1
    policy = {"afterSeconds": AFTER_SECONDS, "of": of, "action": "Restart"}
    return paddle_job(name, {"worker": (1, template)}, stallPolicy=policy, backoffLimit=1000)


def is_training(name: str) -> bool:
    """Whether a job or a child of this name is of these trainings."""
    return name.startswith((PAUSES, HANGS))


def is_of_training(write: str) -> bool:
    """Whether a write is about one of them, as the audit log has it."""
    return is_training(write.rpartition("/")[2])


def wrong_stall(job: Raw) -> list[str]:
    """What must not be in any version of a training's status."""
    status, name = job.get("status") or {}, name_of(job)
    failures = status.get("failures") or []
    stalls = _stalls(status)
    wrong = []
    if name.startswith(PAUSES):
        told = [
            c for c in status.get("conditions") or () if c["type"] == Condition.TRAINING_STALLED
        ]
        if stalls or told or status.get("phase") == FAILED:
            wrong.append(f"only paused, and is told to stall: {status}")
    elif name.startswith(HANGS):
        if len(stalls) > 1 or any(failure.get("attempt") != 1 for failure in stalls):
            wrong.append(f"hung once, and was restarted for it again: {failures}")
        if len(failures) < MAX_FAILURES and status.get("failureCount", 0) > len(failures):
            wrong.append(f"was charged {status['failureCount']} times: {failures}")
    return wrong


def begins_to_stall(job: Raw) -> bool:
    """Whether a hang is told, and not answered yet."""
    return name_of(job).startswith(HANGS) and has_condition(job, Condition.TRAINING_STALLED)


def _stalls(status: Raw) -> list[Raw]:
    return [f for f in status.get("failures") or () if f["reason"] == Reason.TRAINING_STALLED]


@dataclass(slots=True)
class Hang:
    kind: str
    number: int = 0
    began: float | None = None
    """When it was first seen to run."""
    changes: int = 0
    """How often the leader has changed since."""
    is_struck: bool = False
    is_restarted: bool = False
    is_over: bool = False
    """Whether it trains no more, or something else has ended the first attempt."""

    @property
    def name(self) -> str:
        return f"{HANGS}{self.kind}-{self.number}"

    @property
    def is_on(self) -> bool:
        return self.began is not None and not self.is_restarted and not self.is_over


@dataclass
class Trainings:
    """Those of a place. One thread's, but for `see`."""

    place: Place
    seconds: list[tuple[float, int]] = field(default_factory=list)
    """How long each hang lasted until its restart, and how often the leader changed meanwhile."""
    disturbed: int = 0
    """Hangs that something else has ended."""
    rotated: int = 0
    changed_at: float = 0.0
    """When an operator last was started, or another has led."""
    _reign: tuple[str, int] = ("", 0)
    _hangs: list[Hang] = field(default_factory=lambda: [Hang(kind) for kind in HANGING])

    def begin(self) -> None:
        """Submit those that pause: they stay till the end."""
        for number, kind in enumerate(PAUSING):
            self._create(number, pausing(kind))

    def hanging(self) -> list[str]:
        return [hang.name for hang in self._hangs if hang.is_on]

    def see(self, job: Raw) -> None:
        """A version of a job: kill the leader as soon as every other hang is told."""
        for hang in self._hangs:
            if name_of(job) == hang.name and hang.number % 2 == 0 and begins_to_stall(job):
                self._strike(hang)

    def tend(self, jobs: Iterable[Raw]) -> None:
        """Take note of what has become of them, submit what is missing, and rotate the logs."""
        there = {name_of(job): job for job in jobs}
        reign = self.place.leader, sum(self.place.starts[name] for name in OPERATORS)
        for hang in self._hangs:
            hang.changes += reign != self._reign
            if hang.name in there:
                self._note(hang, there[hang.name].get("status") or {})
            elif not hang.is_over:
                self._create(hang.number, hanging(hang.kind, hang.number))
        if reign != self._reign:
            self._reign, self.changed_at = reign, clock.monotonic()
        with contextlib.suppress(FileNotFoundError):  # a pod went meanwhile: the others are next
            for log in self.place.folder.glob("state/run-*/node-*/pods/*/logs/*/*.log"):
                if log.stat().st_size > MAX_LOG_BYTES:
                    os.truncate(log, 0)
                    self.rotated += 1

    def renew(self, jobs: Iterable[Raw]) -> None:
        """Delete the hangs that are over: others take their place."""
        self._hangs = [
            Hang(hang.kind, hang.number + 1) if hang.is_over else hang for hang in self._hangs
        ]
        names = [hang.name for hang in self._hangs]
        for job in jobs:
            if name_of(job).startswith(HANGS) and name_of(job) not in names:
                self.place.client.delete(self.place.job_path(namespace_of(job), name_of(job)))

    def _note(self, hang: Hang, status: Raw) -> None:
        now, attempt, phase = clock.monotonic(), status.get("attempt", 0), status.get("phase")
        hang.is_over |= phase == COMPLETED
        if hang.is_restarted or hang.is_over:
            return
        if hang.began is None:
            if attempt == 1 and phase == RUNNING:
                hang.began, hang.changes = now, 0
        elif attempt > 1 and _stalls(status):
            hang.is_restarted = True
            self.seconds.append((now - hang.began, hang.changes))
        elif hang.number % 2 and now > hang.began + STRUCK_SECONDS:
            self._strike(hang)
        if attempt > 1 and not hang.is_restarted:
            hang.is_over = True
            self.disturbed += 1

    def _strike(self, hang: Hang) -> None:
        if not hang.is_struck:
            hang.is_struck = True
            self.place.signal(signal.SIGKILL, self.place.leader)

    def _create(self, number: int, job: Raw) -> None:
        path = self.place.job_path(NAMESPACES[number % len(NAMESPACES)])
        with contextlib.suppress(*TROUBLE):
            self.place.client.create(path, job)
