"""`logs JOB`: the logs of all pods in order of time, up to now or until the job ends."""

import argparse
import copy
import math
import re
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, suppress
from typing import Any

from api.constants import Condition, Phase, Reason, Role
from api.objects import Raw, name_of
from api.status import Failure, JobStatus, headline_condition
from kube.errors import ApiError
from pdj.commands.options import job_name, natural, seconds
from pdj.errors import FAILED, OK, Problem
from pdj.facts.picture import JobPicture
from pdj.gather.facts import gather
from pdj.gather.joblog import Choice, JobLog, NoLogs, choose
from pdj.gather.jobs import list_pods, look
from pdj.gather.live import Deadline, LiveJob, gone, result_of
from pdj.gather.logs import Wish
from pdj.gather.merge import Line, Merger, Source
from pdj.gather.paths import core_path
from pdj.session import Session
from pdj.text.status import describe_failure
from pdj.text.terminal import PODS, log_line, pad, plain
from reconcile.objects.kept_log import kept_log_name, unpack_log

HOLD_SECONDS = 0.5
TAKE_SECONDS = 0.2
MAX_NAMES = 10
DRAIN_SECONDS = 60.0
"""How long to read after the job's end: its last pods can take their grace period to stop."""
KEEP = "docs/own-program.md#the-logs-of-every-attempt"
OnTurn = Callable[[JobPicture | None], None]
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def configure(parser: argparse.ArgumentParser) -> None:
    """Options of `logs`."""
    parser.add_argument("job", type=job_name, help="the job's name; with -f it need not exist yet")
    parser.add_argument(
        "-f",
        "--follow",
        action="store_true",
        help="go on until the job ends; exit code 0 if it completes, 1 if it fails",
    )
    parser.add_argument("--role", default="", choices=list(map(str, Role)), help="only this role")
    parser.add_argument("--index", type=int, help="only this index")
    parser.add_argument("--attempt", type=int, help="only this attempt, counted from 1")
    parser.add_argument(
        "-c", "--container", default="", help="not the trainer's logs, but this container's"
    )
    parser.add_argument("--all-containers", action="store_true", help="the logs of every container")
    parser.add_argument(
        "--since", type=_seconds, metavar="5m", help="only lines that are not older than this"
    )
    parser.add_argument(
        "--tail", type=natural, metavar="N", help="only the last N lines of each pod"
    )
    parser.add_argument("--timestamps", action="store_true", help="print the time of each line")
    parser.add_argument("--no-prefix", action="store_true", help="leave out the pods' names")
    parser.add_argument("--timeout", type=seconds, metavar="SECONDS", help="how long -f may take")


def run(session: Session) -> int:
    """Print the lines."""
    if session.options.follow:
        return follow(session)
    for lines in read_lines(session):
        session.screen.write(*lines)
    return OK


def _open(session: Session) -> JobLog:
    options = session.options
    wish = Wish(options.follow, options.tail, options.since)
    merger = Merger(session.clock, HOLD_SECONDS if options.follow else math.inf)
    return JobLog(session.client, session.namespace, wish, merger, _choice(session))


def _choice(session: Session) -> Choice:
    options = session.options
    return Choice(
        options.role, options.index, options.attempt, options.container, options.all_containers
    )


def read_lines(session: Session) -> Iterator[list[str]]:
    """The lines up to now, formatted, a few at a time. Prints notes if logs are gone."""
    printer = Printer(session)
    with _open(session) as log:
        picture = look(session.client, session.namespace, session.options.job)
        _need_pods(picture)
        printer.know(list(picture.pods))
        log.follow(list(picture.pods))
        if log.is_empty:
            yield _of_the_gone(session, picture)
        while not log.is_done:
            yield printer.format(log.take(TAKE_SECONDS))
        log.take(0)
        _tell_alone(session, picture)


def _need_pods(picture: JobPicture) -> None:
    if picture.pods_problem:
        raise NoLogs(f"the pods cannot be read: {picture.pods_problem}")


