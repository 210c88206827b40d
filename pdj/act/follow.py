"""The log of a job, up to now or until it ends: its lines, and the news that belong to them."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from api.constants import Condition, Phase, Reason
from api.objects import name_of
from api.status import Failure, JobStatus, headline_condition
from kube.client import Client
from kube.errors import ApiError
from pdj.errors import Problem
from pdj.facts.picture import JobPicture, has_ended
from pdj.gather.facts import gather
from pdj.gather.joblog import JobLog, choose
from pdj.gather.jobs import Handle, look, with_pods
from pdj.gather.live import LiveJob, gone, is_another
from pdj.gather.logs import Wish
from pdj.gather.merge import LogLine, Source
from pdj.gather.paths import config_map_path
from pdj.text.status import describe_failure
from reconcile.objects.kept_log import kept_log_name, unpack_log

TAKE_SECONDS = 0.2
MAX_NAMES = 10
DRAIN_SECONDS = 60.0
"""How long to read after the job's end: its last pods can take their grace period to stop."""
KEEP = "docs/launcher.md#the-logs-of-every-attempt"


class Turn(NamedTuple):
    """What a look at the log has brought: the job, notes for people, and then lines.

    A line without a time is of a pod whose log is gone.
    """

    picture: JobPicture | None
    notes: Sequence[str] = ()
    lines: Sequence[LogLine] = ()


def read_log(handle: Handle, wish: Wish) -> Generator[Turn]:
    """Yield the lines up to now; to follow a log, until the job, which need not exist yet, has
    ended. Raises NoLogs, Problem if there is no such job or log, and TimedOut.
    """
    client = handle.client
    with JobLog(handle, wish) as log:
        if wish.follow:
            picture = yield from _follow(handle, log)
            notes = [_end(picture)]
        else:
            picture, notes = look(client, handle.namespace, handle.name), []
            yield Turn(picture)
            log.follow(picture)
            while not log.is_done:
                yield Turn(picture, lines=log.take(TAKE_SECONDS))
            log.take(0)  # raises, if a log could not be read
        if log.is_empty:
            yield _of_the_gone(client, picture, wish)
        if alone := gather(client, picture, only="head").alone:
            notes.insert(0, f"--- {Reason.TRAINED_ALONE}: {alone}")
        yield Turn(picture, notes)


def _follow(handle: Handle, log: JobLog) -> Generator[Turn, None, JobPicture]:
    """Yield what there is until the job has ended, and its log has been read; returns the job."""
    shown: JobPicture | None = None
    is_awaited = False
    with LiveJob(handle) as live:
        while True:
            is_known, picture = live.is_known, live.picture()
            if picture is not None and is_another(picture, shown):
                picture = None
            yield Turn(picture)
            notes: list[str] = []
            if picture is None and is_known and shown is not None:
                yield from _drain(handle, log)
                raise gone(handle.name)
            if picture is None and is_known and not is_awaited:
                where = f"{handle.name} in namespace {handle.namespace}"
                notes = [f"--- there is no job {where} yet: waiting for it"]
                is_awaited = True
            if picture is not None and picture != shown:
                log.follow(picture)
                notes = _begin(shown, picture)
                shown = picture
            lines = log.take(0)
            if notes or lines:
                yield Turn(picture, notes, lines)
            if picture is not None and has_ended(picture.raw):
                break
            live.wait(0 if lines else TAKE_SECONDS)
    with suppress(ApiError):  # what has ended is known; the watch of its pods can be behind
        log.follow(with_pods(handle.client, picture.raw))
    yield from _drain(handle, log)
    return picture


def _drain(handle: Handle, log: JobLog) -> Iterator[Turn]:
    """Yield the remaining lines, for DRAIN_SECONDS: a job ends before all of its pods do."""
    until = handle.clock.monotonic() + DRAIN_SECONDS
    while not log.is_done and handle.clock.monotonic() < until:
        yield Turn(None, lines=log.take(TAKE_SECONDS))


