"""`python -m manifests.migrate` moves a cluster from paddle-operator 0.3 to this operator.

It looks at every PaddleJob with the kubectl that it finds, says what would be refused, and prints
what is to be done, in order. `--run` does it, unless something is in the way. Jobs that run keep
their pods: docs/migration.md.

It may end between any two steps and be run again. So the former operator's Deployment, by which it
is known, goes after its rights.
"""

import argparse
import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from api.constants import (
    FORMER_FINALIZER,
    OPERATOR_LABELS,
    PLURAL,
    TERMINAL_PHASES,
    Phase,
    Role,
)
from api.crd import CRD_NAME
from api.objects import Raw, is_deleting, labels_of, name_of, namespace_of
from manifests.operator import NAME
from pdj.documents.checks import Error, find_errors, place_of
from pdj.documents.reader import Document
from pdj.documents.schema import UNKNOWN_FIELD

FORMER_RIGHTS = (
    "serviceaccount/paddle-manager-sa",
    "configmap/paddle-manager-config",
    "role/paddle-leader-election-role",
    "rolebinding/paddle-leader-election-rolebinding",
    "clusterrole/paddle-manager-role",
    "clusterrolebinding/paddle-manager-rolebinding",
)
_APPLY = ("apply", "--server-side", "--force-conflicts", "-f")
CRD_FILE = "deploy/v1/crd.yaml"
OPERATOR_FILE = "deploy/v1/operator-all-namespaces.yaml"
SECONDS = 600
LIFT_ROUNDS = 4
"""So often the jobs are listed and the finalizer is taken off those that have it."""


class KubectlError(Exception):
    """What kubectl said."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about a job that its owner has to know; `is_in_the_way` of the move, perhaps."""

    job: str
    text: str
    is_in_the_way: bool


@dataclass(frozen=True, slots=True)
class Step:
    """A command for kubectl, and what it is for."""

    title: str
    arguments: tuple[str, ...]


def examine(job: Raw) -> Iterator[Finding]:
    """What is wrong with a job, under the schema and the rules of this operator."""
    where = f"{namespace_of(job)}/{name_of(job)}"
    phase = str((job.get("status") or {}).get("phase") or "")
    spec = job.get("spec") or {}
    runs = phase not in TERMINAL_PHASES and not is_deleting(job)
    for error in find_refusals(job):
        if error.message == UNKNOWN_FIELD:
            yield Finding(where, f"{error.path} is not known here, and is dropped", False)
        else:
            told = f"would be refused: {error.path}: {error.message}"
            yield Finding(where, told, runs)
    if runs and phase != Phase.RUNNING:
        text = f"is {phase or 'new'}: where no worker runs yet, its pods are made anew"
        yield Finding(where, text, False)
    if runs and (spec.get("elastic") or 0):
        text = "is elastic: a worker that it loses now restarts all, by the etcd of this operator"
        yield Finding(where, text, False)
    if runs and not ((spec.get(Role.WORKER) or {}).get("replicas") or 0):
        yield Finding(where, "has no workers: it is left alone, and nobody ends it", False)


def find_strays(jobs: Sequence[Raw], deployments: Sequence[Raw]) -> Iterator[Finding]:
    """Jobs of a former operator that may still run, as it is not to be found."""
    held = [f"{namespace_of(job)}/{name_of(job)}" for job in jobs if _is_held(job)]
    if held and not any(map(is_former_operator, deployments)):
        where = held[0] + (f" (and {len(held) - 1} more)" if held[1:] else "")
        text = f"has {FORMER_FINALIZER}, but no Deployment {NAME} of paddle-operator 0.3 is here: "
        yield Finding(where, f"{text}see that it runs nowhere, then use --anyway", True)


def find_refusals(job: Raw) -> list[Error]:
    """What a schema or a rule says of the job as it is stored; first of all, of unknown fields."""
    written = _without_nulls({key: job.get(key) for key in ("apiVersion", "kind", "spec")})
    written["metadata"] = {"name": name_of(job)}
    errors = find_errors(_document(written))
    unknown = [error for error in errors if error.message == UNKNOWN_FIELD]
    if unknown and len(unknown) == len(errors):
        for error in unknown:
            _remove(written, place_of(error.path))
        return [*unknown, *find_errors(_document(written))]
    return errors


def plan(jobs: Sequence[Raw], deployments: Sequence[Raw], file: str) -> list[Step]:
    """What is to be done, in order."""
    return [*plan_stop(deployments), *plan_lifts(jobs), *plan_start(file)]


def plan_stop(deployments: Sequence[Raw]) -> list[Step]:
    """Up to where no former operator writes any more."""
    steps = [Step("see whether the CRD would be taken", (*_APPLY, CRD_FILE, "--dry-run=server"))]
    for deployment in filter(is_former_operator, deployments):
        there = ("-n", namespace_of(deployment), "delete")
        rights = (*there, *FORMER_RIGHTS, "--ignore-not-found")
        stop = (*there, f"deployment/{NAME}", "--cascade=foreground", "--ignore-not-found")
        steps.append(Step("take the former operator's rights away", rights))
        steps.append(Step("stop it", stop))
    return steps


def plan_lifts(jobs: Sequence[Raw]) -> list[Step]:
    """The former operator's finalizer goes, unless the list has changed; others' finalizers stay.

    With it there, no job can be deleted once that operator is gone.
    """
    return [_plan_lift(job) for job in jobs if _is_held(job)]


