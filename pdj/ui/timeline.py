"""Draws a job's life as bars: its phases, its attempts, and its pods with what ended each.

Pure. Attempts whose pods are gone come from the failure records, past phases from the Events that
still exist. Times are seconds since 1970.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from api.constants import TERMINAL_PHASES, Condition, Phase, Reason
from api.job import PaddleJob
from pdj.facts.facts import Event
from pdj.facts.picture import JobPicture, pod_order
from pdj.text.rows import seconds
from pdj.text.status import failure_text
from pdj.ui.runs import Run, failures_by_time, runs_of

MAX_PODS = 40
_ORDER: list[str] = list(Phase)
"""Sorts phases that began in the same second: times in Kubernetes are whole seconds."""
_BY_EVENT: dict[str, Phase] = {
    Reason.CREATED: Phase.PENDING,
    Reason.ALL_PODS_RUNNING: Phase.RUNNING,
    Reason.SUSPENDED: Phase.SUSPENDED,
    Reason.RESUMED: Phase.PENDING,
}
_BY_CONDITION = {
    Condition.PODS_SCHEDULED: Phase.STARTING,
    Condition.RUNNING: Phase.RUNNING,
    Condition.RESTARTING: Phase.RESTARTING,
    Condition.SUSPENDED: Phase.SUSPENDED,
}
_ENDS: dict[str, str] = {Phase.COMPLETED: "done", Phase.FAILED: "broken"}


@dataclass(frozen=True, slots=True)
class Bar:
    """A period of time; `end` is None if it goes on."""

    start: float
    end: float | None
    state: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class Lane:
    """Bars in one row. `kind` is phases, attempts or pod; `name` is a pod's name, or empty."""

    kind: str
    bars: list[Bar]
    name: str = ""
    marks: list[tuple[float, str]] = field(default_factory=list)
    """Time and cause of each end of an attempt, or of a run of the pod."""


def draw_timeline(picture: JobPicture, events: tuple[Event, ...]) -> dict[str, Any]:
    """The lanes, and the number of pods for which there is no lane."""
    job = picture.job
    by_pod = runs_of(picture, events)
    runs = [run for mine in by_pod.values() for run in mine]
    pods = _chosen(by_pod)
    points = sorted(_points(job, runs, events), key=lambda each: (each[0], _ORDER.index(each[1])))
    ends = [(when, failure_text(each)) for when, each in failures_by_time(job)]
    lanes = [
        Lane("phases", list(_phases(job, points))),
        Lane("attempts", list(_attempts(job, runs)), marks=ends),
        *(_lane(name, mine) for name, mine in pods[:MAX_PODS]),
    ]
    return {
        "start": job.created_at.timestamp(),
        "end": seconds(job.status.completion_time),
        "lanes": [asdict(lane) for lane in lanes],
        "more": max(0, len(pods) - MAX_PODS),
    }


def _chosen(pods: dict[str, list[Run]]) -> list[tuple[str, list[Run]]]:
    """The pods in order; if there are too many, those that do not run come first."""
    by_name = sorted(pods.items(), key=lambda pod: pod_order(pod[0]))
    if len(by_name) > MAX_PODS:
        by_name.sort(key=lambda pod: pod[1][-1].state == "Running")
    return by_name


def _phases(job: PaddleJob, points: list[tuple[float, str]]) -> Iterator[Bar]:
    """A bar from each change of the phase to the next."""
    end = seconds(job.status.completion_time)
    first, *later = points  # perhaps the job ended in the second of its creation
    points = [first, *(point for point in later if end is None or point[0] < end)]
    phase = job.status.phase
    if phase and phase not in TERMINAL_PHASES and points[-1][1] != phase:
        points.append((max(points[-1][0], _last_change(job)), phase))
    start, state = points[0]
    for when, following in points[1:]:
        if following != state:
            if when > start:
                yield Bar(start, when, state)
            start, state = when, following
    yield Bar(start, end, state)


