"""`run --local FILE`: runs a job on a cluster of processes on this machine, and prints its log.

A separate process, `localcluster.commands.host`, runs the cluster. It ends and removes its files
when its standard input is closed, which happens when this process ends for whatever reason.
"""

import argparse
import contextlib
import dataclasses
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from api.constants import KIND, Role
from api.objects import Raw, name_of
from api.trainer import trainer_of
from kube.clock import Clock
from pdj.commands import logs
from pdj.commands.code import read_bundle
from pdj.documents.changes import set_field
from pdj.documents.checks import find_errors, is_job
from pdj.documents.reader import Document, read_documents
from pdj.errors import FAILED, OK, Problem, Usage
from pdj.facts.facts import Facts
from pdj.facts.picture import JobPicture
from pdj.session import Session
from pdj.text.status import draw_job
from pdj.text.terminal import Screen

HOME = Path(__file__).parents[2]
"""The folder of this project: the checkout, or the wheel's `paddlejob`."""
IMPORTS = Path(__file__).absolute().parents[__name__.count(".")]
"""The folder from which Python imports this package."""
NO_CHECKOUT = (
    "this kubectl-pdj has no cluster for this machine in it: install the Python package paddlejob, "
    "or use a checkout of the project"
)
ENDED = "the local cluster has ended by itself"
END_SECONDS = 60.0
REMOVALS, REMOVAL_SECONDS = 50, 0.2
Host = subprocess.Popen[bytes]
Say = Callable[[str], None]


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
    check_installed()
    with run_host(session.note, order) as (host, ready):
        job = next(each for each in order["objects"] if each.get("kind") == KIND)
        there = {**ready, "context": None, "job": name_of(job)}
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
        objects[at : at + 1] = [bundle.config_map(objects[at]), bundle.attach(objects[at])]
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


def check_installed() -> None:
    """Raise Problem if the local cluster is not part of this installation."""
    if not (HOME / "localcluster").is_dir() or not (HOME / "manifests").is_dir():
        raise Problem(NO_CHECKOUT)


@contextmanager
def run_host(say: Say, order: Raw) -> Iterator[tuple[Host, Raw]]:
    """Run a cluster for the block; yields the host process and its message with the kubeconfig."""
    host = subprocess.Popen(
        [sys.executable, "-P", "-m", "localcluster.commands.host"],
        env={**os.environ, "PYTHONPATH": str(IMPORTS)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C must not reach the host: we close its input
    )
    folders: list[str] = []
    try:
        yield host, _await_ready(say, host, order, folders)
    except KeyboardInterrupt:
        say("interrupted: ending all that has been started")
        raise
    finally:
        end_host(host, folders)


def _await_ready(say: Say, host: Host, order: Raw, folders: list[str]) -> Raw:
    assert host.stdin is not None and host.stdout is not None
    with contextlib.suppress(BrokenPipeError):  # the host has ended, and its output says why
        host.stdin.write(json.dumps(order).encode() + b"\n")
        host.stdin.flush()
    for line in host.stdout:
        told: Raw = json.loads(line)
        folders += [told["folder"]] if "folder" in told else []
        if "say" in told:
            say(told["say"])
        if "error" in told:
            raise Problem(told["error"])
        if "kubeconfig" in told:
            return told
    raise Problem(ENDED)


def _refuse_ended(host: Host) -> None:
    """If the host has ended, and the cluster with it, raise Problem with the host's last error."""
    assert host.stdout is not None
    if host.poll() is not None:
        last: Raw = json.loads(([*host.stdout] or [b"{}"])[-1])
        raise Problem(last.get("error") or ENDED)


def end_host(host: Host, folders: list[str]) -> None:
    """End the cluster, kill it after END_SECONDS or another Ctrl-C, and remove its folders."""
    assert host.stdin is not None and host.stdout is not None
    with contextlib.suppress(BrokenPipeError):
        host.stdin.close()
    try:
        with contextlib.suppress(subprocess.TimeoutExpired):  # a host that hangs is killed
            host.wait(END_SECONDS)
    finally:
        if host.poll() is None:
            host.kill()
            host.wait()
        host.stdout.close()
        for folder in folders:
            _remove(Path(folder))


def _remove(folder: Path) -> None:
    """Remove a folder, repeatedly because processes of a killed host can still write to it."""
    for _ in range(REMOVALS):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        Clock().wait(threading.Event(), REMOVAL_SECONDS)


def _follow(session: Session, host: Host) -> int:
    """Print the log, and each new phase on standard error; if the job fails, explain it."""
    phases: list[str] = []

    def show(picture: JobPicture | None) -> None:
        _refuse_ended(host)
        phase = picture.job.status.phase if picture else ""
        if picture and phase and phase not in phases[-1:]:
            phases.append(phase)
            session.notes.write(
                *draw_job(Facts(picture), session.notes.paint, session.now, 1 << 20), ""
            )

    code = logs.follow_job(session, session.options.job, show)
    if code != OK:
        _explain(session)
    return code if code == OK else FAILED


def _explain(session: Session) -> None:
    """Print why the job has failed, while the cluster still exists."""
    from pdj.commands import explain

    session.options.lang = session.options.output = None
    explain.run(dataclasses.replace(session, screen=Screen(sys.stderr)))
