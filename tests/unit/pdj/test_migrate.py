"""What the move from paddle-operator 0.3 says of jobs, and what it does in which order."""

import json
import shlex
from argparse import Namespace
from collections.abc import Callable
from copy import deepcopy
from functools import partial

import pytest

from api.objects import Raw
from manifests.operator import Variant as Ours
from manifests.operator import build_operator
from pdj.commands.migrate import CRD_FILE, Kubectl, KubectlError, lift_finalizers
from pdj.documents.migration import (
    Files,
    Step,
    examine,
    find_ours,
    find_owners,
    find_strays,
    plan,
)
from pdj.session import Session
from tests.memory.builders import JobBuilder, a_job, a_template
from tests.memory.former import FINALIZER, former_status

THEIRS: Raw = {"metadata": {"name": "paddle-controller-manager", "namespace": "paddle-system"}}


def a_former_job(phase: str = "Running", job: JobBuilder | None = None) -> Raw:
    """A job as that operator and its Go client have stored it."""
    raw = (job or a_job().with_ps(1).with_workers(2)).build()
    raw["metadata"]["finalizers"] = [FINALIZER, "others/one"]
    raw["status"] = former_status(raw, phase, "running")
    for role in ("ps", "worker"):
        if role in raw["spec"]:
            raw["spec"][role]["template"]["metadata"] = {"creationTimestamp": None}
    return raw


def told(job: Raw) -> list[tuple[str, bool]]:
    """Each finding, and whether it is in the way."""
    return [(finding.text, finding.is_in_the_way) for finding in examine(job)]


ODD = a_job().with_workers(2).with_spec(cleanPodPolicy="Sometimes")
REFUSED = "would be refused: spec.cleanPodPolicy: 'Sometimes' is not one of"
BAD_PORT = a_template()
BAD_PORT["spec"]["containers"][0]["env"] = [{"name": "PADDLE_PORT", "value": "99999"}]
DELETED, WITHOUT_SPEC = a_former_job(job=ODD), a_former_job()
DELETED["metadata"]["deletionTimestamp"] = "2026-01-02T03:04:05Z"
del WITHOUT_SPEC["spec"]
FINDINGS: dict[str, tuple[Raw, list[tuple[str, bool]]]] = {
    "a job that runs": (a_former_job(), []),
    "refused, while it runs": (a_former_job(job=ODD), [(REFUSED, True)]),
    "refused, and has ended": (a_former_job("Completed", ODD), [(REFUSED, False)]),
    "refused, and is being deleted": (DELETED, [(REFUSED, False)]),
    "refused by a rule, beside a dropped field": (
        a_former_job(
            job=a_job().with_workers(2, BAD_PORT).with_spec(sampleSetRef={"name": "data"})
        ),
        [("spec.sampleSetRef is not known here, and is dropped", False), ("would be ref", True)],
    ),
    "starting": (a_former_job("Starting"), [("is Starting: if no worker runs yet", False)]),
    "elastic": (
        a_former_job(job=a_job().with_elastic_workers(2, 1, 3)),
        [("is elastic", False)],
    ),
}


@pytest.mark.parametrize(("job", "findings"), FINDINGS.values(), ids=FINDINGS)
def test_what_the_move_makes_of_a_job_is_told(job, findings):
    pairs = zip(told(job), findings, strict=True)
    assert findings == [(text[: len(start)], is_one) for (text, is_one), (start, _) in pairs]


def test_rules_of_environments_are_asked_and_jobs_without_workers_or_spec_told():
    refused = told(FINDINGS["refused by a rule, beside a dropped field"][0])[-1][0]
    assert "PADDLE_PORT" in refused
    assert "has no workers" in told(a_former_job(job=a_job().with_ps(1)))[-1][0]
    assert ("would be refused: spec: is required", True) in told(WITHOUT_SPEC)


def test_finalizer_without_the_operator_that_lifts_it_is_in_the_way():
    jobs = [a_former_job(), a_former_job("Failed"), a_job().with_workers(1).build()]
    (finding,) = find_strays(jobs, [])
    assert finding.is_in_the_way
    assert finding.job.endswith("(and 1 more)")
    assert "--anyway" in finding.text
    assert not [*find_strays(jobs, [THEIRS])]
    assert not [*find_strays(jobs[2:], [])]


