"""`submit FILE…`: creates the jobs of files."""

import argparse
from contextlib import nullcontext

from api.constants import API_VERSION, KIND
from api.objects import Raw
from kube.client import STRICT, Client
from kube.errors import AlreadyExists, Forbidden
from pdj import actions
from pdj.code.bundle import Bundle
from pdj.code.store import sent
from pdj.commands import logs
from pdj.commands.code import add_code, read_bundle
from pdj.commands.complaints import for_each
from pdj.commands.options import add_files, files_of
from pdj.commands.output import add_output, as_list, given_name, print_objects
from pdj.commands.restart import replace_job
from pdj.commands.wait import add_wait, tell_phase, wait_for_end
from pdj.documents.changes import set_field
from pdj.documents.reader import Document, read_documents
from pdj.errors import OK, Problem, Usage
from pdj.facts.picture import JobPicture
from pdj.gather.joblog import NoLogs
from pdj.gather.jobs import get_job
from pdj.session import Session
from pdj.text.terminal import plain


def configure(parser: argparse.ArgumentParser) -> None:
    """Options of `submit`."""
    add_files(parser)
    assignment = "change a field, e.g. spec.worker.replicas=4 (repeatable)"
    parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE", help=assignment)
    add_code(parser)
    parser.add_argument(
        "--requirements", metavar="FILE", help="requirements file for pip, with --code"
    )
    add_dry_run(parser)
    add_replace(parser)
    add_output(parser)
    add_wait(parser, "the jobs have ended")


def add_dry_run(parser: argparse.ArgumentParser) -> None:
    """The option `--dry-run`."""
    parser.add_argument(
        "--dry-run",
        choices=("none", "client", "server"),
        help="client: only print the jobs (-o yaml); server: let the API server check them",
    )


def add_replace(parser: argparse.ArgumentParser) -> None:
    """The option `--replace`."""
    instead = "delete a job of the same name, running or ended, and create this one instead"
    parser.add_argument("--replace", action="store_true", help=instead)


def run(session: Session) -> int:
    """Create the jobs of the files, in their order."""
    documents = [each for file in files_of(session.options) for each in read_documents(file)]
    jobs = [job_of(document) for document in documents]
    if not jobs:
        raise Usage("the files contain no object")
    for job in jobs:
        for assignment in session.options.set:
            set_field(job, assignment)
    return create_jobs(session, jobs, read_bundle(session, session.options.requirements))


def create_jobs(session: Session, jobs: list[Raw], bundle: Bundle | None = None) -> int:
    """Create or show the jobs. Returns the worst exit code.

    With --wait, this includes the exit codes for the jobs' results.
    """
    if bundle:
        jobs = [bundle.attach(job) for job in jobs]
    if session.options.dry_run == "client":
        return _preview(session, jobs, bundle)
    _ = session.client  # raises once for all jobs if there is no cluster
    made: list[Raw] = []
    code = for_each(jobs, lambda job: made.append(send(session, job, bundle)))
    if session.options.output and made:
        _print(session, made)
    if not session.options.wait or session.options.dry_run in ("client", "server"):
        return code
    results = [code]
    for job in made:
        session.options.namespace = job["metadata"]["namespace"]
        results.append(_await_end(session, job["metadata"]["name"]))
    return max(results)


def _await_end(session: Session, name: str) -> int:
    """Print the log until the job has ended; with `-o`, print only the phases."""
    if session.options.output:
        return wait_for_end(session, name)
    phases = [""]

    def news(picture: JobPicture | None) -> None:
        if picture is not None and not picture.job.status.is_terminal:
            phases.append(tell_phase(session, picture.raw, phases.pop()))

    try:
        return logs.follow_job(session, name, news)
    except (NoLogs, Forbidden) as error:  # we can wait for the job without its logs
        session.notes.write(plain(error))
        return wait_for_end(session, name)


def job_of(document: Document) -> Raw:
    """The job in a document. Raises Usage for another object, Problem for one without metadata."""
    if document.kind != f"{API_VERSION}/{KIND}":
        what = plain(document.kind.strip("/")) or "no object"
        raise Usage(f"{document.file}:{document.line}: {what}, not a {KIND} of {API_VERSION}")
    value: Raw = document.value
    if not isinstance(value.get("metadata"), dict):
        raise Problem(f"{document.file}:{document.line}: a job without metadata")
    return value


def _preview(session: Session, jobs: list[Raw], bundle: Bundle | None) -> int:
    """Print the jobs' names; with -o, print each job after the ConfigMap that it needs."""
    if not session.options.output:
        return _list(session, jobs)
    all_ = [each for job in jobs for each in (*([bundle.config_map(job)] if bundle else []), job)]
    print_objects(session, as_list(all_), jobs)
    return OK


def _print(session: Session, jobs: list[Raw]) -> int:
    print_objects(session, as_list(jobs), jobs)
    return OK


def _list(session: Session, jobs: list[Raw]) -> int:
    for job in jobs:
        session.screen.write(
            f"{plain(given_name(job))} would be created, if the API server takes it"
        )
    return OK


def send(session: Session, job: Raw, bundle: Bundle | None) -> Raw:
    """Create a job, after the ConfigMap with its code; returns the job as the cluster has it.

    If the name is taken, raises Problem from AlreadyExists, or with `replace` deletes that job.
    """
    client = session.client
    namespace = session.options.namespace or job["metadata"].get("namespace") or session.namespace
    job = {**job, "metadata": {**job["metadata"], "namespace": namespace}}
    is_trial = session.options.dry_run == "server"
    with sent(client, bundle.config_map(job), session.note, is_trial) if bundle else nullcontext():
        return _create(session, client, job)


def _create(session: Session, client: Client, job: Raw) -> Raw:
    namespace = job["metadata"]["namespace"]
    name = job["metadata"].get("name")
    is_trial = session.options.dry_run == "server"
    query = {**STRICT, "dryRun": "All"} if is_trial else STRICT
    said = "would be created" if is_trial else "created"
    try:
        made = actions.create(client, job, query)
    except AlreadyExists as error:
        if not session.options.replace or is_trial:
            raise Problem(
                f"there is a job {name} in namespace {namespace} already",
                "--replace deletes it and creates this one",
                "replace=True deletes it and creates this one",
            ) from error
        made = replace_job(session, get_job(client, namespace, name), job)
        said = "replaced"
    if not session.options.output:
        session.screen.write(f"{plain(namespace)}/{plain(made['metadata']['name'])} {said}")
    return made
