"""The manuals' YAML is that of the files that are trained, here and in tests/examples.

Of the other files in examples/, wide_and_deep_volcano.yaml, wide_and_deep_gpu.yaml and
wide_and_deep_podip.yaml are as printed but for a job's name or the order of fields.
"""

import re
from pathlib import Path

import pytest
import yaml

from tests.examples.pods import EXAMPLES
from tests.live.lab import CORE, Lab
from tests.manuals.source import needs_manuals, text_of

PRINTED = Path(__file__).parent / "printed"
STORAGE = PRINTED / "storage.yaml"
LEAST_BYTES = 10_000  # of a model that has seen samples
FILES = [
    (EXAMPLES / "wide_and_deep.yaml", "002"),
    (EXAMPLES / "resnet.yaml", "002"),
    (EXAMPLES / "resnet.yaml", "004"),
    (EXAMPLES / "sharded" / "job.yaml", "003"),
    (PRINTED / "ctr.yaml", "001"),
    (STORAGE, "002"),
]


def words_of(text: str) -> str:
    """Without comments and spaces: printing has changed or lost some of these."""
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("#"))
    return "".join("".join(lines).split())


@needs_manuals
@pytest.mark.parametrize(("file", "manual"), FILES, ids=[f"{n}-{f.stem}" for f, n in FILES])
def test_file_is_what_the_manual_prints(file: Path, manual: str) -> None:
    printed = words_of(text_of(manual))
    for document in re.split(r"^---$", file.read_text(), flags=re.MULTILINE):
        assert words_of(document) in printed


@pytest.mark.training
@pytest.mark.timeout(700)
def test_job_trains_with_program_and_data_on_the_claim(lab: Lab) -> None:
    volume, claim, job = yaml.safe_load_all(STORAGE.read_text())
    fill = (EXAMPLES / "storage_fill.yaml").read_text()
    fill = yaml.safe_load(fill.replace("claimName: training", "claimName: nfs-pvc"))
    lab.submit(volume, claim, fill)

    def is_bound() -> bool:
        found = lab.get(CORE, "persistentvolumeclaims/nfs-pvc")
        phase = (found.get("status") or {}).get("phase")
        return (phase, found["spec"].get("volumeName")) == ("Bound", "nfs-pv")

    lab.wait(is_bound, "the claim is bound to its volume")
    lab.kubectl("wait", "--for=condition=Complete", "job/storage-fill", "--timeout=100s")
    lab.submit(job)
    lab.wait_completed("paddlejob-demo-1", timeout_seconds=400)
    lab.wait(lambda: not lab.pod_names("paddlejob-demo-1"), "its pods go: cleanPolicy says so")
    lab.kubectl("delete", "pv", "nfs-pv", "--wait=false")
    model = lab.cluster.folder / "nfs" / "10.12.201.xx" / "nas" / "model"
    sizes = [part.stat().st_size for part in model.glob("*/part-*")]
    assert sum(sizes) > LEAST_BYTES
