"""`list`: jobs in a table."""

import argparse

from api.constants import LABEL_QUEUE, Role
from api.objects import Raw, name_of, namespace_of, parse_time
from pdj.commands.output import add_output, print_objects
from pdj.errors import OK
from pdj.facts.picture import headline_of
from pdj.gather.jobs import list_jobs
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
    add_output(parser)


def run(session: Session) -> int:
    """Print the jobs."""
    everywhere = session.options.all_namespaces
    jobs = list_jobs(
        session.client, "" if everywhere else session.namespace, session.options.selector
    )
    jobs.sort(key=lambda job: (namespace_of(job), name_of(job)))
    if session.options.output:
        print_objects(session, {"apiVersion": "v1", "kind": "List", "items": jobs}, jobs)
        return OK
    if not jobs:
        where = "" if everywhere else f" in namespace {plain(session.namespace)}"
        session.notes.write(f"no jobs{where}")
        return OK
    session.screen.write(*_table(session, jobs, everywhere))
    return OK


def _table(session: Session, jobs: list[Raw], everywhere: bool) -> list[str]:
    rows: list[tuple[str, ...]] = [TITLES, *(_row(session, job) for job in jobs)]
    if session.options.progress:
        more = [COLUMNS, *_progress(session, jobs)]
        rows = [(*row[:-1], *cells, row[-1]) for row, cells in zip(rows, more, strict=True)]
    if session.options.queue:
        queues = ["QUEUE", *(plain(_queue(job)) for job in jobs)]
        rows = [(*row[:-1], queue, row[-1]) for row, queue in zip(rows, queues, strict=True)]
    if everywhere:
        names = ["NAMESPACE", *(plain(namespace_of(job)) for job in jobs)]
        rows = [(name, *row) for name, row in zip(names, rows, strict=True)]
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
