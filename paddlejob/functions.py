"""Turns a function into two files: its source with a call at the end, and the arguments as JSON.

A function that would not work in the job is refused here, with its name and the line. Only its own
source is sent, so the function can use only names that it defines, imports or has as arguments.
"""

import __future__

import ast
import builtins
import dis
import inspect
import io
import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType, MethodType
from typing import Any, cast

from paddlejob.errors import NotSendable
from pdj.code.archive import MAX_CODE_BYTES
from pdj.code.file import read

MAIN = "paddlejob_main.py"
ARGUMENTS = "paddlejob_args.json"
FUTURE = "from __future__ import annotations\n\n"
CALL = """

if __name__ == "__main__":
    {function}(
        **__import__("json").loads(
            __import__("pathlib").Path(__file__).with_name("{arguments}").read_text("utf-8")
        )
    )
"""
LOOK_UPS = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"}
"""Bytecode instructions that can look up a name in the module."""
STORES = {"STORE_NAME", "STORE_GLOBAL"}
"""Instructions with which a module defines a name. `from x import *` uses neither."""
MADE_BY_SHELLS = {"_", "__IPYTHON__"}
IS_LATER = inspect.CO_COROUTINE | inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR
LATER = (
    "is async or a generator, which does nothing when it is called: use asyncio.run in it, or "
    "leave out yield"
)


def pack_function(function: Callable[..., Any], args: Mapping[str, Any]) -> dict[str, bytes]:
    """The files, by name, that call the function. Raises NotSendable."""
    function = _refuse_kind(function)
    text, node, first = _read_source(function)
    _refuse_names(function, node, first)
    try:
        inspect.signature(function).bind(**args)
    except TypeError as error:
        raise NotSendable(f"{function.__name__}: args do not fit: {error}") from None
    lines = list(io.StringIO(text))  # splitlines would also split at U+2028 or a form feed
    kept = lines[:1] * (node.col_offset > 0) + lines[node.lineno - 1 : node.end_lineno]
    return _files("".join(kept), node.name, args)


def pack_reference(name: str, folder: Path, args: Mapping[str, Any]) -> dict[str, bytes]:
    """Write the files that import `module:function` from the user's folder, and call it.

    The folder has to be sent, too. Raises NotSendable.
    """
    module, _, function = name.partition(":")
    if not all(map(str.isidentifier, (function, *module.split(".")))):
        raise NotSendable(f"{name!r} is not module:function")
    path = folder.joinpath(*module.split("."))
    package = path / "__init__.py"
    file = package if package.is_file() else path.with_name(f"{path.name}.py")
    try:
        program = compile(read(file, MAX_CODE_BYTES), str(file), "exec", dont_inherit=True)
    except OSError:
        raise NotSendable(f"{name}: there is no {file}") from None
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NotSendable(f"{name}: {file} is not Python: {error}") from None
    stored = {each.argval for each in dis.get_instructions(program) if each.opname in STORES}
    if function not in stored and ("*",) not in program.co_consts:
        raise NotSendable(f"{name}: {file} defines no {function}")
    for code in program.co_consts:
        if isinstance(code, CodeType) and code.co_name == function and code.co_flags & IS_LATER:
            raise NotSendable(f"{function}, line {code.co_firstlineno}: {LATER}")
    return _files(f"from {module} import {function} as paddlejob_function\n", "", args)


def _files(source: str, name: str, args: Mapping[str, Any]) -> dict[str, bytes]:
    try:
        arguments = json.dumps(dict(args), allow_nan=False)
        for key in _odd_keys(args):
            raise TypeError(f"the key {key!r} is not text")
    except (TypeError, ValueError, RecursionError) as error:
        raise NotSendable(f"args cannot be sent as JSON: {error}") from None
    call = CALL.format(arguments=ARGUMENTS, function=name or "paddlejob_function")
    text = FUTURE + source.rstrip("\n") + "\n" + call
    return {MAIN: text.encode(), ARGUMENTS: arguments.encode()}


def _odd_keys(value: Any) -> Iterator[Any]:
    """The keys in the value that JSON would silently turn into text."""
    if isinstance(value, Mapping):
        yield from (key for key in value if not isinstance(key, str))
        value = tuple(value.values())
    for each in value if isinstance(value, list | tuple) else ():
        yield from _odd_keys(each)


