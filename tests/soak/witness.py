"""Looks at every version of every job and pod as it comes, and finds what must never be.

`see` takes the events of two watches, in any order of the two: what came first, their versions
tell. Any thread may call.
"""

import threading
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from api.constants import LABEL_ATTEMPT, LABEL_INDEX, LABEL_ROLE
from api.objects import Raw, labels_of, name_of, namespace_of, uid_of
from api.ownership import owner_of
from tests.faults.invariants import TERMINAL, TERMINAL_POD, wrong_steps
from tests.live.history import version_of
from tests.soak.trainings import wrong_stall


@dataclass(frozen=True, slots=True)
class PodLife:
    """A pod: whose it is, and when it was made. `made` is 0 for one that was there before."""

    name: str
    job: str
    place: tuple[str, str]
    attempt: int
    made: int
    is_live: bool


class Witness:
    """What it has seen of jobs and pods, and what was wrong with it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        """Guards all that follows."""
        self._violations: list[str] = []
        self._jobs: dict[str, Raw] = {}
        self._ended_at: dict[str, int] = {}
        """By the job's UID, the version with which it ended."""
        self._pods: dict[str, PodLife] = {}
        self._versions = 0

    def see(self, type_: str, obj: Raw) -> None:
        """An event of a watch, or an object of a list (`LISTED`)."""
        with self._lock:
            self._versions += 1
            if obj["kind"] == "PaddleJob":
                self._see_job(type_, obj)
            elif obj["kind"] == "Pod" and (owner := owner_of(obj)) is not None:
                self._see_pod(type_, obj, owner.uid)

    def see_list(self, kind: str, objects: Iterable[Raw]) -> None:
        """All that there are of a kind: what is not among them has gone while nobody looked."""
        told = [{"kind": kind, **obj} for obj in objects]
        there = {uid_of(obj) for obj in told}
        with self._lock:
            known: dict[str, Any] = self._jobs if kind == "PaddleJob" else self._pods
            for uid in known.keys() - there:
                del known[uid]
        for obj in told:
            self.see("LISTED", obj)

    def jobs(self) -> list[Raw]:
        """The jobs that there are, as they were last seen."""
        with self._lock:
            return list(self._jobs.values())

    def take_violations(self) -> list[str]:
        """What has come to light since the last time."""
        with self._lock:
            found, self._violations = self._violations + self._late_pods(), []
            return found

    @property
    def versions(self) -> int:
        """How many events were looked at."""
        with self._lock:
            return self._versions

    def _see_job(self, type_: str, job: Raw) -> None:
        uid = uid_of(job)
        if type_ == "DELETED":
            self._jobs.pop(uid, None)
            return
        before = (self._jobs.get(uid) or {}).get("status") or {}
        after = job.get("status") or {}
        self._jobs[uid] = job
        self._violations += [
            f"{_path(job)}: {wrong}" for wrong in wrong_steps(before, after) + wrong_stall(job)
        ]
        if after.get("phase") in TERMINAL:
            self._ended_at.setdefault(uid, version_of(job))

    def _see_pod(self, type_: str, pod: Raw, job: str) -> None:
        life = _life_of(pod, job, version_of(pod) if type_ == "ADDED" else 0)
        known = self._pods.get(uid_of(pod))
        if type_ == "DELETED":
            self._pods.pop(uid_of(pod), None)
            return
        if known is None:
            self._violations += [f"{_path(pod)}: {w}" for w in self._wrong_births(life)]
        self._pods[uid_of(pod)] = replace(life, made=known.made) if known else life

    def _wrong_births(self, life: PodLife) -> list[str]:
        others = [pod for pod in self._pods.values() if pod.job == life.job and pod.is_live]
        wrong = [
            f"made while {pod.name} lives, which is {'-'.join(pod.place)} of the same job"
            for pod in others
            if pod.place == life.place
        ]
        is_elastic = "elastic" in (self._jobs.get(life.job) or {}).get("spec", {})
        older = [pod for pod in others if pod.attempt < life.attempt and life.made]
        if older and not is_elastic:
            wrong.append(
                f"made for attempt {life.attempt} while {older[0].name} of {older[0].attempt} lives"
            )
        return wrong

    def _late_pods(self) -> list[str]:
        return [
            f"{pod.name} was made after its job's end"
            for pod in self._pods.values()
            if pod.made > self._ended_at.get(pod.job, pod.made)
        ]


def _life_of(pod: Raw, job: str, made: int) -> PodLife:
    labels = labels_of(pod)
    is_live = (pod.get("status") or {}).get("phase") not in TERMINAL_POD
    place = (labels.get(LABEL_ROLE, ""), labels.get(LABEL_INDEX, ""))
    attempt = int(labels.get(LABEL_ATTEMPT) or 0)
    return PodLife(name_of(pod), job, place, attempt, made, is_live)


def _path(obj: Raw) -> str:
    return f"{obj['kind']} {namespace_of(obj)}/{name_of(obj)}"