def _begin(before: JobPicture | None, now: JobPicture) -> list[str]:
    """If the job has begun a new attempt, why the previous one ended."""
    if before is None or before.job.status.attempt == now.job.status.attempt:
        return []
    restarting = now.job.status.condition(Condition.RESTARTING)
    if now.job.status.phase == Phase.SUSPENDED or restarting is None or not restarting.message:
        return []
    ended = f"--- attempt {before.job.status.attempt} has ended"
    return [f"{ended}: {restarting.reason}: {restarting.message}"]


def _end(picture: JobPicture) -> str:
    status = picture.job.status
    told = headline_condition(status)
    why = f": {told.reason}: {told.message}" if told else ""
    return f"--- {picture.job.name} {status.phase}{why}"


def _of_the_gone(client: Client, picture: JobPicture, wish: Wish) -> Turn:
    """Why there is no log to read, and the lines that are kept of failed pods."""
    _refuse_unknown(picture, wish)
    status, wanted = picture.job.status, wish.attempt
    if not status.is_terminal and not status.failures:
        return Turn(picture, ["no pod of the job has started yet (-f waits for them)"])
    failures = [each for each in status.failures if wanted in (None, each.attempt)]
    notes = _why_gone(status, wanted, bool(failures))
    notes += [f"attempt {each.attempt}: {describe_failure(each)}" for each in failures]
    return Turn(
        picture, notes, [line for each in failures for line in _kept(client, picture, each)]
    )


def _kept(client: Client, picture: JobPicture, failure: Failure) -> Iterator[LogLine]:
    """The part of the pod's log that the operator has kept, or else the last lines in `failure`."""
    job, attempt = picture.job, failure.attempt
    path = config_map_path(job.namespace, kept_log_name(job.name, attempt))
    try:
        found = client.find(path)
    except ApiError:
        found = None
    source = Source(failure.pod, "", "", 0, attempt, "")
    for line in unpack_log(found or {}, failure.pod) or failure.message.splitlines():
        yield LogLine(0, "", source, line.encode(errors="replace"))


def _why_gone(status: JobStatus, wanted: int | None, is_recorded: bool) -> list[str]:
    """Why there is no log to read, and for an earlier attempt what the status keeps of it."""
    if not _has_run(status):
        return ["no pod of the job has ever started"]
    if wanted is None or wanted == status.attempt:
        return ["the pods with the logs are gone (see cleanPodPolicy)"]
    if wanted > status.attempt:
        return [f"the job has had {status.attempt} attempts"]
    kept = "the last lines of its failed pods" if is_recorded else "only the last five failures"
    return [
        f"the pods of attempt {wanted} and their logs are gone; the job's status keeps {kept}",
        f"to keep whole logs, or their last lines: {KEEP}",
    ]


def _has_run(status: JobStatus) -> bool:
    """Whether the status shows that a container of the job has ever run.

    The condition Running is False from the job's start: if it changed later, all pods have run.
    """
    running = status.condition(Condition.RUNNING)
    changed = running is not None and running.last_transition_time > status.start_time
    ended = any((each.exit_code, each.signal) != (None, None) for each in status.failures)
    return changed or ended or status.attempt > 1 or status.phase == Phase.COMPLETED


def _refuse_unknown(picture: JobPicture, wish: Wish) -> None:
    """Raise Problem if the job has pods, but none of them is chosen.

    A choice of an earlier attempt is not checked, because its pods are gone.
    """
    now = picture.job.status.attempt
    if not picture.pods or (wish.attempt is not None and wish.attempt < now):
        return
    if not any(choose(picture.pods, wish)):
        names = [name_of(pod).removeprefix(f"{picture.job.name}-") for pod in picture.pods]
        more = ", …" * (len(names) > MAX_NAMES)
        raise Problem(
            "no container of the job's pods has this role, index, attempt and name; "
            f"the pods are of attempt {now}: {', '.join(names[:MAX_NAMES])}{more}"
        )
