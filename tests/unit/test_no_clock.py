"""No test depends on how fast the machine is, or on what else it does.

What takes time, processor or memory is compared with a bound in tests/timings alone, and whoever
waits has the deadline of tests/live/patience.py.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
APART = {"timings", "soak", "memory", "e2e"}
"""`make soak` and `make e2e` measure a machine of their own; time in `memory` is stepped."""
READINGS = {
    *("monotonic", "monotonic_ns", "perf_counter", "process_time", "thread_time", "time"),
    *("utc_now", "getrusage", "get_traced_memory"),
}
"""What the machine's clocks and gauges are asked by."""
OF_ANY = {"total_seconds", "ru_maxrss", "cpu_times", "memory_info"}
"""What says how long or how much, whoever has it."""
GAUGES = ("VmHWM", "VmRSS", "RssAnon", "performance.now")
WAITS = {"wait_until": 1, "wait": 2, "timeout": 0}
"""What waits, or marks a test with a timeout, and the place of the deadline."""
DEADLINES = {"timeout", "timeout_seconds", "start_timeout_seconds"}
PATIENCE = "patience."


@cache
def syntax(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def files() -> list[Path]:
    paths = sorted(TESTS.rglob("*.py"))
    return [path for path in paths if path.relative_to(TESTS).parts[0] not in APART]


def name_of(node: ast.AST) -> str:
    return getattr(node, "id", getattr(node, "attr", ""))


@dataclass(frozen=True)
class Part:
    """What an expression speaks of: names, functions that it calls, and a reading of its own."""

    names: frozenset[str]
    called: frozenset[str]
    reads: bool

    def is_measure(self, names: set[str], takers: set[str]) -> bool:
        return self.reads or bool(self.names & names or self.called & takers)


class Function:
    """A function of the tests, and what in it stands for what the machine took."""

    def __init__(self, path: Path, node: ast.FunctionDef, imports: frozenset[str]) -> None:
        self.name, self.path = node.name, path
        nodes = list(ast.walk(node))
        self._clocks = imports - {each.arg for each in nodes if isinstance(each, ast.arg)}
        self._given = [(name, self._part(value)) for each in nodes for name, value in given(each)]
        returned = [each.value for each in nodes if isinstance(each, ast.Return) and each.value]
        self._returned = [self._part(value) for value in returned]
        self._small = [
            (f"{path.name}:{node.lineno}: {ast.unparse(node)}", self._part(side))
            for each in nodes
            for node, side in smaller_sides(each)
        ]

    def _part(self, value: ast.AST) -> Part:
        nodes = list(ast.walk(value))
        names = {each.id for each in nodes if isinstance(each, ast.Name)}
        called = {name_of(each.func) for each in nodes if isinstance(each, ast.Call)}
        return Part(frozenset(names), frozenset(called), any(map(self._is_reading, nodes)))

    def _is_reading(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Attribute):
            is_clock = node.attr in READINGS and name_of(node.value) in self._clocks
            return is_clock or node.attr in OF_ANY
        text = node.value if isinstance(node, ast.Constant) else None
        return isinstance(text, str) and any(gauge in text for gauge in GAUGES)

    def names(self, takers: set[str]) -> set[str]:
        """Those that are given what was measured, in the end by way of others."""
        found: set[str] = set()
        while more := {n for n, part in self._given if part.is_measure(found, takers)} - found:
            found |= more
        return found

    def returns_measure(self, takers: set[str]) -> bool:
        names = self.names(takers)
        return any(part.is_measure(names, takers) for part in self._returned)

    def bounds(self, takers: set[str]) -> Iterator[str]:
        """Where what was measured has to be less than something, for the test to pass."""
        names = self.names(takers)
        return (line for line, part in self._small if part.is_measure(names, takers))


def given(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """The names that a statement gives a value to, with that value."""
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and node.value:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for each in (part for target in targets for part in ast.walk(target)):
            if isinstance(each, ast.Name):
                yield each.id, node.value
    elif isinstance(node, ast.Call) and name_of(node.func) == "append":
        yield name_of(getattr(node.func, "value", node.func)), node


def smaller_sides(node: ast.AST) -> Iterator[tuple[ast.Compare, ast.AST]]:
    """What has to be less than something else for the test to pass, where this statement judges."""
    first = node.body[0] if isinstance(node, ast.If) else node
    fails = isinstance(first, ast.Raise)
    is_passed = isinstance(first, ast.Return) and not first.value
    if not isinstance(node, ast.Assert | ast.If) or not (node is first or fails or is_passed):
        return
    for each in walk_judged(node.test):
        if isinstance(each, ast.Compare):
            sides = [each.left, *each.comparators]
            for left, op, right in zip(sides, each.ops, sides[1:], strict=False):
                is_order = isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE)
                is_less = isinstance(op, ast.Lt | ast.LtE) != fails
                small, large = (left, right) if is_less else (right, left)
                if is_order and not ast.unparse(large).startswith(PATIENCE):
                    yield each, small


def walk_judged(node: ast.AST) -> Iterator[ast.AST]:
    """What stands below, but for the questions of waits."""
    if not isinstance(node, ast.Lambda):
        yield node
        for each in ast.iter_child_nodes(node):
            yield from walk_judged(each)


def bounds_in(paths: list[Path]) -> list[str]:
    functions = [
        Function(path, node, imports_of(path))
        for path in paths
        for node in ast.walk(syntax(path))
        if isinstance(node, ast.FunctionDef)
    ]
    takers: set[str] = set()
    while more := {each.name for each in functions if each.returns_measure(takers)} - takers:
        takers |= more
    return [line for each in functions for line in each.bounds(takers)]


@cache
def imports_of(path: Path) -> frozenset[str]:
    nodes = (
        each for each in ast.walk(syntax(path)) if isinstance(each, ast.Import | ast.ImportFrom)
    )
    return frozenset(name.asname or name.name for node in nodes for name in node.names)


def test_nothing_that_the_machine_takes_is_compared_with_a_bound():
    assert bounds_in(files()) == []


FOUND = {
    "time": "    began = time.monotonic()\n    work()\n    assert time.monotonic() - began < 5",
    "processor": "    took = seconds()\n    assert took <= 2 * 1.5",
    "list": "    all = []\n    all.append(seconds())\n    assert 3 > max(all)",
    "memory": "    before = status['VmRSS']\n    assert status['VmHWM'] - before <= MOST",
    "page": "    ms = tab.evaluate('performance.now() - began')\n    assert any([ms < 250])",
    "dates": "    assert (end - start).total_seconds() < 30",
    "raised": "    if seconds() > 3:\n        raise AssertionError",
}
NOT_FOUND = {
    "least": "    assert seconds() >= 30",
    "count": "    assert len(asked) < 5",
    "stepped": "    assert clock.monotonic() < 5",
    "wait": "    assert wait(lambda: time.monotonic() < ends)",
    "loop": "    while time.monotonic() < ends:\n        work()",
}
MODULE = """
import time
def seconds():
    began = time.process_time()
    return time.process_time() - began
def test_it(clock):
"""


@pytest.mark.parametrize("body", FOUND.values(), ids=FOUND)
def test_a_bound_is_found(body, tmp_path, monkeypatch):
    assert len(bounds_of(body, tmp_path, monkeypatch)) == 1


@pytest.mark.parametrize("body", NOT_FOUND.values(), ids=NOT_FOUND)
def test_what_any_machine_meets_is_none(body, tmp_path, monkeypatch):
    assert bounds_of(body, tmp_path, monkeypatch) == []


def bounds_of(body: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(f"{__name__}.TESTS", folder)
    file = folder / "test_it.py"
    file.write_text(MODULE + body)
    return bounds_in([file])


def own_deadlines(path: Path) -> Iterator[str]:
    """Waits for what has to come, with a deadline of the file's own."""
    nodes = list(ast.walk(syntax(path)))
    in_vain = {each.operand for each in nodes if isinstance(each, ast.UnaryOp)}
    for call in (each for each in nodes if isinstance(each, ast.Call)):
        named = [each.value for each in call.keywords if each.arg in DEADLINES]
        placed = call.args[WAITS.get(name_of(call.func), len(call.args)) :][:1]
        if call not in in_vain and any(map(is_own, (*named, *placed))):
            yield f"{path.relative_to(TESTS)}:{call.lineno}: {ast.unparse(call)}"


def is_own(deadline: ast.expr) -> bool:
    """Whether it is a number or a constant; less than a second is to pass in vain."""
    if isinstance(deadline, ast.Constant):
        return isinstance(deadline.value, int | float) and deadline.value >= 1
    return isinstance(deadline, ast.Name) and deadline.id.isupper()


def test_every_wait_has_the_one_deadline():
    assert [line for path in files() for line in own_deadlines(path)] == []


@pytest.mark.parametrize(
    "call",
    [
        "run(command, timeout=60)",
        "wait_until(is_there, 5.0)",
        "lab.wait_phase(timeout_seconds=MOST)",
    ],
)
def test_a_deadline_of_its_own_is_found(call, tmp_path, monkeypatch):
    monkeypatch.setattr(f"{__name__}.TESTS", tmp_path)
    file = tmp_path / "test_it.py"
    file.write_text(f"assert {call}\nassert not {call}\n")
    assert len(list(own_deadlines(file))) == 1
