"""What Kubernetes 1.15 makes of the v1beta1 CRD: its own validation, linked into a Go program."""

import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from api.constants import API_VERSION, KIND
from localcluster.gobuild import Binary, Pins, ensure_built
from manifests.v1beta1 import build_v1beta1_crd
from tests import bad_jobs
from tests.bad_jobs import BadJob
from tests.pod_corpus import all_pods

Raw = dict[str, Any]
SOURCE = Path(__file__).parents[1] / "go" / "crdcheck"
TEMPLATES = {
    name: {"metadata": pod["metadata"], "spec": pod["spec"]} for name, pod in all_pods().items()
}
LIST_MAPS_CAME_LATER = "two-containers-of-a-name"
BAD = [bad for bad in bad_jobs.schema() if bad.name != LIST_MAPS_CAME_LATER]
pytestmark = pytest.mark.timeout(900)  # the program is built once per user


@pytest.fixture(scope="module")
def crdcheck() -> Path:
    """The program; built anew when its source has changed."""
    source = (SOURCE / "main.go").read_bytes()
    pins = Pins(
        title="the check of v1beta1",
        name="crdcheck",
        version=hashlib.sha256(source).hexdigest()[:12],
        folder=SOURCE,
        binaries=(Binary("crdcheck", "."),),
    )
    return ensure_built(pins) / "crdcheck"


def ask(program: Path, crd: Raw, objects: Raw) -> Raw:
    """What the server of 1.15 finds wrong with a CRD and with objects."""
    question = json.dumps({"crd": crd, "objects": objects})
    done = subprocess.run([program], input=question, capture_output=True, text=True, check=True)
    answer: Raw = json.loads(done.stdout)
    return answer


@pytest.fixture(scope="module")
def answer(crdcheck: Path) -> Raw:
    """Its answer to the generated CRD, the corpus of pods and the bad jobs."""
    jobs = {name: as_job({"worker": {"template": t}}) for name, t in TEMPLATES.items()}
    return ask(crdcheck, build_v1beta1_crd(), jobs | {bad.name: bad.job for bad in BAD})


def as_job(spec: Raw) -> Raw:
    """A job of this spec."""
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": "job"}, "spec": spec}


def test_crd_is_valid(answer: Raw) -> None:
    assert answer["crd"] == []


def test_an_invalid_crd_is_told(crdcheck: Path) -> None:
    crd = build_v1beta1_crd()
    del crd["spec"]["validation"]["openAPIV3Schema"]["properties"]["spec"]["type"]
    assert any("type" in problem for problem in ask(crdcheck, crd, {})["crd"])


@pytest.mark.parametrize("name", TEMPLATES)
def test_legal_in_a_pod_is_legal_in_a_template(answer: Raw, name: str) -> None:
    assert answer["objects"][name] == []


@pytest.mark.parametrize("bad", BAD, ids=str)
def test_refuses(answer: Raw, bad: BadJob) -> None:
    assert answer["objects"][bad.name]
