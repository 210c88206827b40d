"""Every PaddleJob that the documents show is accepted by the real API server."""

import re
from pathlib import Path

import pytest

from tests.live.lab import Lab

ROOT = Path(__file__).parents[3]
YAML_BLOCK = re.compile(r"```yaml\n(.*?)```", re.DOTALL)
NAMESPACE = re.compile(r"^  namespace: .*\n", re.MULTILINE)
BLOCKS = [
    pytest.param(block, id=f"{path.stem}-{number}")
    for path in sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
    for number, block in enumerate(YAML_BLOCK.findall(path.read_text()))
    if "apiVersion:" in block  # and no values of the Helm chart
    and "apiVersion: kueue.x-k8s.io/" not in block  # which is not installed here
]


@pytest.mark.parametrize("block", BLOCKS)
def test_yaml_is_accepted(module_lab: Lab, block: str) -> None:
    """Where Volcano is installed too, for some documents show its PodGroups.

    The namespace that a document names is another's here.
    """
    where = ("-n", module_lab.namespace)
    arguments = (*where, "create", "--dry-run=server", "-f", "-")
    done = module_lab.cluster.kubectl(*arguments, stdin=NAMESPACE.sub("", block), check=False)
    assert done.returncode == 0, done.stderr