def _of_the_gone(session: Session, picture: JobPicture) -> list[str]:
    """Print why there is no log to read; returns the lines that are kept of failed pods."""
    _refuse_unknown(session, picture)
    status = picture.job.status
    if not status.is_terminal and not status.failures:
        session.notes.write("no pod of the job has started yet (-f waits for them)")
        return []
    wanted = session.options.attempt
    failures = [each for each in status.failures if wanted in (None, each.attempt)]
    session.notes.write(*_why_gone(status, wanted, bool(failures)))
    for failure in failures:
        session.notes.write(f"attempt {failure.attempt}: {describe_failure(failure)}")
    lines = (line for failure in failures for line in _kept_lines(session, failure))
    return [log_line(line, session.screen.has_colour) for line in lines]


def _kept_lines(session: Session, failure: Failure) -> list[str]:
    """The part of the pod's log that the operator has kept, or else the last lines in `failure`."""
    name = kept_log_name(session.options.job, failure.attempt)
    try:
        found = session.client.find(core_path(session.namespace, "configmaps", name))
    except ApiError:
        found = None
    return unpack_log(found or {}, failure.pod) or failure.message.splitlines()


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


def _refuse_unknown(session: Session, picture: JobPicture) -> None:
    """Raise Problem if the job has pods, but the options choose none of them.

    Options for an earlier attempt are not checked, because its pods are gone.
    """
    attempt, now = session.options.attempt, picture.job.status.attempt
    if not picture.pods or (attempt is not None and attempt < now):
        return
    if not any(choose(list(picture.pods), _choice(session))):
        names = [plain(name_of(pod).removeprefix(f"{picture.job.name}-")) for pod in picture.pods]
        more = ", …" * (len(names) > MAX_NAMES)
        raise Problem(
            "no container of the job's pods has this role, index, attempt and name; "
            f"the pods are of attempt {now}: {', '.join(names[:MAX_NAMES])}{more}"
        )


def options_of(name: str, *words: str) -> dict[str, Any]:
    """The parsed options of `logs NAME WORD...`, for another command."""
    parser = argparse.ArgumentParser()
    configure(parser)
    return vars(parser.parse_args([name, *words]))


def follow_job(session: Session, name: str, on_turn: OnTurn = lambda _picture: None) -> int:
    """Do what `logs NAME --follow` does, for another command."""
    given = options_of(name, "--follow") | {"timeout": session.options.timeout}
    following = copy.copy(session)  # keeps the client: a new one would have to log in again
    following.options = argparse.Namespace(**{**vars(session.options), **given})
    return follow(following, on_turn)


def follow(session: Session, on_turn: OnTurn = lambda _picture: None) -> int:
    """Print the lines until the job has ended; returns the exit code for its result.

    `on_turn` is called repeatedly with the current job, or None; its exceptions are passed on.
    """
    code = FAILED
    with closing(follow_lines(session, on_turn)) as turns:
        for lines, result in turns:
            session.screen.write(*lines)
            code = code if result is None else result
    return code


def follow_lines(
    session: Session, on_turn: OnTurn = lambda _picture: None
) -> Generator[tuple[list[str], int | None]]:
    """Yield (lines, None) while the job goes on, and ([], exit code) when it has ended."""
    printer = Printer(session)
    with _open(session) as log:
        yield from _follow(session, log, printer, on_turn)


def _follow(
    session: Session, log: JobLog, printer: "Printer", on_turn: OnTurn
) -> Iterator[tuple[list[str], int | None]]:
    name = session.options.job
    deadline = Deadline(session.options.timeout, name, session.clock)
    shown: JobPicture | None = None
    is_awaited = False
    with LiveJob(session.client, session.namespace, name, session.clock) as live:
        while True:
            picture = live.picture()
            on_turn(picture)
            if picture is None and live.is_known and shown is None and not is_awaited:
                is_awaited = True
                _tell_awaited(session)
            if picture is None and shown is not None and live.is_known:
                yield from _drain(session, log, printer)
                raise gone(name)
            if picture is not None and (shown is None or picture != shown):
                _need_pods(picture)
                printer.know(list(picture.pods))
                log.follow(list(picture.pods))
                _tell_attempt(session, shown, picture)
                shown = picture
            lines = log.take(0)
            if lines:
                yield printer.format(lines), None
            result = result_of(picture.raw) if picture else None
            if picture is not None and result is not None:
                with suppress(ApiError):  # what has ended is known; its pods' watch can be behind
                    log.follow(list(list_pods(session.client, picture.raw)))
                yield from _drain(session, log, printer)
                if log.is_empty:
                    yield _of_the_gone(session, picture), None
                _tell_end(session, picture)
                yield [], result
                return
            deadline.wait(live.changed, 0 if lines else TAKE_SECONDS)