def test_steps_stop_the_former_operator_first_and_start_ours_last():
    steps = plan([a_former_job(), a_former_job("Failed")], [THEIRS], Files(CRD_FILE, "ours.yaml"))
    commands = [" ".join(step.arguments) for step in steps]
    assert commands.pop(0).endswith("--dry-run=server")
    assert "clusterrolebinding/paddle-manager-rolebinding" in commands[0]
    assert commands[1].startswith("-n paddle-system delete deployment/paddle-controller-manager")
    assert [command.split()[2] for command in commands[2:4]] == ["patch", "patch"]
    assert commands[4].endswith("-f deploy/v1/crd.yaml")
    assert commands[5].endswith("-f ours.yaml")
    assert "rollout status" in commands[6]
    assert not [command for command in commands if "delete" in command and "crd" in command]


class Jobs:
    """Stored jobs. While one is patched, `meanwhile` happens."""

    def __init__(self, *names: str) -> None:
        self.stored = {name: self._make(name) for name in names}
        self.meanwhile: list[Callable[[], object]] = []

    def every(self) -> list[Raw]:
        return deepcopy([*self.stored.values()])

    def take(self, step: Step) -> None:
        """What the API server does about the patch: a test of it that fails refuses all."""
        name = step.arguments[4]
        if self.meanwhile:
            self.meanwhile.pop(0)()
        if name not in self.stored:
            raise KubectlError(f'paddlejobs "{name}" not found')
        test, remove = json.loads(step.arguments[-1].partition("=")[2])
        finalizers, place = self.finalizers(name), int(test["path"].rpartition("/")[2])
        if finalizers[place : place + 1] != [test["value"]]:
            raise KubectlError("the request is invalid")
        assert (remove["op"], remove["path"]) == ("remove", test["path"])
        del finalizers[place]

    def finalizers(self, name: str) -> list[str]:
        found: list[str] = self.stored[name]["metadata"]["finalizers"]
        return found

    def add(self, name: str) -> None:
        self.stored[name] = self._make(name)

    def _make(self, name: str) -> Raw:
        job = a_former_job()
        job["metadata"]["name"] = name
        return job


MEANWHILE: dict[str, Callable[[Jobs], object]] = {
    "nothing": lambda jobs: None,
    "another finalizer comes": lambda jobs: jobs.finalizers("b").insert(0, "others/new"),
    "a job goes": lambda jobs: jobs.stored.pop("a"),
    "a job is made": lambda jobs: jobs.add("c"),
}


@pytest.mark.parametrize("happens", MEANWHILE)
def test_finalizers_of_others_stay_whatever_happens_meanwhile(happens):
    jobs = Jobs("a", "b")
    jobs.meanwhile = [lambda: MEANWHILE[happens](jobs)]
    lift_finalizers(jobs.every, jobs.take, lambda _: None)
    left = {each for name in jobs.stored for each in jobs.finalizers(name)}
    assert left - {"others/new"} == {"others/one"}
    assert ("others/new" in left) == (happens == "another finalizer comes")


def take_and_put_back(jobs: Jobs, step: Step) -> None:
    jobs.take(step)
    jobs.add("a")


def refuse(jobs: Jobs, step: Step) -> None:
    if step.arguments[4] == "a":
        raise KubectlError("a webhook says no")
    jobs.take(step)


@pytest.mark.parametrize(
    ("take", "says"), [(take_and_put_back, "comes back"), (refuse, "a webhook says no")]
)
def test_a_finalizer_that_stays_holds_up_no_other_job_and_is_an_error(take, says):
    jobs = Jobs("a", "b")
    with pytest.raises(KubectlError, match=says):
        lift_finalizers(jobs.every, partial(take, jobs), lambda _: None)
    assert jobs.finalizers("b") == ["others/one"]


