"""The house keeps its shape: import directions, one importer of the client, one clock, sizes."""

import ast
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("api", "metrics", "reconcile", "controller", "localcluster", "benchmarks")
ALLOWED = {
    "api": {"api"},
    "metrics": {"metrics"},
    "reconcile": {"reconcile", "api", "metrics"},
    "controller": {"controller", "reconcile", "api", "metrics"},
    "localcluster": {"localcluster"},
    "benchmarks": {"benchmarks", "localcluster"},
}
CLOCKS = {"controller": {"clock.py"}, "localcluster": {"clock.py"}}
CLOCK_CALLS = {("time", "sleep"), ("time", "time"), ("datetime", "now"), ("datetime", "utcnow")}
MAX_FUNCTION_LINES = 50
MAX_FILE_LINES = 400
MAX_PARAMETERS = 6


def modules(*packages: str) -> Iterator[Path]:
    """Every Python file of the packages."""
    return itertools.chain.from_iterable((ROOT / package).rglob("*.py") for package in packages)


def imported(path: Path) -> set[str]:
    """Top-level names that a module imports, wherever in it the import stands."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.split(".")[0])
    return names


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function of a module."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def relative(path: Path) -> str:
    """The path as a test's id."""
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("package", PACKAGES)
def test_imports_point_one_way(package: str) -> None:
    ours = set(PACKAGES)
    wrong = {
        f"{relative(path)} imports {name}"
        for path in modules(package)
        for name in (imported(path) & ours) - ALLOWED[package]
    }
    assert not wrong


def test_one_module_imports_the_kubernetes_package() -> None:
    importers = {relative(p) for p in modules(*PACKAGES) if "kubernetes" in imported(p)}
    assert importers == {"controller/client.py"}


@pytest.mark.parametrize("package", PACKAGES)
def test_time_is_read_in_one_module(package: str) -> None:
    readers = {
        f"{relative(path)}:{node.lineno}"
        for path in modules(package)
        if path.name not in CLOCKS.get(package, set())
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and (node.value.id, node.attr) in CLOCK_CALLS
    }
    assert not readers


def test_reconcile_is_pure() -> None:
    forbidden = {"threading", "structlog", "logging", "socket", "time", "random", "os"}
    wrong = {relative(p): imported(p) & forbidden for p in modules("api", "reconcile")}
    assert not {path: names for path, names in wrong.items() if names}


def test_functions_are_short_and_take_few_parameters() -> None:
    wrong = [
        f"{relative(path)}:{node.lineno} {node.name}"
        for path in modules(*PACKAGES)
        for node in functions(path)
        if (node.end_lineno or 0) - node.lineno >= MAX_FUNCTION_LINES
        or len([a for a in node.args.args if a.arg not in ("self", "cls")]) > MAX_PARAMETERS
    ]
    assert not wrong


def test_files_are_one_noun() -> None:
    lengths = {relative(p): len(p.read_text().splitlines()) for p in modules(*PACKAGES)}
    assert not {path: lines for path, lines in lengths.items() if lines > MAX_FILE_LINES}


def test_public_names_are_documented() -> None:
    bare = [
        f"{relative(path)} {node.name}"
        for path in modules(*PACKAGES)
        for node in public(ast.parse(path.read_text()))
        if not ast.get_docstring(node)
    ]
    assert not bare


def public(node: ast.Module | ast.ClassDef) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    """Public functions and classes of a module, and the public methods of those classes."""
    for child in node.body:
        if isinstance(child, ast.FunctionDef | ast.ClassDef) and not child.name.startswith("_"):
            yield child
            if isinstance(child, ast.ClassDef):
                yield from public(child)
