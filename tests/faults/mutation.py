"""Breaks the operator in one place in a copy of the project, and runs a test file there."""

import ast
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOT_COPIED = shutil.ignore_patterns(".*", "__pycache__", "dist", "*.egg-info")
"""What git ignores, and folders of tools: they may change while they are copied."""

UNIT_TESTS = "tests/unit"
LIMIT_SECONDS = 300
AT_ONCE = 2
WITHOUT = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest")
"""Not needed here, and loading hypothesis takes longer than most of the files."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A wrong idea: in one function of `path`, `right` becomes `wrong`; `killer` sees it.

    `function` is a qualified name. Both expressions are compared as Python reads them, so how the
    source is laid out does not matter. `killer` is a file of the tests in `folder`.
    """

    name: str
    path: str
    function: str
    right: str
    wrong: str
    killer: str
    folder: str = UNIT_TESTS


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a mutant: the test that killed it, or that nothing did."""

    mutant: Mutant
    killer: str
    seconds: float


def judge(mutant: Mutant) -> Verdict:
    """Run the suite against one mutant."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        copy = Path(folder) / ROOT.name
        shutil.copytree(ROOT, copy, symlinks=True, ignore=NOT_COPIED)
        apply(mutant, copy)
        killer = run_tests(copy, f"{mutant.folder}/{mutant.killer}")
    return Verdict(mutant, killer, time.monotonic() - began)


def apply(mutant: Mutant, root: Path) -> None:
    """Make the change. Raises ValueError where its place is not found exactly once."""
    path = root / mutant.path
    path.write_text(mutate(mutant, path.read_text()))


def mutate(mutant: Mutant, source: str) -> str:
    """The changed source. Raises ValueError where there is not exactly one place for it."""
    tree = ast.parse(source)
    functions = [node for name, node in _functions(tree) if name == mutant.function]
    if len(functions) != 1:
        raise ValueError(f"{mutant.name}: {len(functions)} functions {mutant.function}")
    replacer = _Replacer(mutant)
    replacer.visit(functions[0])
    if replacer.places != 1:
        raise ValueError(f"{mutant.name}: {replacer.places} places in {mutant.function}")
    return ast.unparse(tree)


class _Replacer(ast.NodeTransformer):
    """Puts one expression in the place of another, and counts how often."""

    def __init__(self, mutant: Mutant) -> None:
        self._right = ast.dump(_expression(mutant.right))
        self._wrong = _expression(mutant.wrong)
        self.places = 0

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.expr) and ast.dump(node) == self._right:
            self.places += 1
            return self._wrong
        return self.generic_visit(node)


def _expression(source: str) -> ast.expr:
    statement = ast.parse(source).body[0]
    assert isinstance(statement, ast.Expr), source
    return statement.value


def _functions(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    """Every function, also of classes and of functions, by its qualified name."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            if isinstance(child, ast.FunctionDef):
                yield prefix + child.name, child
            yield from _functions(child, f"{prefix}{child.name}.")


def run_tests(root: Path, path: str) -> str:
    """The first test of a file that fails, empty where none does.

    Raises RuntimeError where the tests could not run: that kills no mutant.
    """
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", *WITHOUT]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [*command, path],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    for line in done.stdout.splitlines():
        if line.startswith("FAILED "):
            return line.removeprefix("FAILED ").split(" - ")[0]
    if done.returncode != 0:
        raise RuntimeError(f"the tests did not run: {(done.stdout + done.stderr)[-500:]}")
    return ""


def judge_all(mutants: Sequence[Mutant]) -> Iterator[Verdict]:
    """Judge mutants in their order, two at once."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield from pool.map(judge, mutants)
