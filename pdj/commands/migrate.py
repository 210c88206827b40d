"""`migrate`: move a cluster from paddle-operator 0.3 to this operator.

It reads every PaddleJob with the kubectl on PATH and reports problems. If none is in the way, or
with `--anyway`, it prints the steps in order, or carries them out with `--run`. Running jobs keep
their pods (docs/migration.md).

The command can be stopped between any two steps and run again. A second run recognises the former
operator by its Deployment; so the Deployment is deleted after the permissions.
"""

import argparse
import json
import shlex
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from api.constants import FORMER_FINALIZER, PLURAL, TERMINAL_PHASES
from api.crd import CRD_NAME
from api.objects import Raw
from pdj.documents.migration import (
    NAME,
    Concern,
    Files,
    Step,
    examine,
    find_ours,
    find_owners,
    find_strays,
    is_former_operator,
    plan,
    plan_lifts,
    plan_start,
    plan_stop,
)
from pdj.errors import FAILED, OK, Problem, Usage
from pdj.session import Screen, Session
from pdj.text.terminal import plain

CRD_FILE = "deploy/v1/crd.yaml"
OPERATOR_FILE = "deploy/v1/operator-all-namespaces.yaml"
SECONDS = 600
LIFT_ROUNDS = 4
"""How many times to list the jobs and remove the finalizer from those that have it."""


class KubectlError(Problem):
    """A kubectl command failed; the text is the last line of its message."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Options of `migrate`."""
    parser.add_argument("--run", action="store_true", help="carry out the steps")
    anyway = "run in spite of problems: a job that would be refused is left unchanged"
    parser.add_argument("--anyway", action="store_true", help=anyway)
    parser.add_argument("--crd", default=CRD_FILE, help="this operator's CRD (%(default)s)")
    parser.add_argument(
        "--file", default=OPERATOR_FILE, help="this operator's objects (%(default)s)"
    )


def run(session: Session) -> int:
    """Report problems; returns 1 if one is in the way, unless `--anyway` is set.

    Else it prints the steps, or carries them out.
    """
    options = session.options
    files = Files(options.crd, options.file)
    for file in (files.crd, files.operator):
        if not Path(file).is_file():
            raise Usage(f"no such file: {file}; run this in the project's folder, or name it")
    kubectl = Kubectl(session)
    jobs, deployments = kubectl.list(CRD_NAME), kubectl.list("deployments.apps")
    crds = kubectl.list(
        "customresourcedefinitions", "--field-selector", f"metadata.name={CRD_NAME}"
    )
    concerns = [concern for job in jobs for concern in examine(job)]
    concerns += find_strays(jobs, deployments)
    concerns += [*find_owners(deployments, crds), *find_ours(deployments)]
    _report(session.screen, jobs, deployments, concerns)
    if any(concern.is_in_the_way for concern in concerns) and not options.anyway:
        session.screen.write("nothing was done: fix these problems, or use --anyway")
        return FAILED
    if options.run:
        _move(kubectl, deployments, files)
    else:
        session.screen.write("the steps, in this order, by hand or with --run:")
        for step in plan(jobs, deployments, files):
            kubectl.show(step)
    return OK


class Kubectl:
    """The kubectl on PATH, for the cluster of the command's options."""

    def __init__(self, session: Session) -> None:
        given = {name: getattr(session.options, name) for name in ("kubeconfig", "context")}
        self._where = [f"--{name}={value}" for name, value in given.items() if value]
        self._screen = session.screen

    def list(self, kind: str, *more: str) -> list[Raw]:
        """The objects of all namespaces. Raises KubectlError."""
        found = json.loads(self._run(("get", kind, "--all-namespaces", "-o", "json", *more)))
        return list(found["items"])

    def take(self, step: Step) -> None:
        """Print the step and carry it out. Raises KubectlError."""
        self.show(step)
        self._screen.write(plain(self._run(step.arguments).rstrip()))

    def show(self, step: Step) -> None:
        """Print the title and the command, without the options --kubeconfig and --context."""
        self._screen.write(f"# {step.title}", f"kubectl {plain(shlex.join(step.arguments))}")

    def refused(self, error: KubectlError) -> None:
        """Report that a step failed, which is perhaps harmless."""
        self._screen.write(f"not done: {plain(error)}")

    def _run(self, arguments: Sequence[str]) -> str:
        command = ["kubectl", *self._where, *arguments]
        try:
            done = subprocess.run(
                command, capture_output=True, encoding="utf-8", errors="replace", timeout=SECONDS
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise KubectlError(f"kubectl: {error}") from error
        if done.returncode:
            said = done.stderr.strip().splitlines() or [f"kubectl ended with {done.returncode}"]
            raise KubectlError(said[-1])
        return done.stdout


def lift_finalizers(
    list_jobs: Callable[[], Sequence[Raw]],
    take: Callable[[Step], None],
    refused: Callable[[KubectlError], None],
) -> None:
    """Remove the finalizer from all jobs, and list the jobs again, until none has it.

    Raises KubectlError if some still have it after LIFT_ROUNDS.
    """
    error = KubectlError(
        f"{FORMER_FINALIZER} comes back: make sure that paddle-operator 0.3 has stopped"
    )
    for _ in range(LIFT_ROUNDS):
        steps = plan_lifts(list_jobs())
        if not steps:
            return
        for step in steps:
            try:
                take(step)
            except KubectlError as no:  # the next list shows whether the job still has it
                refused(no)
                error = no
    raise error


def _move(kubectl: Kubectl, deployments: Sequence[Raw], files: Files) -> None:
    """Carry out all steps. Raises KubectlError as soon as one has failed for good."""
    for step in plan_stop(deployments, files):
        kubectl.take(step)
    lift_finalizers(lambda: kubectl.list(CRD_NAME), kubectl.take, kubectl.refused)
    for step in plan_start(files):
        kubectl.take(step)


def _report(
    screen: Screen, jobs: Sequence[Raw], deployments: Sequence[Raw], concerns: Sequence[Concern]
) -> None:
    phases = [(job.get("status") or {}).get("phase") for job in jobs]
    ended = sum(phase in TERMINAL_PHASES for phase in phases)
    screen.write(f"{len(jobs)} {PLURAL}, {ended} of them have ended")
    for concern in concerns:
        screen.write(f"  {plain(concern.job)} {plain(concern.text)}")
    if not any(map(is_former_operator, deployments)):
        screen.write(f"no former Deployment {NAME}: if it has another name, stop it first")
