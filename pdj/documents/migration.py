"""Plans a migration from paddle-operator 0.3: concerns about jobs, and steps.

Pure: takes jobs, Deployments and the CRD as the API server shows them, and returns kubectl's
arguments.
"""

import json
import shlex
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from api.constants import FORMER_FINALIZER, OPERATOR_LABELS, TERMINAL_PHASES, Phase, Role
from api.crd import CRD_NAME
from api.objects import Raw, is_deleting, labels_of, name_of, namespace_of
from pdj.documents.checks import Error, find_errors, place_of
from pdj.documents.reader import Document
from pdj.documents.schema import UNKNOWN_FIELD

NAME = "paddle-controller-manager"
"""The name of both operators' Deployments."""
FORMER_RIGHTS = (
    "serviceaccount/paddle-manager-sa",
    "configmap/paddle-manager-config",
    "role/paddle-leader-election-role",
    "rolebinding/paddle-leader-election-rolebinding",
    "clusterrole/paddle-manager-role",
    "clusterrolebinding/paddle-manager-rolebinding",
    "lease.coordination.k8s.io/b2a304f2.paddlepaddle.org",
    "configmap/b2a304f2.paddlepaddle.org",
)
_APPLY = ("apply", "--server-side", "--force-conflicts", "-f")
NAMESPACE = "paddle-system"
ROLLOUT_SECONDS = 590


@dataclass(frozen=True, slots=True)
class Files:
    """Where this operator's manifests are."""

    crd: str
    operator: str


@dataclass(frozen=True, slots=True)
class Concern:
    """A concern about an object; the migration stops if it `is_in_the_way` (unless --anyway)."""

    job: str
    text: str
    is_in_the_way: bool


@dataclass(frozen=True, slots=True)
class Step:
    """A kubectl command and its purpose."""

    title: str
    arguments: tuple[str, ...]


def examine(job: Raw) -> Iterator[Concern]:
    """What this operator would refuse or drop in a job, and how the migration affects its run."""
    where = f"{namespace_of(job)}/{name_of(job)}"
    phase = str((job.get("status") or {}).get("phase") or "")
    spec = job.get("spec") or {}
    runs = phase not in TERMINAL_PHASES and not is_deleting(job)
    for error in find_refusals(job):
        if error.message == UNKNOWN_FIELD:
            yield Concern(where, f"{error.path} is not known here, and is dropped", False)
        else:
            refused = f"would be refused: {error.path}: {error.message}"
            yield Concern(where, refused, runs)
    if runs and phase != Phase.RUNNING:
        text = f"is {phase or 'new'}: if no worker runs yet, its pods are created again"
        yield Concern(where, text, False)
    if runs and (spec.get("elastic") or 0):
        text = (
            "is elastic: if it loses a worker now, all workers restart and use this operator's etcd"
        )
        yield Concern(where, text, False)
    if runs and not ((spec.get(Role.WORKER) or {}).get("replicas") or 0):
        yield Concern(where, "has no workers: it is left alone and never ends", False)


def find_strays(jobs: Sequence[Raw], deployments: Sequence[Raw]) -> Iterator[Concern]:
    """A concern if jobs have the former operator's finalizer, but no such operator was found."""
    held = [f"{namespace_of(job)}/{name_of(job)}" for job in jobs if _is_held(job)]
    if held and not any(map(is_former_operator, deployments)):
        where = held[0] + (f" (and {len(held) - 1} more)" if held[1:] else "")
        text = f"has {FORMER_FINALIZER}, but no Deployment {NAME} of paddle-operator 0.3 is here: "
        yield Concern(where, f"{text}make sure that it runs nowhere, then use --anyway", True)


def find_owners(deployments: Sequence[Raw], crds: Sequence[Raw]) -> Iterator[Concern]:
    """Tools that installed the former operator and can delete it later.

    They would delete the CRD and with it all jobs, and this operator's Deployment, which has the
    same name.
    """
    former = [*filter(is_former_operator, deployments)]
    for thing in [*former, *crds] if former else ():
        owned = _helm(thing) or _argo(thing) or _flux(thing)
        if owned:
            owner, first, prefix = owned
            text = f"belongs to {owner}, which can delete it, and deleting the CRD deletes all jobs"
            clear = " && ".join([first, *_clear(thing, prefix)])
            yield Concern(_target(thing), f"{text}. First run: {clear}", True)


def find_ours(deployments: Sequence[Raw]) -> Iterator[Concern]:
    """This operator's Deployments that the plain files would not just update.

    A tool or a person has installed these elsewhere: the migration would start a second operator,
    or overwrite what the tool manages.
    """
    for thing in deployments:
        owned = _helm(thing) or _argo(thing) or _flux(thing)
        is_plain = (namespace_of(thing), name_of(thing)) == (NAMESPACE, NAME)
        if _is_ours(thing) and (owned or not is_plain):
            by = owned[0] if owned else "installed by hand"
            text = (
                f"this operator runs already ({by}): there is nothing to migrate with plain files"
            )
            yield Concern(f"{namespace_of(thing)}/{name_of(thing)}", text, True)


def _helm(thing: Raw) -> tuple[str, str, str] | None:
    marks = _marks(thing)
    name, namespace = (marks.get(f"meta.helm.sh/release-{what}") for what in ("name", "namespace"))
    if not name or any("helm.toolkit.fluxcd.io" in mark for mark in marks):
        return None
    forget = shlex.join(
        ("kubectl", "-n", str(namespace), "delete", "secret", "-l", f"owner=helm,name={name}")
    )
    return f"the Helm release {namespace}/{name}", forget, "meta.helm.sh/"


