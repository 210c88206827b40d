"""Breaks the operator in one place in a copy of the project, and runs a test file there."""

import ast
import contextlib
import hashlib
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path
from queue import SimpleQueue

from localcluster.provision.environments import cache_folder
from tests.faults.runner import Runner

ROOT = Path(__file__).resolve().parents[2]
AT_ONCE = 2


@dataclass(frozen=True, slots=True)
class Mutant:
    """A wrong idea: in one function of `path`, `right` becomes `wrong`; `killer` sees it.

    `function` is a qualified name. Both expressions are compared as Python reads them, so how the
    source is laid out does not matter. `killer` is a file of tests.
    """

    name: str
    path: str
    function: str
    right: str
    wrong: str
    killer: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a mutant: the test that killed it, or that nothing did."""

    mutant: Mutant
    killer: str
    seconds: float
    is_cached: bool = False


def judge_all(mutants: Sequence[Mutant]) -> Iterator[Verdict]:
    """Judge mutants in their order, two at once; each worker has one copy of the project."""
    with (
        tempfile.TemporaryDirectory(prefix="mutants-") as folder,
        contextlib.ExitStack() as stack,
        ThreadPoolExecutor(AT_ONCE) as pool,
    ):
        copies: SimpleQueue[tuple[Path, Runner]] = SimpleQueue()
        for number in range(AT_ONCE):
            copy = copy_project(Path(folder) / str(number))
            copies.put((copy, stack.enter_context(contextlib.closing(Runner(copy)))))
        yield from pool.map(lambda mutant: judge(mutant, copies), mutants)


def copy_project(copy: Path) -> Path:
    """Copy what git tracks or would add: other files may change while they are copied."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.check_output(listed, cwd=ROOT, text=True).split("\0"):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name, follow_symlinks=False)
    return copy


def judge(mutant: Mutant, copies: SimpleQueue[tuple[Path, Runner]]) -> Verdict:
    """Run the killer against one mutant, unless it has killed this very one before."""
    began = time.monotonic()
    copy, runner = copies.get()
    try:
        known = cache_folder() / "mutants" / fingerprint(mutant, copy)
        if known.exists():
            return Verdict(mutant, known.read_text(), 0, is_cached=True)
        if killer := run_mutated(mutant, copy, runner):
            known.parent.mkdir(parents=True, exist_ok=True)
            known.write_text(killer)
        return Verdict(mutant, killer, time.monotonic() - began)
    finally:
        copies.put((copy, runner))


def run_mutated(mutant: Mutant, copy: Path, runner: Runner) -> str:
    """The first test that fails with the change, which is undone afterwards.

    Bytecode is kept between runs but for the changed module: its size and second may be the same.
    """
    path = copy / mutant.path
    source = path.read_text()
    bytecode = Path(cache_from_source(str(path)))
    try:
        bytecode.unlink(missing_ok=True)
        path.write_text(mutate(mutant, source))
        return runner.first_failure(mutant.killer)
    finally:
        path.write_text(source)
        bytecode.unlink(missing_ok=True)


def fingerprint(mutant: Mutant, root: Path) -> str:
    """What changes with the mutant, its module, its tests, and what of tests/ these import."""
    killer = root / mutant.killer
    files = {root / mutant.path, root / "requirements/dev.txt", root / "pyproject.toml"}
    todo = {killer, *(folder / "conftest.py" for folder in killer.parents)}
    while todo:
        path = todo.pop()
        if path in files or not path.is_file() or root not in path.parents:
            continue
        files.add(path)
        todo |= set(_imported_tests(path, root))
    key = hashlib.sha256(f"{sys.version} {mutant}".encode())
    for path in sorted(files):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        key.update(f"{path.relative_to(root)} {content}".encode())
    return key.hexdigest()


def _imported_tests(path: Path, root: Path) -> Iterator[Path]:
    """Files of tests/ that a file imports, also as names of a package."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            module = node.module or ""
            names = [module, *(f"{module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            if name.startswith("tests."):
                place = root / name.replace(".", "/")
                yield from (place.with_suffix(".py"), place / "__init__.py")


def mutate(mutant: Mutant, source: str) -> str:
    """The changed source. Raises ValueError where there is not exactly one place for it."""
    tree = ast.parse(source)
    functions = [node for name, node in _functions(tree) if name == mutant.function]
    if len(functions) != 1:
        where = f"{mutant.path} has {len(functions)} functions {mutant.function}"
        raise ValueError(f"{mutant.name}: {where}")
    replacer = _Replacer(mutant)
    replacer.visit(functions[0])
    if replacer.places != 1:
        where = f"{mutant.path}, {mutant.function} has {replacer.places} places"
        raise ValueError(f"{mutant.name}: {where} {mutant.right}")
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
