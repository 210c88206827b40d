"""The table of what holds on the process node alone."""

from pathlib import Path

from tests.cluster.node.differences import DIFFERENCES

FOLDER = Path(__file__).parents[2] / "cluster" / "node"


def test_every_difference_is_a_test():
    sources = "".join(path.read_text() for path in FOLDER.glob("test_*.py"))
    names = [name.partition("[")[0] for name in DIFFERENCES]
    assert [name for name in names if f"def {name}(" not in sources] == []
