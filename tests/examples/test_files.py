"""Every file in examples/ is submitted as it is, and real training ends it, here or ELSEWHERE.

A file is only admitted if it differs from another by what a third one trains with. The images
have little to train on. How well the programs learn, test_resume.py, test_elastic_job.py and
test_quickstart.py show.
"""

from typing import Any

import pytest
import yaml

from tests.examples.files import EXAMPLES
from tests.live import patience
from tests.live.lab import Lab

pytestmark = [pytest.mark.training]

# File, job, a worker's last words.
JOBS = {
    "wide_and_deep_gpu.yaml": ("wide-ande-deep-gpu", ""),
    "wide_and_deep_volcano.yaml": ("wide-ande-deep", "model saved in"),
    "heter.yaml": ("heter", "reached all"),
}
CHANGES = {
    "wide_and_deep_podip.yaml": {"intranet": "PodIP", "cleanPodPolicy": "OnCompletion"},
    "wide_and_deep_service.yaml": {"intranet": "Service"},
}
"""In what these differ from wide_and_deep.yaml, which trains by PodIP: wide_and_deep_gpu.yaml has
the others."""
VOLUME = {"storage.yaml", "storage_fill.yaml"}
ELSEWHERE = {
    "resnet_elastic.yaml",  # tests/examples/test_elastic_job.py
    "wide_and_deep_restart.yaml",  # tests/examples/test_resume.py
    "first.yaml",  # tests/manuals/test_install.py
    *(
        "resnet.yaml",
        "wide_and_deep.yaml",
        "wide_and_deep_storage.yaml",
    ),  # tests/manuals/test_guide.py
    *("sharded.yaml", "ctr.yaml"),  # tests/manuals/test_guide.py
}


@pytest.fixture(scope="module")
def lab(module_lab: Lab) -> Lab:
    """A namespace in which the examples' claim is bound, and its volume filled."""
    for file in sorted(VOLUME):
        module_lab.kubectl("create", "-f", str(EXAMPLES / file))
    module_lab.kubectl("wait", "--for=condition=Complete", "job/storage-fill", patience.IN_KUBECTL)
    return module_lab


def test_every_file_is_known() -> None:
    known = {*JOBS, *CHANGES, *VOLUME, *ELSEWHERE}
    assert {path.name for path in EXAMPLES.glob("*.yaml")} == known


def spec_of(text: str) -> Any:
    """That of the first object."""
    return next(yaml.safe_load_all(text)).get("spec")


@pytest.mark.parametrize("file", CHANGES)
def test_differs_from_one_that_is_trained_by_a_field(lab: Lab, file: str) -> None:
    lab.kubectl("create", "--dry-run=server", "-f", str(EXAMPLES / file))
    spec = spec_of((EXAMPLES / "wide_and_deep.yaml").read_text())
    assert spec_of((EXAMPLES / file).read_text()) == spec | CHANGES[file]


@pytest.mark.parametrize("file", JOBS)
def test_is_trained_to_its_end(lab: Lab, file: str) -> None:
    job, last_words = JOBS[file]
    lab.kubectl("create", "-f", str(EXAMPLES / file))
    try:
        lab.wait_completed(job)
        if last_words:
            assert last_words in lab.log(f"{job}-worker-0")
    finally:
        lab.kubectl("delete", "-f", str(EXAMPLES / file), patience.IN_KUBECTL)


def test_no_file_tells_a_program_where_its_peers_are() -> None:
    told = {
        path.name: line.strip()
        for path in EXAMPLES.rglob("*.yaml")
        for line in path.read_text().splitlines()
        if "name: PADDLE_" in line.partition("#")[0] and "name: PADDLE_PORT" not in line
    }
    assert told == {}
