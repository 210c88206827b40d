"""`run --local FILE`: runs a job on a cluster of processes on this machine, and prints its log."""

import argparse
import dataclasses
from pathlib import Path
from typing import Any

from api.constants import KIND, Role
from api.objects import Raw, name_of
from api.trainer import trainer_of
from pdj.act.host import Host, refuse_ended, run_host
from pdj.commands import explain
from pdj.commands.code import read_bundle
from pdj.commands.logs import print_log
from pdj.documents.changes import set_field
from pdj.documents.checks import find_errors, is_job
from pdj.documents.reader import Document, read_documents
from pdj.errors import FAILED, OK, Problem, Usage
from pdj.facts.facts import Facts
from pdj.facts.picture import JobPicture
from pdj.session import Session
from pdj.text.status import draw_job


def configure(parser: argparse.ArgumentParser) -> None:
    """Options of `run` for a cluster on this machine."""
    group = parser.add_argument_group("on this machine")
    group.add_argument(
        "--local", metavar="FILE", help="run the job of this file in a cluster on this machine"
    )
    program = "use this folder for an image (repeatable)"
    group.add_argument(
        "--program",
        dest="programs",
        action="append",
        default=[],
        metavar="IMAGE=FOLDER",
        help=program,
    )
    group.add_argument(
        "--requirements",
        metavar="FILE",
        help="requirements file for pip, for these programs or for --code",
    )


def run(session: Session) -> int:
    """Run the job to its end; returns the exit code for its result."""
    documents = read_documents(session.options.local)
    order = _order(session, documents)
    with run_host(session.note, order) as (host, ready):
        job = next(each for each in order["objects"] if each.get("kind") == KIND)
        there = {**ready, "context": None, "job": name_of(job), "lang": None, "output": None}
        options = argparse.Namespace(**{**vars(session.options), **there})
        return _follow(dataclasses.replace(session, options=options), host)


def _order(session: Session, documents: list[Document]) -> Raw:
    options = session.options
    if options.program:
        raise Usage("the job in the file has its own command")
    jobs = [each for each in documents if is_job(each)]
    if len(jobs) != 1:
        raise Usage(
            f"{options.local} holds {len(jobs)} PaddleJobs: only one can run here at a time"
        )
    for assignment in options.set:
        set_field(jobs[0].value, assignment)
    for error in find_errors(jobs[0])[:1]:
        raise Problem(f"{options.local}:{error.line}: {error.path}: {error.message}")
    metadata = jobs[0].value["metadata"]
    metadata.setdefault("name", f"{metadata.get('generateName', '')}local")
    programs = dict(_program(each) for each in options.programs)
    if options.requirements and not programs and not options.code:
        raise Usage("--requirements needs --program or --code")
    if options.requirements and not Path(options.requirements).is_file():
        raise Usage(f"cannot read {options.requirements}: no such file")
    namespace = options.namespace or metadata.get("namespace") or "default"
    objects = [_placed(each.value, namespace) for each in documents]
    if bundle := read_bundle(session, options.requirements if options.code else None):
        at = documents.index(jobs[0])
        objects[at : at + 1] = bundle.wrap(objects[at], session.note)
        programs = {**dict.fromkeys(_images(jobs[0].value), ""), **programs}
    return {
        "objects": objects,
        "namespace": namespace,
        "programs": programs,
        "requirements": str(Path(options.requirements).absolute())
        if options.requirements and not bundle
        else "",
    }


def _images(job: Raw) -> list[str]:
    """The images of the job's trainers; if code is sent, they need no `--program`."""
    roles = [job["spec"][str(role)] for role in Role if job["spec"].get(str(role))]
    images = [trainer_of(role["template"]["spec"]).get("image") for role in roles]
    return [image for image in images if image]


def _placed(value: Any, namespace: str) -> Raw:
    """If an object of the file names a namespace, set it to `namespace`; return the object."""
    if not isinstance(value, dict) or not isinstance(value.get("metadata"), dict):
        raise Usage("the file contains something that is not an object")
    if value["metadata"].get("namespace"):
        value["metadata"]["namespace"] = namespace
    return value


def _program(text: str) -> tuple[str, str]:
    image, equals, folder = text.partition("=")
    if not image or not equals or not folder:
        raise Usage(f"--program takes IMAGE=FOLDER, not {text!r}")
    if not Path(folder).is_dir():
        raise Usage(f"--program {image}: no such folder: {folder}")
    return image, str(Path(folder).absolute())


def _follow(session: Session, host: Host) -> int:
    """Print the log, and each new phase on standard error; if the job fails, explain it."""
    phases: list[str] = []

    def show(picture: JobPicture | None) -> None:
        refuse_ended(host)
        phase = picture.job.status.phase if picture else ""
        if picture and phase and phase not in phases[-1:]:
            phases.append(phase)
            session.notes.write(
                *draw_job(Facts(picture), session.notes.paint, session.now, 1 << 20), ""
            )

    code = print_log(session, session.handle(session.options.job), show)
    if code != OK:  # explained while the cluster still exists
        explain.run(dataclasses.replace(session, screen=session.notes))
    return code if code == OK else FAILED
