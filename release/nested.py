"""Rewrites a module so that it works below the package `paddlejob`, where the wheel has it.

The syntax tree says what to rewrite, so a label or a field that is called like a package stays: the
modules that are imported, strings that are a module's dotted name, and modules after `-m` in a
text. Lines keep their numbers. A name without a dot, or one that a program puts together, is not
recognised: write `pdj.__main__`, and begin with `__package__`.
"""

import ast
import re
from collections.abc import Collection, Iterator

TOP = "paddlejob"
AFTER_FROM = re.compile(r"\A(from[\s\\]+)")
Edit = tuple[int, int, str]
"""Start and end in the source's bytes, and what to put there."""


def nest(source: str, modules: Collection[str]) -> str:
    """The source with TOP before the names of these modules. Raises SyntaxError, ValueError."""
    content = source.encode()
    lines = content.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def edit(node: ast.stmt | ast.expr) -> Edit:
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        return start, end, _rewritten(node, content[start:end].decode(), modules)

    edits = {edit(node) for node in _nodes(ast.parse(content))}
    for start, end, new in sorted(edits, reverse=True):
        content = content[:start] + new.encode() + content[end:]
    return content.decode()


def _nodes(node: ast.AST) -> Iterator[ast.stmt | ast.expr]:
    """The imports and strings. Of an f-string the whole, because its parts have no place."""
    if isinstance(node, ast.Import | ast.ImportFrom | ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    ):
        yield node
        return
    for child in ast.iter_child_nodes(node):
        yield from _nodes(child)


def _rewritten(node: ast.stmt | ast.expr, text: str, modules: Collection[str]) -> str:
    if isinstance(node, ast.Import):
        return "; ".join(_import(each, modules) for each in node.names)
    if isinstance(node, ast.ImportFrom):
        is_ours = node.level == 0 and (node.module or "").partition(".")[0] in modules
        return AFTER_FROM.sub(rf"\1{TOP}.", text) if is_ours else text
    names = "|".join(each for each in modules if "." not in each)
    text = re.sub(rf"(-m\s+)(?=(?:{names})(?![\w-]))", rf"\1{TOP}.", text)
    name = str(node.value) if isinstance(node, ast.Constant) else ""
    if "." in name and name in modules:
        if name not in text:
            raise ValueError(f"line {node.lineno}: write the name {name} in one piece")
        text = text.replace(name, f"{TOP}.{name}")
    return text


def _import(alias: ast.alias, modules: Collection[str]) -> str:
    package, dot, _ = alias.name.partition(".")
    if package not in modules:
        return ast.unparse(ast.Import([alias]))
    if alias.asname:
        return f"import {TOP}.{alias.name} as {alias.asname}"
    binding = f"from {TOP} import {package}"  # what the statement binds: the package
    return f"import {TOP}.{alias.name}; {binding}" if dot else binding
