"""When each pod of a job waited, started, ran and ended, including pods that are gone.

Existing pods are described by their status. Pods that are gone are described by the failure records
and by their Events, as long as the cluster keeps these. Pure.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from api.job import PaddleJob
from api.objects import Raw, condition_of, name_of, uid_of
from api.status import Failure
from pdj.facts.facts import Event
from pdj.facts.picture import JobPicture
from pdj.gather.pods import read_pod, trainer_status
from pdj.text.rows import seconds
from pdj.text.status import failure_text


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a pod. It begins when the pod is created, or when the run before it has ended.

    A time is None if it is unknown or still to come. `ending` says how the run ended; it is empty
    after a success, or if unknown. `state` is the pod's state.
    """

    pod: str
    created: float | None
    scheduled: float | None = None
    started: float | None = None
    finished: float | None = None
    ending: str = ""
    state: str = ""
    is_past: bool = False


def runs_of(picture: JobPicture, events: tuple[Event, ...]) -> dict[str, list[Run]]:
    """The runs under each pod name, oldest first."""
    runs = [*_past_runs(picture, events)]
    runs += [run for raw in picture.pods for run in _live_runs(raw)]
    pods: dict[str, list[Run]] = {}
    for run in sorted(runs, key=lambda run: run.created or 0.0):
        before = pods.setdefault(run.pod, [])
        if before:
            before[-1] = _ended_by(before[-1], run)
        before.append(run)
    return pods


def _ended_by(run: Run, following: Run) -> Run:
    """The run, with an end no later than the beginning of the next run under this pod name.

    The recorded end can be missing, or can be that of another pod.
    """
    begin = following.created or 0.0
    if run.finished is not None and run.finished <= begin:
        return run
    return replace(run, finished=begin, ending="")


def _live_runs(raw: Raw) -> Iterator[Run]:
    """Up to two runs: the one before the container's last restart, if any, then the present one."""
    status, name = trainer_status(raw), name_of(raw)
    placed = seconds((condition_of(raw, "PodScheduled") or {}).get("lastTransitionTime"))
    created = seconds(raw["metadata"].get("creationTimestamp"))
    before = (status.get("lastState") or {}).get("terminated")
    if before:
        started, finished = seconds(before.get("startedAt")), seconds(before.get("finishedAt"))
        yield Run(name, created, placed, started, finished, _ending(before), "", is_past=True)
        created = placed = finished
    state = status.get("state") or {}
    ended = state.get("terminated") or {}
    run = ended or state.get("running") or {}
    ending = _ending(ended) if ended.get("exitCode") else ""
    times = seconds(run.get("startedAt")), seconds(run.get("finishedAt"))
    yield Run(name, created, placed, *times, ending, read_pod(raw).state)


def _ending(ended: Raw) -> str:
    signal = f", signal {ended['signal']}" if ended.get("signal") else ""
    return f"{ended.get('reason') or 'Error'}, exit code {ended.get('exitCode')}{signal}"


def _past_runs(picture: JobPicture, events: tuple[Event, ...]) -> Iterator[Run]:
    for name, told in _told_by_events(picture, events).items():
        runs = sorted(told, key=lambda moments: min(moments.values()))
        following = [min(moments.values()) for moments in runs[1:]]
        failures = failures_by_time(picture.job)
        for moments, until in zip(runs, [*following, math.inf], strict=True):
            ended = _take_failure(failures, moments, until)
            end = seconds(picture.job.status.completion_time) if until == math.inf else until
            yield _past_run(name, moments, ended, end)


def _told_by_events(
    picture: JobPicture, events: tuple[Event, ...]
) -> dict[str, list[dict[str, float]]]:
    """The pods that are gone, by name. For each pod: the time of its first Event of each reason."""
    there = {uid_of(raw) for raw in picture.pods}
    told: dict[str, dict[str, dict[str, float]]] = {}
    for event in events:
        when = seconds(event.time)
        if event.kind == "Pod" and event.uid not in there and when is not None:
            pods = told.setdefault(event.name, {})
            pods.setdefault(event.uid, {}).setdefault(event.reason, when)
    return {name: list(pods.values()) for name, pods in told.items()}


def failures_by_time(job: PaddleJob) -> list[tuple[float, Failure]]:
    """The failure records whose time can be read, with that time."""
    times = [(seconds(each.time), each) for each in job.status.failures]
    return [(when, each) for when, each in times if when is not None]


def _take_failure(
    failures: list[tuple[float, Failure]], moments: dict[str, float], until: float
) -> tuple[float, Failure] | None:
    """Return the record of this pod's end. Remove it and all earlier records from the list.

    Each record is used once, because times are whole seconds, and a pod can start in the second in
    which its predecessor of the same name ended. Returns None if the status no longer has the
    record: old records are dropped.
    """
    living = [when for reason, when in moments.items() if reason != "Killing"]
    alive = int(max(living, default=0.0))
    for at, (when, failure) in enumerate(failures):
        if alive <= when <= until:
            del failures[: at + 1]
            return when, failure
    return None


def _past_run(
    name: str, moments: dict[str, float], ended: tuple[float, Failure] | None, end: float | None
) -> Run:
    scheduled, started = moments.get("Scheduled"), moments.get("Started")
    if scheduled is not None and started is not None:
        scheduled = min(scheduled, started)  # `started` can be in whole seconds only
    finished = moments.get("Killing") or end
    ending = ""
    if ended is not None:
        when, failure = ended
        ending = failure_text(failure) if failure.pod == name else ""
        finished = when if ending or finished is None else min(finished, when)
    first, last = min(moments.values()), max(moments.values())
    return Run(name, first, scheduled, started, finished or last, ending, is_past=True)