def _tell_awaited(session: Session) -> None:
    name, namespace = plain(session.options.job), plain(session.namespace)
    session.notes.write(f"--- there is no job {name} in namespace {namespace} yet: waiting for it")


def _drain(
    session: Session, log: JobLog, printer: "Printer"
) -> Iterator[tuple[list[str], int | None]]:
    """Yield the remaining lines, for DRAIN_SECONDS: a job ends before all of its pods do."""
    until = session.clock.monotonic() + DRAIN_SECONDS
    while not log.is_done and session.clock.monotonic() < until:
        yield printer.format(log.take(TAKE_SECONDS)), None


def _tell_attempt(session: Session, before: JobPicture | None, now: JobPicture) -> None:
    """If the job has begun a new attempt, print on standard error why the previous one ended."""
    if before is None or before.job.status.attempt == now.job.status.attempt:
        return
    status = now.job.status
    restarting = status.condition(Condition.RESTARTING)
    if status.phase != Phase.SUSPENDED and restarting is not None and restarting.message:
        session.notes.write(
            f"--- attempt {before.job.status.attempt} has ended: "
            f"{plain(restarting.reason)}: {plain(restarting.message)}"
        )


def _tell_alone(session: Session, picture: JobPicture) -> None:
    """Warn if each worker trains by itself."""
    if alone := gather(session.client, picture, only="head").alone:
        session.notes.write(plain(f"--- {Reason.TRAINED_ALONE}: {alone}"))


def _tell_end(session: Session, picture: JobPicture) -> None:
    _tell_alone(session, picture)
    status = picture.job.status
    told = headline_condition(status)
    why = f": {told.reason}: {told.message}" if told else ""
    session.notes.write(plain(f"--- {picture.job.name} {status.phase}{why}"))


class Printer:
    """Formats lines with the name of their pod, in a colour for each pod."""

    def __init__(self, session: Session) -> None:
        self._screen = session.screen
        self._options = session.options
        self._widest = 0
        self._prefixes: dict[Source, str] = {}

    def know(self, pods: list[Raw]) -> None:
        """Note the names of these pods, to align them in one column."""
        for pod in pods:
            name = str(pod["metadata"]["name"]).removeprefix(f"{self._options.job}-")
            if len(plain(name)) > self._widest:
                self._widest = len(plain(name))
                self._prefixes.clear()

    def format(self, lines: list[Line]) -> list[str]:
        """The lines with their prefixes and without control characters."""
        return [self._format(line) for line in lines]

    def _format(self, line: Line) -> str:
        text = log_line(line.text.decode(errors="replace"), self._screen.has_colour)
        time = f"{line.time} " if self._options.timestamps else ""
        return f"{self._prefix(line.source)}{time}{text}"

    def _prefix(self, source: Source) -> str:
        if self._options.no_prefix:
            return ""
        if source not in self._prefixes:
            name = plain(source.pod.removeprefix(f"{self._options.job}-"))
            attempt = f"#{source.attempt}" if source.attempt > 1 else ""
            container = f"/{source.container}" if self._options.all_containers else ""
            colour = PODS[(source.index + len(source.role)) % len(PODS)]
            head = pad(f"{name}{attempt}{container}", self._widest)
            self._prefixes[source] = f"{self._screen.paint(head, colour)} | "
        return self._prefixes[source]


def _seconds(text: str) -> int:
    match = re.fullmatch(r"(\d+)([smhd]?)", text)
    if not match:
        raise argparse.ArgumentTypeError(f"not a time such as 30s, 5m, 2h: {text}")
    return max(1, int(match[1]) * _UNITS[match[2] or "s"])
