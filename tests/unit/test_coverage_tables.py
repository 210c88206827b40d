"""The tables of what is promised, and the tests that show it, name tests that exist."""

import ast
import re
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
FAULTS = 44
TABLES = sorted((CHECKOUT / "docs").glob("*-coverage.md"))
TESTS = sorted(
    {pair for path in TABLES for pair in re.findall(r"`(tests/\S+\.py)::(\w+)`", path.read_text())}
)


@pytest.mark.parametrize(("file", "test"), TESTS, ids=[test for _, test in TESTS])
def test_named_test_exists(file, test):
    tree = ast.parse((CHECKOUT / file).read_text())
    assert test in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_every_row_names_a_test(path):
    rows = [line for line in path.read_text().splitlines() if line.startswith("| ")]
    bare = [row for row in rows if "`tests/" not in row and not row.endswith("| test |")]
    assert bare == []


def test_every_fault_of_the_catalogue_has_its_row():
    text = (CHECKOUT / "docs" / "fault-coverage.md").read_text()
    numbers = [int(number) for number in re.findall(r"^\| (\d+)\. ", text, re.MULTILINE)]
    assert numbers == list(range(1, FAULTS + 1))
