"""Every file in examples/ is submitted as it is, here or ELSEWHERE, and real training ends it.

Its images have little to train on. How well the programs learn, test_wide_and_deep.py and
test_resnet.py show; test_quickstart.py trains an image's own number of samples.
"""

import pytest

from tests.examples.pods import EXAMPLES
from tests.live.lab import Lab

pytestmark = [pytest.mark.training, pytest.mark.timeout(600)]

JOB_SECONDS = 400.0
# File, job, a worker's last words.
JOBS = {
    "wide_and_deep_podip.yaml": ("wide-ande-deep-podip", ""),
    "wide_and_deep_service.yaml": ("wide-ande-deep-service", "model saved in"),
    "wide_and_deep_volcano.yaml": ("wide-ande-deep", "model saved in"),
    "resnet.yaml": ("resnet", "model saved in"),
    "heter.yaml": ("heter", "reached all"),
}
VOLUME = {"storage.yaml", "storage_fill.yaml"}
ELSEWHERE = {
    "resnet_elastic.yaml",  # tests/examples/test_elastic_job.py
    "wide_and_deep_restart.yaml",  # tests/examples/test_resume.py
    *("wide_and_deep.yaml", "wide_and_deep_gpu.yaml"),  # tests/manuals/test_operator_manual.py
    *("wide_and_deep_storage.yaml", "sharded.yaml", "ctr.yaml"),  # tests/manuals/test_guide.py
}


@pytest.fixture(scope="module")
def lab(module_lab: Lab) -> Lab:
    """A namespace in which the examples' claim is bound, and its volume filled."""
    for file in sorted(VOLUME):
        module_lab.kubectl("create", "-f", str(EXAMPLES / file))
    module_lab.kubectl("wait", "--for=condition=Complete", "job/storage-fill", "--timeout=100s")
    return module_lab


def test_every_file_is_known() -> None:
    assert {path.name for path in EXAMPLES.glob("*.yaml")} == set(JOBS) | VOLUME | ELSEWHERE


@pytest.mark.parametrize("file", JOBS)
def test_is_trained_to_its_end(lab: Lab, file: str) -> None:
    job, last_words = JOBS[file]
    lab.kubectl("create", "-f", str(EXAMPLES / file))
    try:
        lab.wait_completed(job, timeout_seconds=JOB_SECONDS)
        if last_words:
            assert last_words in lab.log(f"{job}-worker-0")
    finally:
        lab.kubectl("delete", "-f", str(EXAMPLES / file), "--timeout=100s")


def test_no_file_tells_a_program_where_its_peers_are() -> None:
    told = {
        path.name: line.strip()
        for path in EXAMPLES.rglob("*.yaml")
        for line in path.read_text().splitlines()
        if "name: PADDLE_" in line and "name: PADDLE_PORT" not in line
    }
    assert told == {}
