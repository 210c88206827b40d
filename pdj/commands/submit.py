"""`submit FILE…`: creates the jobs of files."""

import argparse
from functools import partial

from api.objects import Raw, name_of, namespace_of
from pdj.act.submit import signed, submit, user_name
from pdj.commands.code import add_code, read_bundle
from pdj.commands.complaints import for_each
from pdj.commands.options import add_files, files_of
from pdj.commands.output import add_output, as_list, given_name, print_objects
from pdj.commands.restart import replace
from pdj.commands.wait import add_wait, await_end
from pdj.documents.changes import set_field
from pdj.documents.job import job_of
from pdj.documents.reader import read_documents
from pdj.errors import OK, Usage
from pdj.session import Session
from pdj.text.terminal import plain


def configure(parser: argparse.ArgumentParser) -> None:
    """Options of `submit`."""
    add_files(parser)
    parser.add_argument(
        "--requirements", metavar="FILE", help="requirements file for pip, with --code"
    )
    add_creation(parser)


def add_creation(parser: argparse.ArgumentParser) -> None:
    """The options of commands that create jobs, except `--requirements`."""
    assignment = r"change a field, e.g. spec.worker.replicas=4 (repeatable; a dot in a name is \.)"
    parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE", help=assignment)
    add_code(parser)
    parser.add_argument(
        "--dry-run",
        choices=("none", "client", "server"),
        help="client: only print the jobs (-o yaml); server: let the API server check them",
    )
    instead = "delete a job of the same name, running or ended, and create this one instead"
    parser.add_argument("--replace", action="store_true", help=instead)
    add_output(parser)
    add_wait(parser, "the jobs have ended")


def run(session: Session) -> int:
    """Create the jobs of the files, in their order."""
    documents = [each for file in files_of(session.options) for each in read_documents(file)]
    jobs = [job_of(document) for document in documents]
    if not jobs:
        raise Usage("the files contain no object")
    return create_jobs(session, jobs)


def create_jobs(session: Session, jobs: list[Raw]) -> int:
    """Create or show the jobs, with what options say of them. Returns the worst exit code.

    With --wait, this includes the exit codes for the jobs' results.
    """
    options = session.options
    for job in jobs:
        for assignment in options.set:
            set_field(job, assignment)
    bundle = read_bundle(session, options.requirements)
    is_preview, is_trial = (options.dry_run == each for each in ("client", "server"))
    if not is_preview:
        user = user_name(session.client)  # raises once for all jobs if there is no cluster
        jobs = [signed(job, _namespace(session, job), user) for job in jobs]
    parts = [bundle.wrap(job, session.note) if bundle else (None, job) for job in jobs]
    instead = partial(replace, session) if options.replace else None
    made: list[Raw] = []

    def create(part: tuple[Raw | None, Raw]) -> None:
        there, word = submit(session.client, *part, instead, is_trial, session.note)
        made.append(there)
        if not options.output:
            session.screen.write(f"{plain(namespace_of(there))}/{plain(name_of(there))} {word}")

    worst = OK if is_preview else for_each(parts, create)
    objects = [each for part in parts for each in part if each] if is_preview else made
    if is_preview and not options.output:
        names = [plain(given_name(job)) for job in jobs]
        session.screen.write(
            *(f"{each} would be created, if the API server takes it" for each in names)
        )
    elif options.output and objects:
        value = as_list(objects)
        print_objects(session, value, jobs if is_preview else made)
    if not options.wait or is_preview or is_trial:
        return worst
    handles = [session.handle(name_of(job), namespace_of(job)) for job in made]
    return max([worst, *(await_end(session, handle) for handle in handles)])


def _namespace(session: Session, job: Raw) -> str:
    """That of the command, or else the job's own."""
    return session.options.namespace or job["metadata"].get("namespace") or session.namespace
