"""A function goes as its source: what cannot go is refused by name and line, the rest runs."""
# ruff: noqa: T201, PTH119

import builtins
import inspect
import math
import re
import subprocess
import sys
from collections.abc import Callable
from functools import lru_cache, partial, wraps
from pathlib import Path
from typing import Any

import pytest

from paddlejob.errors import NotSendable
from paddlejob.functions import MAIN, pack_function, pack_reference

seen: list[float] = []
# Some end a line for str.splitlines, but none does for Python.
SEPARATORS = "\x0c\x1c\x85\u2028"


def noted(function: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator of the usual kind."""

    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


@noted
@noted
def fit(lr: float, names: list[Path], *, deep: dict[str, int] | None = None) -> None:
    """Uses all that a function may: imports, its own names, itself, annotations, texts."""
    import json
    import os.path as paths
    from math import sqrt

    global seen
    seen = [sqrt(4)]
    total: math.pi = 0  # type: ignore[valid-type]
    text = """
  begins two columns in
nowhere"""

    class Model:
        size = 3

    def step(n: int) -> int:
        return n + (step(n - 1) if n else 0)

    try:
        total += sum(step(each) for each in range(Model.size))
    except ValueError as error:
        print(error)
    if deep is None:
        fit(lr, names, deep={"a": len(seen)})
        return
    print(json.dumps([lr, names, deep, total, paths.basename("a/b"), text, __name__]))


def main(text: str) -> None:
    """Named like what programs begin with."""
    print(text)


def run(files: dict[str, bytes], folder: Path, flag: str = "-I") -> str:
    for name, content in files.items():
        (folder / name).write_bytes(content)
    words = [sys.executable, flag, str(folder / MAIN)]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True).stdout


UNSENDABLE = {
    "bound method": ("class T:\n    def fit(self): ...\nf = T().fit\n", 2, "fit"),
    "method": ("class T:\n    def fit(self): ...\nf = T.fit\n", 2, "fit"),
    "object": ("class Trainer:\n    def __call__(self): ...\nf = Trainer()\n", 2, "Trainer"),
    "closure": (
        "def outer(rate):\n    def inner():\n        return rate\n    return inner\nf = outer(1)\n",
        2,
        "inner",
    ),
    "nested": (
        "def outer():\n    def inner():\n        return 1\n    return inner\nf = outer()\n",
        2,
        "inner",
    ),
    "generator": ("def many():\n    yield 1\nf = many\n", 1, "many"),
    "async": ("async def later(): ...\nf = later\n", 1, "later"),
    "async generator": ("async def later():\n    yield 1\nf = later\n", 1, "later"),
    "global": ("RATE = 1\ndef f(\n    n=3,\n):\n    m = 0\n    return m + RATE\n", 6, "RATE"),
    "module": ("import math\ndef f():\n    return math.sqrt(2)\n", 3, "math"),
    "default": ("RATE = 1\ndef f(rate=RATE):\n    return rate\n", 2, "RATE"),
    "inner global": (
        "RATE = 1\ndef f():\n    def step():\n        return [RATE for _ in '1']\n    step()\n",
        4,
        "RATE",
    ),
    "relative": ("def f():\n    from . import helper\n    return helper\n", 2, "relative"),
    "decorated": (
        "def replaced(it):\n    def wrapper():\n        return it()\n    return wrapper\n"
        "@replaced\ndef f():\n    return 1\n",
        2,
        "wrapper",
    ),
    "lambda": ("f = lambda: 1\n", 1, "lambda"),
}
"""By kind: the source of `f`, and the line and a word that its refusal names."""


@pytest.mark.parametrize(("source", "line", "word"), UNSENDABLE.values(), ids=UNSENDABLE)
def test_a_function_that_cannot_be_sent_is_refused_by_name_and_line(source, line, word, tmp_path):
    with pytest.raises(NotSendable) as caught:
        pack_function(load(source, "f", tmp_path), {})
    (said,) = str(caught.value).splitlines()
    assert f", line {line}: " in said
    assert word in said


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (print, "print: is built in"),
        (Path, f"Path, line {inspect.getsourcelines(Path)[1]}: is a class"),
        (partial(main), "is a partial"),
        (lru_cache(len), "len: is built in"),
        (7, "int: is an object"),
    ],
    ids=["built in", "class", "partial", "decorated built in", "object"],
)
def test_what_has_no_source_of_its_own_is_refused(function, said):
    with pytest.raises(NotSendable, match=re.escape(said)):
        pack_function(function, {})


def test_a_function_without_a_file_is_refused():
    names: dict[str, Any] = {}
    # Python 3.13 has a source of <string>: the test process was started with python -c.
    exec(compile("def unwritten():\n    pass\n", "<unwritten>", "exec"), names)
    with pytest.raises(NotSendable, match="unwritten, line 1: its source cannot be found"):
        pack_function(names["unwritten"], {})


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"text": {1, 2}}, "args cannot be sent as JSON"),
        ({"text": float("nan")}, "args cannot be sent as JSON"),
        ({"text": Path("a")}, "args cannot be sent as JSON"),
        ({}, "args do not fit: missing a required argument: 'text'"),
        ({"text": "", "rate": 1}, "args do not fit: got an unexpected keyword argument 'rate'"),
        ({1: 2}, "args do not fit: keywords must be strings"),
        ({"text": [{"deep": {1: 2}}]}, "the key 1 is not text"),
        ({"text": {None: 2}}, "the key None is not text"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(args, said):
    with pytest.raises(NotSendable, match=said):
        pack_function(main, args)


def test_the_file_runs_alone(tmp_path):
    out = run(pack_function(fit, {"lr": 0.5, "names": ["ä", "\ud800"]}), tmp_path)
    text = r'"\n  begins two columns in\nnowhere"'
    assert out == f'[0.5, ["\\u00e4", "\\ud800"], {{"a": 1}}, 4, "b", {text}, "__main__"]\n'


SENDABLE = {
    **{
        name: (name, f"def {name}():\n    print('called')\n", "called")
        for name in ("main", "json", "pathlib", "open", "paddlejob_json", "paddlejob_file")
    },
    "indented": ("fit", 'if True:\n\n    def fit():\n        print("""a\nb""")\n', "a\nb"),
    "odd characters": (
        "fit", f"def fit():\n    print(ascii('{SEPARATORS}'))\n", ascii(SEPARATORS),
    ),
    "a dataclass": (
        "fit",
        "def fit():\n    from dataclasses import dataclass\n    @dataclass\n    class Point:\n"
        "        x: int = 1\n    print(Point())\n",
        "fit.<locals>.Point(x=1)",
    ),
    "given another name": (
        "fit", "def fit():\n    print('fitted')\nfit.__name__ = 'my-training'\n", "fitted",
    ),
}  # fmt: skip
"""By kind: a function's name, its source, and what it prints."""


@pytest.mark.parametrize(("name", "source", "out"), SENDABLE.values(), ids=SENDABLE)
def test_a_function_may_have_any_name_and_source(name, source, out, tmp_path):
    files = pack_function(load(source, name, tmp_path), {})
    (tmp_path / "job").mkdir()
    assert run(files, tmp_path / "job") == f"{out}\n"


def load(source: str, name: str, folder: Path) -> Callable[..., None]:
    file = folder / "source.py"
    file.write_text(source, encoding="utf-8")
    names: dict[str, Any] = {}
    exec(compile(source, file, "exec"), names)
    function: Callable[..., None] = names[name]
    return function


def test_what_a_notebook_adds_to_python_is_not_in_the_job(tmp_path, monkeypatch):
    monkeypatch.setattr(builtins, "display", noted, raising=False)
    with pytest.raises(NotSendable, match="fit, line 2: uses display"):
        pack_function(load("def fit():\n    display(1)\n", "fit", tmp_path), {})


def test_a_function_of_a_folder_is_called_as_it_is(tmp_path):
    (tmp_path / "steps").mkdir()
    (tmp_path / "steps" / "fit.py").write_text("def main(n):\n    print('fitted', n)\n")
    files = pack_reference("steps.fit:main", tmp_path, {"n": 2})
    assert "from steps.fit import main" in files[MAIN].decode()
    assert run(files, tmp_path, "-B") == "fitted 2\n"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("fit", "is not module:function"),
        ("../fit:main", "is not module:function"),
        ("other:main", "there is no"),
        ("fit:other", "defines no other"),
        ("fit:later", "later, line 3: is async"),
        ("fit:many", "many, line 5: is async or a generator"),
        ("fit:", "is not module:function"),
        ("broken:main", "is not Python"),
        ("deep:main", "is not Python"),
        ("long:main", "is not Python"),
    ],
)
def test_a_reference_that_leads_nowhere_is_refused(name, said, tmp_path):
    (tmp_path / "fit.py").write_text(
        "def main(n):\n    pass\nasync def later():\n    pass\ndef many():\n    yield\n"
    )
    (tmp_path / "broken.py").write_text("def main(\n")
    (tmp_path / "deep.py").write_text("-" * 200_000 + "1")
    (tmp_path / "long.py").write_text("1" + "+1" * 200_000)
    with pytest.raises(NotSendable, match=said) as caught:
        pack_reference(name, tmp_path, {})
    assert len(str(caught.value).splitlines()) == 1


DEFINED = {
    "in a branch": "try:\n    from fast import fit\nexcept ImportError:\n    fit = print\n",
    "with others": "fit, later = print, print\n",
    "of another": "from steps import *\n",
    "by an annotation": "fit: object = print\n",
}


@pytest.mark.parametrize("how", DEFINED)
def test_a_module_may_define_its_function_in_any_way(how, tmp_path):
    (tmp_path / "fit.py").write_text(DEFINED[how])
    (tmp_path / "fit").mkdir()  # of data, and no package
    assert MAIN in pack_reference("fit:fit", tmp_path, {})
