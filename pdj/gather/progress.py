"""A job's training progress, from the last lines of its first worker, with the user's permissions.

The job's spec has the names of the pod and the container, so a running job needs one GET, or two
if the lines are long. Other jobs need none. If the log is silent, one GET for each of the first
MAX_WORKERS workers finds the worker that stopped first.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta

from api.constants import Role
from api.job import PaddleJob, pod_name
from api.objects import Raw, moment_of
from api.trainer import trainer_name
from api.training import TrainingProgress, add_point
from kube.client import Client
from kube.clock import Clock
from kube.errors import ApiError, Forbidden
from kube.logs import read_tail
from pdj.errors import Problem
from pdj.facts.facts import Facts
from pdj.facts.picture import JobPicture, read_job
from pdj.facts.training import Training
from pdj.gather.facts import gather
from pdj.gather.jobs import Handle
from pdj.gather.paths import log_path
from reconcile.model.stall import FirstSilent, first_silent
from reconcile.model.training import READ_PHASES, Reading, read_progress
from reconcile.words.progress import (
    MAX_LINES,
    Checkpoint,
    Line,
    Progress,
    ProgressReader,
    read_lines,
)

PERIOD_SECONDS = 5.0
REST_SECONDS = 15.0
"""The time between two reads of a silent or unreadable log, because reading one takes long."""
THREADS = 8
SILENT_SECONDS = 60.0
"""After this long without a line the logs of the other workers are read, too."""
MAX_WORKERS = 16
TALKING = timedelta(seconds=120)
"""A worker that fell silent this long before worker 0, or longer, is not the cause. If the lines
read from worker 0 span more time, their span is the limit.
"""


def read_training(
    client: Client, job: PaddleJob, clock: Clock, with_others: bool = True
) -> Training | None:
    """The progress in worker 0's log, or else in the status, which also has that of a job that has
    ended; None if the job does not run.
    """
    known, is_known = job.status.progress, 0 < job.status.progress.attempt == job.status.attempt
    points = tuple(known.curve_of(job.status.attempt))
    reported = Training(clock.now(), _of_status(known), points=points, is_reported=True)
    if job.status.is_terminal and is_known:
        return replace(reported, has_ended=True)
    if job.status.phase not in READ_PHASES or Role.WORKER not in job.spec.roles:
        return None
    try:
        lines = _read_lines(client, job, 0, MAX_LINES, 1)
    except ApiError as error:
        if isinstance(error, Forbidden) and is_known:
            return reported
        return Training(clock.now(), problem=error.message, points=points)
    reader = ProgressReader(known.total_steps if is_known else None)
    training = Training(clock.now(), reader.read(lines), points=points)
    if with_others and training.silent_seconds > SILENT_SECONDS:
        training = replace(training, first_silent=_first_silent(client, job, lines))
    return training


def read_trainings(client: Client, jobs: Iterable[Raw], clock: Clock) -> list[Training | None]:
    """The training of several jobs, read a few at a time, without finding who was silent first."""

    def read(raw: Raw) -> Training | None:
        try:
            return read_training(client, read_job(raw), clock, with_others=False)
        except Problem:  # a job of a version that cannot be read
            return None

    with ThreadPoolExecutor(THREADS, "progress") as pool:
        return list(pool.map(read, jobs))


class TrainingReader:
    """Reads one job's training, every few seconds at most. Only one thread may use it."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._read_at = -PERIOD_SECONDS
        self._key: tuple[object, ...] = ()
        self._last: Training | None = None

    def read(self, job: PaddleJob) -> Training | None:
        """The training, at most some seconds old, with a checkpoint seen earlier in the attempt."""
        key = (job.uid, job.status.attempt, job.status.phase)
        last = self._last
        is_slow = last and (last.problem or last.silent_seconds > SILENT_SECONDS)
        period = REST_SECONDS if is_slow else PERIOD_SECONDS
        if key == self._key and self._clock.monotonic() < self._read_at + period:
            return last
        training = read_training(self._client, job, self._clock)
        if training:
            training = _with_seen(training, last if key == self._key else None)
        self._key, self._read_at, self._last = key, self._clock.monotonic(), training
        return training


def _with_seen(training: Training, last: Training | None) -> Training:
    """The training with what was seen of the attempt before: its checkpoint and its losses."""
    progress, points = training.progress, last.points if last else training.points
    if last and not progress.checkpoint:
        progress = progress._replace(checkpoint=last.progress.checkpoint)
    point = read_progress(TrainingProgress(), Reading(progress, 0)).point
    if point and not training.is_reported and (not points or points[-1].time <= point.time):
        points = tuple(add_point(map(str, points), point))
    return replace(training, progress=progress, points=points)


def with_training(handle: Handle, pictures: Iterable[JobPicture]) -> Iterator[Facts]:
    """The facts that are drawn of a job, for each of its pictures."""
    read = TrainingReader(handle.client, handle.clock).read
    facts: Facts | None = None
    for picture in pictures:
        # Whether workers train alone is not asked again each second, nor forgotten.
        is_known = facts is not None and (facts.alone or picture == facts.picture)
        known = facts.answers if facts is not None and is_known else {}
        facts = gather(handle.client, picture, read, "head", known)
        yield facts


def _of_status(known: TrainingProgress) -> Progress:
    """The progress in the status, for users without the right to read logs."""
    saved, saved_at = known.checkpoint, moment_of(known.checkpoint.time)
    epochs = [int(each) for each in known.epoch.split("/") if each.isdecimal()]
    return Progress(
        step=known.step,
        total=known.total_steps,
        epoch=epochs[0] if epochs else None,
        epochs=epochs[1] if len(epochs) > 1 else None,
        metrics=tuple((each.name, each.value) for each in known.metrics),
        samples_per_second=known.samples_per_second or None,
        checkpoint=Checkpoint(saved.step, saved.path, saved_at)
        if saved.step is not None and saved_at
        else None,
        quiet_until=moment_of(known.quiet_until),
        last_output_time=moment_of(known.last_output_time),
        last_step_time=moment_of(known.last_step_time),
    )


def _read_lines(client: Client, job: PaddleJob, worker: int, *counts: int) -> list[Line]:
    """The last lines of a worker: so many as the first number in `counts`, or the next number if
    they are too long.
    """
    path = log_path(job.namespace, pod_name(job.name, Role.WORKER, worker))
    container = trainer_name(job.spec.roles[Role.WORKER].pod_spec)
    return read_lines(read_tail(client, path, container, counts))


def _first_silent(client: Client, job: PaddleJob, lines: list[Line]) -> FirstSilent:
    """Find the worker that stopped first, among those that wrote while worker 0 still did."""

    def last_time(worker: int) -> datetime | None:
        try:
            last = _read_lines(client, job, worker, 1)
        except ApiError:
            return None
        return last[-1].time if last else None

    others = range(1, min(MAX_WORKERS, job.spec.roles[Role.WORKER].replicas))
    with ThreadPoolExecutor(THREADS, "progress") as pool:
        times = [lines[-1].time, *pool.map(last_time, others)]
    lead = max(TALKING, lines[-1].time - lines[0].time)
    return first_silent([(f"{Role.WORKER}-{at}", time) for at, time in enumerate(times)], lead)