EVIL = "x; touch /tmp/x #'"
HELM = {"meta.helm.sh/release-name": "former", "meta.helm.sh/release-namespace": "ops"}
FORGET = "kubectl -n ops delete secret -l owner=helm,name=former"


@pytest.mark.parametrize(
    ("field", "marks", "owner", "first"),
    [
        ("annotations", HELM, "the Helm release ops/former", FORGET),
        (
            "annotations",
            {"argocd.argoproj.io/tracking-id": "paddle:apps/Deployment:paddle-system/x"},
            "the Argo CD application paddle",
            "argocd app delete paddle --cascade=false",
        ),
        (
            "labels",
            {"kustomize.toolkit.fluxcd.io/name": "p", "kustomize.toolkit.fluxcd.io/namespace": "f"},
            "Flux's kustomization f/p",
            """kubectl -n f patch kustomization p --type=merge -p '{"spec":{"prune":false}}'""",
        ),
    ],
)
def test_tool_that_could_delete_the_crd_later_is_in_the_way(field, marks, owner, first):
    deployment = {"kind": "Deployment", **THEIRS}
    crd: Raw = {"kind": "CustomResourceDefinition", "metadata": {"name": "pdj", field: marks}}
    (finding,) = find_owners([deployment], [crd])
    assert finding.is_in_the_way
    assert f"belongs to {owner}, which can delete it" in finding.text
    assert f"First run: {first}" in finding.text
    verb = "label" if field == "labels" else "annotate"
    clear = " ".join(f"{mark}-" for mark in marks)
    assert finding.text.endswith(f"kubectl {verb} customresourcedefinition/pdj {clear}")
    crd["metadata"].pop(field)
    assert not [*find_owners([deployment], [crd])]


@pytest.mark.parametrize(
    "marks",
    [
        {"meta.helm.sh/release-name": EVIL, "meta.helm.sh/release-namespace": EVIL},
        {"argocd.argoproj.io/instance": EVIL},
        {"helm.toolkit.fluxcd.io/name": EVIL, "helm.toolkit.fluxcd.io/namespace": EVIL},
    ],
    ids=["helm", "argo", "flux"],
)
def test_no_annotation_becomes_a_command(marks):
    """Any tenant can have a Deployment of that name, and an administrator copies the commands."""
    deployment = {**deepcopy(THEIRS), "kind": "Deployment"}
    deployment["metadata"]["annotations"] = marks
    (finding,) = find_owners([deployment], [])
    words = shlex.split(finding.text.partition("First run: ")[2])
    assert "touch" not in words
    assert any(EVIL in word for word in words)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"annotations": HELM}, "this operator runs already (the Helm release ops/former)"),
        ({"namespace": "elsewhere"}, "this operator runs already (installed by hand)"),
        ({"name": "mine"}, "this operator runs already"),
        ({}, ""),
    ],
    ids=["helm", "namespace", "name", "plain"],
)
def test_our_operator_that_plain_files_would_not_just_update_is_in_the_way(changes, told):
    (ours,) = (obj for obj in build_operator(Ours()) if obj["kind"] == "Deployment")
    ours["metadata"] |= changes
    found = [*find_ours([ours, {**deepcopy(THEIRS), "kind": "Deployment"}])]
    assert [each.text.startswith(told) and each.is_in_the_way for each in found] == (
        [True] if told else []
    )


def test_our_own_helm_release_needs_no_owner_forgotten():
    (ours,) = (obj for obj in build_operator(Ours()) if obj["kind"] == "Deployment")
    crd = {"kind": "CustomResourceDefinition", "metadata": {"name": "pdj", "annotations": HELM}}
    assert not [*find_owners([ours], [crd])]


def test_what_kubectl_prints_is_read_in_every_locale(tmp_path, monkeypatch):
    kubectl = tmp_path / "kubectl"
    kubectl.write_bytes(b'#!/bin/sh\ncat <<E\n{"items": [{"a": "\xe8\xae\xad\xff"}]}\nE\n')
    kubectl.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    asks = Kubectl(Session(Namespace(kubeconfig="", context="")))
    assert asks.list("paddlejobs") == [{"a": "训\ufffd"}]