def plan_start(file: str) -> list[Step]:
    """From the CRD to an operator that is ready."""
    rollout = ("rollout", "status", f"deployment/{NAME}", f"--timeout={SECONDS - 10}s")
    return [
        Step("replace the CRD; jobs stay", (*_APPLY, CRD_FILE)),
        Step("start this operator", (*_APPLY, file)),
        Step("wait for it", ("-n", "paddle-system", *rollout)),
    ]


def lift_finalizers(list_jobs: Callable[[], Sequence[Raw]], take: Callable[[Step], None]) -> None:
    """Take the finalizer off all jobs as they are now; some were made, changed or deleted since.

    Raises KubectlError where some keep it, or get it back.
    """
    error = KubectlError(f"{FORMER_FINALIZER} comes back: see that paddle-operator 0.3 has ended")
    for _ in range(LIFT_ROUNDS):
        steps = plan_lifts(list_jobs())
        if not steps:
            return
        for step in steps:
            try:
                take(step)
            except KubectlError as refused:  # the next list tells whether it matters
                say(f"not done: {refused}")
                error = refused
    raise error


def is_former_operator(deployment: Raw) -> bool:
    """Whether this is the Deployment of paddle-operator 0.3: ours has its name, and a label."""
    is_ours = OPERATOR_LABELS.items() <= labels_of(deployment).items()
    return name_of(deployment) == NAME and not is_ours


def run_kubectl(arguments: Sequence[str]) -> str:
    """What kubectl prints. Raises KubectlError."""
    try:
        done = subprocess.run(
            ["kubectl", *arguments], capture_output=True, text=True, timeout=SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise KubectlError(f"kubectl: {error}") from error
    if done.returncode:
        told = done.stderr.strip().splitlines() or [f"kubectl ended with {done.returncode}"]
        raise KubectlError(told[-1])
    return done.stdout


def main() -> int:
    """Look, tell, and with --run do; 1 where something is in the way or has failed."""
    parser = argparse.ArgumentParser(prog="python -m manifests.migrate", description=__doc__)
    parser.add_argument("--run", action="store_true", help="do what is to be done")
    anyway = "run also where a job that has not ended would be refused, which is left as it is, or "
    anyway += "where jobs have the former operator's finalizer and its Deployment is not found"
    parser.add_argument("--anyway", action="store_true", help=anyway)
    parser.add_argument("--file", default=OPERATOR_FILE, help="of this operator (%(default)s)")
    options = parser.parse_args()
    for file in (CRD_FILE, options.file):
        if not Path(file).is_file():
            parser.error(f"{file} is not here; run this in the project's folder")
    try:
        jobs, deployments = _list(CRD_NAME), _list("deployments.apps")
        findings = [finding for job in jobs for finding in examine(job)]
        findings += find_strays(jobs, deployments)
        _tell(jobs, deployments, findings)
        if any(finding.is_in_the_way for finding in findings) and not options.anyway:
            say("nothing is done: see to the jobs that are in the way, or use --anyway")
            return 1
        if options.run:
            run(deployments, options.file)
        else:
            say("what is to be done, in this order, by hand or with --run:")
            for step in plan(jobs, deployments, options.file):
                _show(step)
    except KubectlError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


def _tell(jobs: Sequence[Raw], deployments: Sequence[Raw], findings: Sequence[Finding]) -> None:
    phases = [(job.get("status") or {}).get("phase") for job in jobs]
    ended = sum(phase in TERMINAL_PHASES for phase in phases)
    say(f"{len(jobs)} {PLURAL}, {ended} of them have ended")
    for finding in findings:
        say(f"  {finding.job} {finding.text}")
    if not any(map(is_former_operator, deployments)):
        say(f"no Deployment {NAME} of another operator: if one runs by another name, stop it first")


def run(deployments: Sequence[Raw], file: str) -> None:
    """Do what is to be done. Raises KubectlError at the first step that fails."""
    for step in plan_stop(deployments):
        _take(step)
    lift_finalizers(lambda: _list(CRD_NAME), _take)
    for step in plan_start(file):
        _take(step)


def _take(step: Step) -> None:
    _show(step)
    say(run_kubectl(step.arguments).rstrip())


def _show(step: Step) -> None:
    say(f"# {step.title}\nkubectl {shlex.join(step.arguments)}")


def _is_held(job: Raw) -> bool:
    return FORMER_FINALIZER in (job["metadata"].get("finalizers") or ())


def _plan_lift(job: Raw) -> Step:
    path = f"/metadata/finalizers/{job['metadata']['finalizers'].index(FORMER_FINALIZER)}"
    test = {"op": "test", "path": path, "value": FORMER_FINALIZER}
    body = json.dumps([test, {"op": "remove", "path": path}])
    where = ("-n", namespace_of(job), "patch", CRD_NAME, name_of(job))
    return Step("take its finalizer off the job", (*where, "--type=json", f"--patch={body}"))


def _list(kind: str) -> list[Raw]:
    return list(json.loads(run_kubectl(("get", kind, "--all-namespaces", "-o", "json")))["items"])


def _document(value: Raw) -> Document:
    return Document("", 1, value, {})


def _without_nulls(value: Any) -> Any:
    """The API server drops a null where none is allowed; Go's clients write them."""
    if isinstance(value, dict):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list) else deepcopy(value)


def _remove(value: Any, place: tuple[str | int, ...]) -> None:
    *way, last = place
    for step in way:
        value = value[step]
    value.pop(last, None)


def say(text: str) -> None:
    """Print at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
