"""The table of the manuals' rows names tests that exist."""

import ast
import re
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
TESTS = re.findall(
    r"`(tests/\S+\.py)::(\w+)`", (CHECKOUT / "docs" / "manual-coverage.md").read_text()
)


@pytest.mark.parametrize(("file", "test"), TESTS, ids=[test for _, test in TESTS])
def test_named_test_exists(file: str, test: str) -> None:
    tree = ast.parse((CHECKOUT / file).read_text())
    assert test in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
