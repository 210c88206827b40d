"""`list`: jobs in a table."""

import argparse
from dataclasses import fields

from api.constants import LABEL_QUEUE, Role
from api.objects import Raw, name_of, namespace_of, parse_time
from pdj.commands.options import ago, natural
from pdj.commands.output import add_output, print_objects
from pdj.errors import OK
from pdj.facts.choice import SORTS, Choice
from pdj.facts.picture import headline_of
from pdj.gather.jobs import list_jobs, list_rows
from pdj.session import Session
from pdj.text.progress import COLUMNS, describe_in_columns
from pdj.text.tables import age, table
from pdj.text.terminal import BY_PHASE, plain

TITLES = ("NAME", "STATUS", "MODE", "PS", "WORKER", "RESTARTS", "AGE", "REASON")


def configure(parser: argparse.ArgumentParser) -> None:
    """Options of `list`."""
    parser.add_argument(
        "-A", "--all-namespaces", action="store_true", help="the jobs of all namespaces"
    )
    parser.add_argument("-l", "--selector", default="", help="a label selector")
    parser.add_argument(
        "--progress",
        action="store_true",
        help="show the training's progress; reads the end of a log for each running job",
    )
    parser.add_argument("--queue", action="store_true", help="show each job's Kueue queue")
    parser.add_argument("--phase", default="", metavar="PHASE,...", help="only jobs in these")
    parser.add_argument("--active", action="store_true", help="only jobs that have not ended")
    parser.add_argument("--since", type=ago, metavar="2h", help="only jobs that are not older")
    parser.add_argument("--limit", type=natural, metavar="N", help="only the first N jobs")
    parser.add_argument("--sort", default="name", choices=SORTS, help="age: the youngest first")
    add_output(parser)


def run(session: Session) -> int:
    """Print the jobs."""
    options, everywhere = session.options, session.options.all_namespaces
    choice = Choice(**{each.name: getattr(options, each.name) for each in fields(Choice)})
    read = list_jobs if options.progress or options.output in ("json", "yaml") else list_rows
    where = "" if everywhere else session.namespace
    jobs, more = choice.of(read(session.client, where, options.selector), session.now)
    if options.output:
        print_objects(session, {"apiVersion": "v1", "kind": "List", "items": jobs}, jobs)
        return OK
    if not jobs:
        such = "" if choice == Choice() else " such"
        session.note(f"no{such} jobs" + (f" in namespace {where}" if where else ""))
        return OK
    session.screen.write(*_table(session, jobs, everywhere))
    if more:
        session.note(f"and {more} more: --limit")
    return OK


def _table(session: Session, jobs: list[Raw], everywhere: bool) -> list[str]:
    columns = [*zip(TITLES, *(_row(session, job) for job in jobs), strict=True)]
    if session.options.progress:
        columns[-1:-1] = zip(COLUMNS, *_progress(session, jobs), strict=True)
    if session.options.queue:
        columns.insert(-1, ("QUEUE", *(plain(_queue(job)) for job in jobs)))
    if everywhere:
        columns.insert(0, ("NAMESPACE", *(plain(namespace_of(job)) for job in jobs)))
    rows = [*zip(*columns, strict=True)]
    status = rows[0].index("STATUS")

    def paint(column: int, text: str) -> str:
        colour = BY_PHASE.get(text.strip(), "") if column == status else ""
        return session.screen.paint(text, colour)

    return table(rows, paint)


def _queue(job: Raw) -> str:
    return (job["metadata"].get("labels") or {}).get(LABEL_QUEUE) or "-"


def _row(session: Session, job: Raw) -> tuple[str, ...]:
    status = job.get("status") or {}
    return (
        plain(name_of(job)),
        plain(status.get("phase") or "-"),
        plain(status.get("mode") or "-"),
        _ready(status, Role.PS),
        _ready(status, Role.WORKER),
        plain(status.get("restartCount") or 0),
        age(parse_time(job["metadata"].get("creationTimestamp")), session.now),
        plain(headline_of(status)[0] or "-"),
    )


def _progress(session: Session, jobs: list[Raw]) -> list[tuple[str, ...]]:
    """Read the progress, with a request per running job; prints why a log cannot be read."""
    from pdj.gather.progress import read_trainings  # takes time to import

    trainings = read_trainings(session.client, jobs, session.clock)
    if problems := [each.problem for each in trainings if each and each.problem]:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        session.notes.write(f"progress unknown: {plain(problems[0])}{more}")
    return [describe_in_columns(training) for training in trainings]


def _ready(status: Raw, role: Role) -> str:
    return plain((status.get(role) or {}).get("ready") or "-")