def _points(
    job: PaddleJob, runs: list[Run], events: tuple[Event, ...]
) -> Iterator[tuple[float, str]]:
    """The known times at which a phase began, with that phase; unsorted."""
    yield job.created_at.timestamp(), Phase.PENDING
    for event in events:
        phase, when = _BY_EVENT.get(event.reason), seconds(event.time)
        if event.uid == job.uid and phase and when is not None:
            yield when, phase
    for kind, phase in _BY_CONDITION.items():
        condition = job.status.condition(kind)
        if condition is not None and condition.status:
            yield seconds(condition.last_transition_time) or 0.0, phase
    yield from _points_of_attempts(job, runs)


def _points_of_attempts(job: PaddleJob, runs: list[Run]) -> Iterator[tuple[float, str]]:
    """When all pods of an attempt were scheduled, when all ran, and when the attempt ended.

    Needs no Events of the job.
    """
    begin = 0.0
    ends = [(seconds(each.time), each.attempt) for each in job.status.failures]
    for end, attempt in [*ends, (None, job.status.attempt)]:
        mine = [run for run in runs if _is_within(run, begin, end)]
        for phase, times in (
            (Phase.STARTING, [run.scheduled for run in mine]),
            (Phase.RUNNING, [run.started for run in mine]),
        ):
            known = [time for time in times if time is not None]
            if known and len(known) >= job.spec.total_replicas:
                yield max(known), phase
        if end is not None:
            begin = end
            if attempt < job.status.attempt:
                yield end, Phase.RESTARTING


def _is_within(run: Run, begin: float, end: float | None) -> bool:
    created = run.created or 0.0
    return created >= begin and (end is None or created < end)


def _last_change(job: PaddleJob) -> float:
    times = [seconds(each.last_transition_time) for each in job.status.conditions]
    return max((time for time in times if time is not None), default=0.0)


def _attempts(job: PaddleJob, runs: list[Run]) -> Iterator[Bar]:
    """A bar for each recorded attempt, and for the current one. Attempts without a record are
    merged into the next attempt with a record.
    """
    status, ended = job.status, seconds(job.status.completion_time)
    end, number = job.created_at.timestamp(), 1
    for when, failure in failures_by_time(job):
        if failure.attempt < number or failure.attempt >= status.attempt:
            continue
        label = str(number) if number == failure.attempt else f"{number}–{failure.attempt}"
        start, end = _begin(runs, end, when), max(when, end)
        yield Bar(start, end, "ended", label)
        number = failure.attempt + 1
    if status.attempt and status.phase != Phase.RESTARTING:
        start = _begin(runs, end, None)
        yield Bar(start, ended, _ENDS.get(status.phase, "current"), str(status.attempt))


def _begin(runs: list[Run], begin: float, end: float | None) -> float:
    """The first creation of a pod from `begin` on and before `end`; `begin` if there is none."""
    return min((run.created or begin for run in runs if _is_within(run, begin, end)), default=begin)


def _lane(name: str, runs: list[Run]) -> Lane:
    bars = [bar for run in runs for bar in _bars(run)]
    marks = [(run.finished, run.ending) for run in runs if run.finished and run.ending]
    return Lane("pod", bars, name, marks)


def _bars(run: Run) -> Iterator[Bar]:
    """The bars of a pod: waiting for a node, starting, running, as far as it got."""
    steps = [(run.created, "waiting"), (run.scheduled, "starting"), (run.started, _ran(run))]
    known = [(when, state) for when, state in steps if when is not None]
    for at, (when, state) in enumerate(known):
        end = known[at + 1][0] if at + 1 < len(known) else run.finished
        if end is None or end > when or at + 1 == len(known):
            yield Bar(when, end, state, run.state)


def _ran(run: Run) -> str:
    if run.finished is None:
        return "running"
    if run.ending:
        return "broken"
    return "stopped" if run.is_past else "done"
