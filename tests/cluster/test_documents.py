"""Every PaddleJob that the documents show is accepted by the real API server."""

import re
from pathlib import Path

import pytest

from localcluster import Cluster

ROOT = Path(__file__).parents[2]
YAML_BLOCK = re.compile(r"```yaml\n(.*?)```", re.DOTALL)
BLOCKS = [
    pytest.param(block, id=f"{path.stem}-{number}")
    for path in sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
    for number, block in enumerate(YAML_BLOCK.findall(path.read_text()))
]


@pytest.mark.parametrize("block", BLOCKS)
def test_yaml_is_accepted(cluster: Cluster, crd: None, namespace: str, block: str) -> None:
    done = cluster.kubectl(
        "-n", namespace, "create", "--dry-run=server", "-f", "-", stdin=block, check=False
    )
    assert done.returncode == 0, done.stderr
