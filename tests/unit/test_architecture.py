"""The house keeps its shape: import directions, one importer of the client, one clock, sizes."""

import ast
import graphlib
import itertools
import re
import statistics
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from reconcile.reconcile import POLICIES

ROOT = Path(__file__).resolve().parents[2]
ALLOWED = {
    "api": {"api"},
    "metrics": {"metrics"},
    "kube": {"kube", "api"},
    "reconcile": {"reconcile", "api"},
    "controller": {"controller", "reconcile", "kube", "api", "metrics"},
    "pdj": {"pdj", "reconcile", "kube", "api"},
    "paddlejob": {"paddlejob", "pdj", "reconcile", "kube", "api"},
    "localcluster": {"localcluster", "kube"},
    "benchmarks": {"benchmarks", "localcluster", "kube"},
    "manifests": {"manifests", "api", "controller", "metrics"},
    "release": {"release", "pdj", "api", "manifests"},
    "examples": {"examples", "localcluster"},
}
PACKAGES = tuple(ALLOWED)
STAND_ALONE = {"examples"}
"""Programs that run in images of their own: each reads the time itself."""
MAY_IMPORT = {
    "api": "constants",
    "api.constants": "",
    "api.catalogue": "constants",
    "kube": "",
    "localcluster": "machine provision cluster commands",
    "localcluster.commands": "machine client provision cluster node.runtime",
    "localcluster.cluster": "machine client provision",
    "localcluster.provision": "machine",
    "localcluster.client": "machine",
    "localcluster.machine": "",
    "localcluster.node": (
        "machine client provision cluster node.pod node.volume node.network node.spec "
        "node.runtime node.stream"
    ),
    "localcluster.node.stream": "machine node.runtime",
    "localcluster.node.pod": (
        "machine client provision cluster node.volume node.network node.spec node.runtime"
    ),
    "localcluster.node.volume": "machine client cluster node.spec node.runtime",
    "localcluster.node.network": "machine client",
    "localcluster.node.spec": "client",
    "localcluster.node.runtime": "machine",
    "controller": "client cache workqueue work logs",
    "controller.work": "client cache workqueue logs",
    "controller.cache": "client",
    "controller.client": "",
    "controller.workqueue": "",
    "controller.logs": "",
    "reconcile": "model words objects failure attempt children status",
    "reconcile.status": "words model objects failure attempt children",
    "reconcile.children": "model objects attempt",
    "reconcile.attempt": "model objects failure",
    "reconcile.failure": "model words objects",
    "reconcile.objects": "model",
    "reconcile.model": "words",
    "reconcile.words": "",
    "pdj": "access facts gather judge documents text commands errors session",
    "pdj.commands": "errors session access facts gather judge documents text act ui code mcp",
    "pdj.ui": "errors session access facts gather judge documents text act",
    "pdj.mcp": "errors access facts gather judge documents text act",
    "pdj.session": "access gather text",
    "pdj.act": "errors facts gather text code",
    "pdj.code": "errors gather documents",
    "pdj.text": "errors facts gather judge",
    "pdj.judge": "facts",
    "pdj.documents": "errors access",
    "pdj.gather": "access errors facts",
    "pdj.facts": "errors",
    "pdj.access": "errors",
    "pdj.errors": "",
    "paddlejob": "",
}
"""The other rooms of their own package that the modules of a room may import, by name.

A package without an entry counts as part of the one above it. An entry may also be a module.
"""
ROOMS = {
    room: {f"{room.partition('.')[0]}.{name}" for name in names.split()}
    for room, names in MAY_IMPORT.items()
}
IN_ROOMS = ("api", "controller", "kube", "localcluster", "paddlejob", "pdj", "reconcile")
"""Packages in rooms: each of their folders is in ROOMS, with MAX_MODULES modules at most."""
MAX_MODULES = 14
CROWDED = {"pdj.commands"}
"""A module for each command: a list of them is no harder to read when it is long."""
COMMAND_LINE = ("pdj.commands", "pdj.main", "pdj.session", "pdj.completion")
CLOCKS = {"kube": {"clock.py"}, "localcluster": {"clock.py"}}
CLOCK_CALLS = {("time", "sleep"), ("time", "time"), ("datetime", "now"), ("datetime", "utcnow")}
LOGS = {
    "alone.py",
    "cause.py",
    "fault.py",
    "forms.py",
    "launcher_log.py",
    "losses.py",
    "metrics.py",
    "progress.py",
}
"""They read what programs have logged."""
SENTENCES = {"message", "cause", "written", "sentence", "first", "text"}
"""What a text for people is called here."""
OF_TEXT = {"startswith", "endswith", "partition", "rpartition", "split", "removeprefix", "index"}
OF_PATTERN = {"match", "fullmatch", "search", "findall", "finditer"}
READERS = {
    "reconcile/model/indexes.py: parse_indexes",  # a field, written as batch/v1 does
    "reconcile/status/placement.py: _make_room",  # the scheduler's words
    "reconcile/children/refusals.py: is_over_quota",  # the API server's
    "reconcile/children/startup_errors.py: _next_step",  # the kubelet's
    "reconcile/objects/rendezvous.py: is_about_config_map",  # the kubelet's
    "reconcile/objects/rendezvous.py: has_stale_config_map",  # the kubelet's
    "reconcile/model/waits.py: is_hopeless",  # the kubelet's, the container runtime's
    "reconcile/model/end.py: own_limit",  # the kubelet's
    "reconcile/failure/ending.py: _cause",  # the container runtime's
    "pdj/act/submit.py: submit",  # the API server's
    "pdj/judge/causes.py: _of_record",  # programs'
    "pdj/judge/judge.py: _warned",  # the kubelet's
    "pdj/judge/causes.py: _is_of_etcd",  # programs'
    "pdj/facts/facts.py: is_peer_lost",  # programs'
}
MAX_WORKER_CALLS = 12
MAX_FUNCTION_LINES = 50
MAX_MEDIAN_LINES = 8
MAX_FILE_LINES = 400
MAX_PARAMETERS = 6


