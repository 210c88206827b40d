"""What older servers make of the CRDs: their own validation, linked into small Go programs.

Kubernetes 1.15 for v1beta1, and 1.25, the oldest that is supported, for v1.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from api.constants import API_VERSION, KIND, Role
from api.crd import UNSEEN, build_crd
from api.objects import Raw
from manifests.v1beta1 import build_v1beta1_crd
from tests.live import gochecks
from tests.memory import bad_jobs
from tests.memory.bad_jobs import BadJob
from tests.memory.builders import a_template
from tests.pod_corpus import all_pods

TEMPLATES = {
    name: {"metadata": pod["metadata"], "spec": pod["spec"]} for name, pod in all_pods().items()
}
LIST_MAPS_CAME_LATER = "two-containers-of-a-name"
EVERY_VARIABLE = (
    "self.spec.worker.template.spec.containers.all(c, !has(c.env) || c.env.all(e, e.name != 'A'))"
)
BAD = [bad for bad in bad_jobs.schema() if bad.name != LIST_MAPS_CAME_LATER]


@pytest.fixture(scope="module")
def crdcheck() -> Path:
    return gochecks.build("crdcheck")


@pytest.fixture(scope="module")
def crdcheck125() -> Path:
    return gochecks.build("crdcheck125")


def ask(program: Path, question: Raw) -> Any:
    """What the server finds wrong: that of 1.15 with a CRD and objects, that of 1.25 with a CRD and
    updates of objects.
    """
    text = json.dumps(question)
    done = subprocess.run([program], input=text, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def answer(crdcheck: Path) -> Raw:
    """Its answer to the generated CRD, the corpus of pods and the bad jobs."""
    jobs = {name: as_job({"worker": {"template": t}}) for name, t in TEMPLATES.items()}
    objects = jobs | {bad.name: bad.job for bad in BAD}
    return dict(ask(crdcheck, {"crd": build_v1beta1_crd(), "objects": objects}))


def as_job(spec: Raw) -> Raw:
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": "job"}, "spec": spec}


def test_v1beta1_is_valid_in_115(answer: Raw) -> None:
    assert answer["crd"] == []


def test_invalid_v1beta1_is_told_in_115(crdcheck: Path) -> None:
    crd = build_v1beta1_crd()
    del crd["spec"]["validation"]["openAPIV3Schema"]["properties"]["spec"]["type"]
    assert any("type" in problem for problem in ask(crdcheck, {"crd": crd, "objects": {}})["crd"])


@pytest.mark.parametrize("name", TEMPLATES)
def test_legal_in_a_pod_is_legal_in_a_template(answer: Raw, name: str) -> None:
    assert answer["objects"][name] == []


@pytest.mark.parametrize("bad", BAD, ids=str)
def test_refuses(answer: Raw, bad: BadJob) -> None:
    assert answer["objects"][bad.name]


def test_v1_is_valid_in_125(crdcheck125: Path) -> None:
    assert ask(crdcheck125, {"crd": build_crd()})["crd"] == []


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ({"rule": "self.?spec.hasValue()"}, "compilation failed"),
        ({"rule": "true", "fieldPath": ".spec"}, "unknown field"),
        ({"rule": EVERY_VARIABLE}, "cost"),
    ],
    ids=["later-syntax", "later-field", "unbounded-cost"],
)
def test_rule_too_new_or_too_dear_is_told_in_125(crdcheck125: Path, rule: Raw, says: str) -> None:
    crd = build_crd()
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["x-kubernetes-validations"].append(rule)
    assert any(says in problem for problem in ask(crdcheck125, {"crd": crd})["crd"])


STATUS_CHANGES: dict[str, tuple[Raw, Raw, bool]] = {
    "the first write of a status": (UNSEEN, {"phase": "Pending"}, False),
    "another phase": ({"phase": "Pending"}, {"phase": "Running"}, False),
    "no other status": ({"phase": "Running"}, {"phase": "Running"}, True),
    "not yet a phase": (UNSEEN, UNSEEN, True),
}


@pytest.fixture(scope="module")
def problems_of_updates(crdcheck125: Path) -> Any:
    """What the rules find wrong if a status and the templates of all roles change at once."""
    old, new = (
        as_job({role: {"replicas": 1, "template": a_template(hostname=name)} for role in Role})
        for name in ("old", "new")
    )
    updates = {
        name: [old | {"status": before}, new | {"status": after}]
        for name, (before, after, _) in STATUS_CHANGES.items()
    }
    return ask(crdcheck125, {"crd": build_crd(), "updates": updates})["updates"]


@pytest.mark.parametrize("change", STATUS_CHANGES)
def test_templates_are_compared_only_if_no_status_is_written(
    problems_of_updates: dict[str, list[str]], change: str
) -> None:
    """To compare them takes most of the time of a status's write, which cannot change them."""
    said = [problem for problem in problems_of_updates[change] if ".template may" in problem]
    assert len(said) == (len(Role) if STATUS_CHANGES[change][-1] else 0)