def _argo(thing: Raw) -> tuple[str, str, str] | None:
    marks = _marks(thing)
    tracked = str(marks.get("argocd.argoproj.io/tracking-id") or "").partition(":")[0]
    name = marks.get("argocd.argoproj.io/instance") or tracked
    if not name:
        return None
    forget = shlex.join(("argocd", "app", "delete", name, "--cascade=false"))
    return f"the Argo CD application {name}", forget, "argocd.argoproj.io/"


def _flux(thing: Raw) -> tuple[str, str, str] | None:
    marks = _marks(thing)
    for part, kind, change in (
        ("helm", "helmrelease", '{"spec":{"suspend":true}}'),
        ("kustomize", "kustomization", '{"spec":{"prune":false}}'),
    ):
        mark = f"{part}.toolkit.fluxcd.io/"
        name, namespace = marks.get(f"{mark}name"), marks.get(f"{mark}namespace")
        if name:
            there = ("kubectl", "-n", str(namespace))
            keep = shlex.join((*there, "patch", kind, name, "--type=merge", "-p", change))
            delete = shlex.join((*there, "delete", kind, name))
            return f"Flux's {kind} {namespace}/{name}", f"{keep} && {delete}", mark
    return None


def _marks(thing: Raw) -> Raw:
    """Labels and annotations. They are untrusted, because a tenant's Deployment can have the former
    operator's name. Quote them in commands, which the administrator copies to a shell.
    """
    return {**labels_of(thing), **(thing["metadata"].get("annotations") or {})}


def _clear(thing: Raw, prefix: str) -> Iterator[str]:
    """The commands that remove the owner's marks; after them `find_owners` finds no owner."""
    namespace = thing["metadata"].get("namespace")
    there = f"kubectl -n {namespace}" if namespace else "kubectl"
    for verb, field in (("label", "labels"), ("annotate", "annotations")):
        marks = [f"{key}-" for key in thing["metadata"].get(field) or () if key.startswith(prefix)]
        if marks:
            yield " ".join((there, verb, _target(thing), *marks))


def _target(thing: Raw) -> str:
    return f"{thing['kind'].lower()}/{name_of(thing)}"


def find_refusals(job: Raw) -> list[Error]:
    """What this operator would refuse in the stored job, or drop as unknown."""
    written = _without_nulls({key: job.get(key) for key in ("apiVersion", "kind", "spec")})
    written["metadata"] = {"name": name_of(job)}
    errors = find_errors(_document(written))
    unknown = [error for error in errors if error.message == UNKNOWN_FIELD]
    if unknown and len(unknown) == len(errors):
        for error in unknown:
            _remove(written, place_of(error.path))
        return [*unknown, *find_errors(_document(written))]
    return errors


def plan(jobs: Sequence[Raw], deployments: Sequence[Raw], files: Files) -> list[Step]:
    """All steps of the migration, in order."""
    return [*plan_stop(deployments, files), *plan_lifts(jobs), *plan_start(files)]


def plan_stop(deployments: Sequence[Raw], files: Files) -> list[Step]:
    """A dry run with the CRD, then the steps that stop the former operator."""
    steps = [
        Step(
            "check whether the API server would accept the CRD",
            (*_APPLY, files.crd, "--dry-run=server"),
        )
    ]
    for deployment in filter(is_former_operator, deployments):
        there = ("-n", namespace_of(deployment), "delete")
        rights = (*there, *FORMER_RIGHTS, "--ignore-not-found")
        stop = (*there, f"deployment/{NAME}", "--cascade=foreground", "--ignore-not-found")
        steps.append(Step("delete the former operator's account, permissions and settings", rights))
        steps.append(Step("stop that operator", stop))
    return steps


def plan_lifts(jobs: Sequence[Raw]) -> list[Step]:
    """For each job with the former operator's finalizer, a step that removes only this finalizer.

    The step fails if the finalizer has moved in the job's list. A job that keeps the finalizer
    cannot be deleted after that operator is gone.
    """
    return [_plan_lift(job) for job in jobs if _is_held(job)]


def plan_start(files: Files) -> list[Step]:
    """The steps from the CRD to a ready operator."""
    rollout = ("rollout", "status", f"deployment/{NAME}", f"--timeout={ROLLOUT_SECONDS}s")
    return [
        Step("replace the CRD; jobs stay", (*_APPLY, files.crd)),
        Step("start this operator", (*_APPLY, files.operator)),
        Step("wait until it is ready", ("-n", NAMESPACE, *rollout)),
    ]


def is_former_operator(deployment: Raw) -> bool:
    """Whether this is the Deployment of paddle-operator 0.3. The one of this operator has the same
    name, but also has OPERATOR_LABELS.
    """
    return name_of(deployment) == NAME and not _is_ours(deployment)


def _is_ours(deployment: Raw) -> bool:
    return OPERATOR_LABELS.items() <= labels_of(deployment).items()


def _is_held(job: Raw) -> bool:
    return FORMER_FINALIZER in (job["metadata"].get("finalizers") or ())


def _plan_lift(job: Raw) -> Step:
    path = f"/metadata/finalizers/{job['metadata']['finalizers'].index(FORMER_FINALIZER)}"
    test = {"op": "test", "path": path, "value": FORMER_FINALIZER}
    body = json.dumps([test, {"op": "remove", "path": path}])
    where = ("-n", namespace_of(job), "patch", CRD_NAME, name_of(job))
    return Step("drop the former operator's finalizer", (*where, "--type=json", f"--patch={body}"))


def _document(value: Raw) -> Document:
    return Document("", 1, value, {})


def _without_nulls(value: Any) -> Any:
    """The value without nulls, which Go's clients write and the API server drops."""
    if isinstance(value, dict):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list) else deepcopy(value)


def _remove(value: Any, place: tuple[str | int, ...]) -> None:
    *way, last = place
    for step in way:
        value = value[step]
    value.pop(last, None)