def modules(*packages: str) -> Iterator[Path]:
    folders = (ROOT / package.replace(".", "/") for package in packages)
    return itertools.chain.from_iterable(folder.rglob("*.py") for folder in folders)


@cache
def syntax(path: Path) -> ast.Module:
    """A file's syntax, read once for all tests."""
    return ast.parse(path.read_text())


def imported_modules(path: Path) -> set[str]:
    """Dotted names that a module imports; of `from a import b` both `a` and `a.b`."""
    names: set[str] = set()
    for node in ast.walk(syntax(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            below = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= below if is_package(node.module) else {node.module}
    return names


def imported(path: Path) -> set[str]:
    """Top-level names that a module imports, wherever in it the import stands."""
    return {name.partition(".")[0] for name in imported_modules(path)}


def is_package(name: str) -> bool:
    """Whether it is a package of ours, whose names may be modules."""
    return (ROOT / name.replace(".", "/")).is_dir()


def dotted(path: Path) -> str:
    """A file's or folder's name as Python imports it."""
    return relative(path.with_suffix("")).replace("/", ".")


def room_of(name: str) -> str:
    """The room that a module belongs to; empty for what belongs to none."""
    rooms = [room for room in ROOMS if name == room or name.startswith(f"{room}.")]
    return max(rooms, key=len, default="")


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(syntax(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def sentences_read(function: ast.AST, names: set[str]) -> Iterator[ast.AST]:
    """Where a function looks into a text of one of these names."""
    for node in ast.walk(function):
        looked_at: list[ast.expr] = []
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
            looked_at = node.comparators
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in OF_TEXT:
                looked_at = [node.func.value]
            elif node.func.attr in OF_PATTERN:
                looked_at = node.args
        inner = (each for expr in looked_at for each in ast.walk(expr))
        if names & {getattr(each, "id", getattr(each, "attr", "")) for each in inner}:
            yield node


def relative(path: Path) -> str:
    """The path as a test's id."""
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("package", PACKAGES)
def test_imports_point_one_way(package):
    ours = set(PACKAGES)
    wrong = {
        f"{relative(path)} imports {name}"
        for path in modules(package)
        for name in (imported(path) & ours) - ALLOWED[package]
    }
    assert not wrong


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_import_one_way(room):
    wrong = {
        f"{relative(path)} imports {name}"
        for path in modules(room.split(".")[0])
        if room_of(dotted(path)) == room
        for name in imported_modules(path)
        if name.split(".")[0] == room.split(".")[0]
        if room_of(name) not in {"", room, *ROOMS[room]}
    }
    assert not wrong


def test_no_two_rooms_import_one_another():
    graphlib.TopologicalSorter(ROOMS).prepare()


def test_every_package_with_rooms_is_in_the_table():
    packages = {dotted(path.parent) for path in modules(*IN_ROOMS)}
    assert packages <= set(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_say_what_they_are(room):
    path = ROOT / room.replace(".", "/")
    source = path / "__init__.py" if is_package(room) else path.with_suffix(".py")
    assert ast.get_docstring(ast.parse(source.read_text()))


def test_rooms_are_small():
    paths = (path for path in modules(*IN_ROOMS) if path.name != "__init__.py")
    folders = Counter(dotted(path.parent) for path in paths)
    assert not {
        folder: count
        for folder, count in folders.items()
        if count > MAX_MODULES and folder not in CROWDED
    }


def test_one_module_imports_the_kubernetes_package():
    importers = {relative(p) for p in modules(*PACKAGES) if "kubernetes" in imported(p)}
    assert importers == {"controller/client/connection.py"}


def test_one_class_opens_watches():
    """Others take its rules: what follows when a watch ends is easy to get wrong."""
    openers = {
        f"{relative(path)}: {getattr(node, 'name', '')}"
        for path in modules(*PACKAGES)
        for node in syntax(path).body
        if any(map(asks_for_watch, ast.walk(node)))
    }
    assert openers == {"kube/watch.py: ListWatch"}


def asks_for_watch(node: ast.AST) -> bool:
    """Whether it is a part of a request for a watch: in a dictionary, a call or a URL."""
    if isinstance(node, ast.Dict):
        return any(isinstance(key, ast.Constant) and key.value == "watch" for key in node.keys)
    if isinstance(node, ast.Call) and ast.unparse(node.func) in {"dict", "urlencode"}:
        return any(keyword.arg == "watch" for keyword in node.keywords)
    text = str(node.value) if isinstance(node, ast.Constant) else ""
    return re.search(r"allowWatchBookmarks|[?&]watch=", text) is not None


@pytest.mark.parametrize("package", sorted(set(PACKAGES) - STAND_ALONE))
def test_time_is_read_in_one_module(package):
    readers = {
        f"{relative(path)}:{node.lineno}"
        for path in modules(package)
        if path.name not in CLOCKS.get(package, set())
        for node in ast.walk(syntax(path))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and (node.value.id, node.attr) in CLOCK_CALLS
    }
    assert not readers


def test_reconcile_is_pure():
    forbidden = {"threading", "structlog", "logging", "socket", "time", "random", "os"}
    wrong = {relative(p): imported(p) & forbidden for p in modules("api", "reconcile")}
    assert not {path: names for path, names in wrong.items() if names}


def reached(*packages: str) -> set[str]:
    """What these import, and what that imports in turn."""
    known, left = set[str](), {dotted(path) for path in modules(*packages)}
    while left:
        path = ROOT / f"{left.pop().replace('.', '/')}.py"
        found = imported_modules(path) if path.exists() else set()
        left |= found - known
        known |= found
    return known


def test_the_judge_knows_no_client_clock_or_screen():
    known = reached("pdj.judge", "pdj.facts")
    assert "api.catalogue.reasons" in known
    no_rooms = ("kube", "pdj.access", "pdj.gather", "pdj.act", "pdj.text", *COMMAND_LINE)
    assert not {name for name in known if name.startswith(no_rooms)}
    assert not known & {"argparse", "time", "threading", "socket", "os", "sys"}


def test_the_library_and_the_python_client_know_no_command_line_or_screen():
    known = reached("paddlejob", "pdj.act", "pdj.mcp")
    assert "pdj.access.kubeconfig" in known
    assert not {name for name in known if name.startswith(COMMAND_LINE)}
    assert "argparse" not in known


def test_no_modules_of_the_tools_import_one_another():
    tools = modules("kube", "pdj", "paddlejob")
    graph = {dotted(path): imported_modules(path) for path in tools}
    inside = {name: (imports & graph.keys()) - {name} for name, imports in graph.items()}
    graphlib.TopologicalSorter(inside).prepare()


def test_reconcile_keeps_nothing_between_passes():
    """No mutable value at the top of a module, and no cache: two passes share constants alone."""
    caches = {"lru_cache"}
    found = {
        f"{relative(path)}:{node.lineno}"
        for path in modules("reconcile")
        for node in syntax(path).body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and isinstance(node.value, ast.Dict | ast.List | ast.Set | ast.Call)
        and is_empty(node.value)
    }
    cached = {relative(path) for path in modules("reconcile") if caches & names_in(path)}
    assert not found | cached


def is_empty(node: ast.Dict | ast.List | ast.Set | ast.Call) -> bool:
    """Whether it is a collection that somebody is to fill."""
    if isinstance(node, ast.Call):
        makers = {"dict", "list", "set", "defaultdict", "TTLCache", "LRUCache"}
        return isinstance(node.func, ast.Name) and node.func.id in makers and not node.args
    return not (node.keys if isinstance(node, ast.Dict) else node.elts)


def names_in(path: Path) -> set[str]:
    return {node.id for node in ast.walk(syntax(path)) if isinstance(node, ast.Name)}


def test_a_policys_module_exports_one_policy():
    homes = [policy.__module__ for policy, _ in POLICIES]
    assert len(set(homes)) == len(POLICIES)
    kinds = {"Move | None", "Hold | None", "Move | Hold | None"}
    for home in homes:
        public_ones = [
            node.name
            for node in syntax(ROOT / f"{home.replace('.', '/')}.py").body
            if isinstance(node, ast.FunctionDef)
            and not node.name.startswith("_")
            and node.returns is not None
            and ast.unparse(node.returns) in kinds
        ]
        assert len(public_ones) == 1, home


def test_policies_are_asked_in_one_place_and_none_imports_another():
    names, homes = ({getattr(p, what) for p, _ in POLICIES} for what in ("__name__", "__module__"))
    asking = {
        relative(path)
        for path in modules("reconcile", "controller", "pdj")
        for node in ast.walk(syntax(path))
        if isinstance(node, ast.ImportFrom) and names & {alias.name for alias in node.names}
    }
    assert asking == {"reconcile/reconcile.py"}
    paths = {home: ROOT / f"{home.replace('.', '/')}.py" for home in homes}
    assert not {home for home, path in paths.items() if imported_modules(path) & homes}


def test_the_worker_asks_queue_and_memory_a_few_times_only():
    calls = [
        node
        for node in ast.walk(syntax(ROOT / "controller/work/worker.py"))
        if isinstance(node, ast.Call)
        and re.match(r"self\.(queue|memory)\.", ast.unparse(node.func))
    ]
    assert 0 < len(calls) <= MAX_WORKER_CALLS


def test_no_sentence_of_our_own_is_read_back():
    found = {
        f"{relative(path)}: {function.name}"
        for package, names in (("reconcile", SENTENCES), ("pdj", SENTENCES - {"text"}))
        for path in modules(package)
        if path.name not in LOGS
        for function in functions(path)
        if any(sentences_read(function, names))
    }
    assert found == READERS


def test_progress_comes_at_once_into_a_pipe_too():
    """`print` is called, and never handed on: a pipe would get minutes of progress at their end."""
    handed_on = {
        f"{relative(path)}:{name.lineno}"
        for path in modules(*PACKAGES, "tests.live", "tests.e2e", "tests.manuals", "tests.examples")
        for name in hands_print_on(syntax(path))
    }
    assert not handed_on


def hands_print_on(tree: ast.Module) -> list[ast.Name]:
    """Where `print` is named and not called."""
    nodes = [*ast.walk(tree)]
    called = [node.func for node in nodes if isinstance(node, ast.Call)]
    names = (node for node in nodes if isinstance(node, ast.Name) and node.id == "print")
    return [name for name in names if name not in called]


def test_functions_are_short_and_take_few_parameters():
    wrong = [
        f"{relative(path)}:{node.lineno} {node.name}"
        for path in modules(*PACKAGES)
        for node in functions(path)
        if (node.end_lineno or 0) - node.lineno >= MAX_FUNCTION_LINES
        or len([a for a in node.args.args if a.arg not in ("self", "cls")]) > MAX_PARAMETERS
    ]
    assert not wrong


def test_most_functions_of_the_operator_are_short():
    lengths = [
        (node.end_lineno or 0) - node.lineno + 1
        for path in modules("controller")
        for node in functions(path)
    ]
    assert statistics.median(lengths) <= MAX_MEDIAN_LINES


def test_files_are_one_noun():
    lengths = {relative(p): len(p.read_text().splitlines()) for p in modules(*PACKAGES)}
    assert not {path: lines for path, lines in lengths.items() if lines > MAX_FILE_LINES}


def test_a_text_on_lines_of_its_own_is_documentation():
    """A sentence without its parentheses ends with its first line, and no tool says so."""
    stray = [
        f"{relative(path)}:{node.lineno}"
        for path in modules(*PACKAGES)
        for lines in [path.read_text().splitlines()]
        for node in ast.walk(syntax(path))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        and '"""' not in lines[node.lineno - 1]
    ]
    assert not stray