def _refuse_kind(function: Callable[..., Any]) -> FunctionType:
    """The function without its decorators. Raises NotSendable if it is not a plain function."""
    plain: Any = inspect.unwrap(function)
    name = getattr(plain, "__name__", type(plain).__name__)
    around = getattr(plain, "__qualname__", "").split(".")[:-1]
    code = getattr(plain, "__code__", None)
    names = ", ".join(code.co_freevars) if code else ""
    reasons: dict[str, object] = {
        "is a partial: pass its values as args": isinstance(plain, partial),
        "is a method: its object cannot be sent": inspect.ismethod(function),
        "is a class: pass a function that calls it": inspect.isclass(plain),
        "is built in, and has no source to send": inspect.isbuiltin(plain),
        "is an object that can be called, and has no source to send": not inspect.isfunction(plain),
        "is a lambda: give it a name with def": name == "<lambda>",
        f"is a closure, which uses {names} of its outer function: pass such values as args": names,
        f"is defined inside of {'.'.join(around[:1])}: define it at the top": "<locals>" in around,
        f"is a method of {'.'.join(around)}: define it at the top": around,
        LATER: code and code.co_flags & IS_LATER,
    }
    for reason, holds in reasons.items():
        if holds:
            raise NotSendable(f"{name}{_at(plain)}: {reason}")
    return cast(FunctionType, plain)


def _at(thing: Any) -> str:
    """The line of a function, as in `, line 12`; empty if unknown. For a partial or another object,
    the line of the function that it calls.
    """
    thing = getattr(thing, "func", thing)
    code = getattr(thing, "__code__", None) or getattr(type(thing).__call__, "__code__", None)
    try:
        return f", line {code.co_firstlineno if code else inspect.getsourcelines(thing)[1]}"
    except (OSError, TypeError):
        return ""


def _read_source(function: FunctionType) -> tuple[str, ast.FunctionDef, int]:
    """The function's source as a program, the node of its definition, and how many lines the file
    has before the source.
    """
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError, SyntaxError, IndexError):
        raise NotSendable(
            f"{function.__name__}{_at(function)}: its source cannot be found: write it to a file"
        ) from None
    text = "".join(lines).rstrip("\n") + "\n"
    is_indented = text[:1] in " \t"
    text = f"if True:\n{text}" if is_indented else text  # dedenting could change its strings
    try:
        nodes = [each for each in ast.walk(ast.parse(text)) if isinstance(each, ast.FunctionDef)]
    except SyntaxError:
        nodes = []
    if not nodes or nodes[0].name != function.__code__.co_name:
        raise NotSendable(
            f"{function.__name__}{_at(function)}: its file has changed since it was imported"
        )
    return text, nodes[0], first - 1 - is_indented


def _refuse_names(function: FunctionType, node: ast.FunctionDef, before: int) -> None:
    """Raise NotSendable for a relative import, or a name that the function neither defines nor
    imports. Removes the decorators from `node`.
    """
    node.decorator_list.clear()
    for each in ast.walk(node):
        if isinstance(each, ast.ImportFrom) and each.level:
            raise NotSendable(
                f"{function.__name__}, line {before + each.lineno}: a relative import "
                "does not work in the job: use the full name of the module"
            )
    program = compile(
        ast.Module([node], []), "", "exec", __future__.annotations.compiler_flag, True
    )
    for line, _, name in _names_from_outside(program, {*_provided()}):
        raise NotSendable(
            f"{function.__name__}, line {before + line}: uses {name}, which it neither "
            "defines nor imports: import it in the function, or pass it in args"
        )


def _names_from_outside(program: CodeType, made: set[str]) -> list[tuple[int, int, str]]:
    """Line, column and name of each use of a global name that neither the function nor `made`
    defines.
    """
    found, codes = [], [program]
    while codes:
        code = codes.pop()
        codes += [each for each in code.co_consts if isinstance(each, CodeType)]
        steps = [*dis.get_instructions(code)]
        own = {each.argval for each in steps if each.opname == "STORE_NAME"}
        made |= {each.argval for each in steps if each.opname == "STORE_GLOBAL"}
        made |= own if code is program else set()
        for each in steps:
            if each.opname in LOOK_UPS and each.argval not in own and each.positions:
                at = (each.positions.lineno or 0, each.positions.col_offset or 0)
                found.append((*at, each.argval))
    return sorted(each for each in found if each[2] not in made)


def _provided() -> Iterator[str]:
    """Python's built-in names, without those that a notebook adds."""
    yield from ("__name__", "__file__", "__annotations__")
    for name, value in vars(builtins).items():
        if name not in MADE_BY_SHELLS and not isinstance(value, FunctionType | MethodType):
            yield name
