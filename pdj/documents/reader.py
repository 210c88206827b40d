"""Files of YAML or JSON as kubectl reads them, with the line of every field.

kubectl reads YAML with a Go library, which follows YAML 1.1 and parts of 1.2. For example, a time
stays text, `1e3` is a number, and `y` is true. Aliases can expand a small file into a huge object,
so the expanded size is checked first.
"""

import json
import math
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from api.objects import Raw
from kube.bounds import MAX_YAML_DEPTH, refuse_deep_yaml
from pdj.errors import Problem, Usage

MAX_REQUEST_BYTES = 3 << 20
"""The API server refuses a larger request."""
MAX_VALUES = 300_000
"""The most values in a text after its aliases are expanded."""
MAX_DIGITS = 400
"""The most digits of a number: a longer one fits neither 64 bits nor a float."""

_PAIR = re.compile(
    r"(?<!\\)((?:\\\\)*)(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
)
"""Two JSON escapes for one character beyond 16 bits, after an even number of backslashes."""

Place = tuple[str | int, ...]
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a file: its value, its first line, and the lines of its fields."""

    file: str
    line: int
    value: Any
    lines: dict[Place, int] = field(repr=False)
    doubled: tuple[tuple[int, str], ...] = ()
    """(line, key) of each key that its mapping has twice; the last one is used."""

    def line_of(self, place: Place) -> int:
        """The line of a field, or of the nearest field above that exists."""
        while place not in self.lines and place:
            place = place[:-1]
        return self.lines.get(place, self.line)

    @property
    def kind(self) -> str:
        """`apiVersion/kind` of an object; empty for anything else."""
        if not isinstance(self.value, dict):
            return ""
        return f"{self.value.get('apiVersion', '')}/{self.value.get('kind', '')}"


def read_documents(name: str) -> list[Document]:
    """The documents of a file; `-` is stdin. Raises Problem."""
    try:
        return parse_documents(read_text(name), name)
    except ValueError as error:
        raise Problem(f"{name}: {error}") from error


def parse_documents(text: str, name: str) -> list[Document]:
    """All non-empty documents of a text, and each item of a List. Raises Problem with the name."""
    try:
        text = _as_yaml(text)
        refuse_deep_yaml(text, PlainLoader)
        nodes = [node for node in yaml.compose_all(text, Loader=PlainLoader) if node is not None]
        _refuse_many(nodes)
        found = [_document(name, node) for node in nodes]
        full = [document for document in found if document.value not in (None, "")]
        return [each for document in full for each in _items(document)]
    except yaml.MarkedYAMLError as error:
        raise Problem(_said(name, text, error)) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        said = " ".join(str(error).split()) or type(error).__name__
        raise Problem(f"{name}: {said}") from error


def read_value(text: str) -> Any:
    """Parse a single value as it would be in a file. Raises ValueError if it is invalid."""
    try:
        refuse_deep_yaml(text, PlainLoader)
        node = yaml.compose(text, Loader=PlainLoader)
        _refuse_many([node] if node is not None else [])
        return None if node is None else _document("", node).value
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError("no YAML") from error


def _as_yaml(text: str) -> str:
    """Make JSON valid YAML, which allows neither tabs as indentation nor two escapes for an emoji.

    Every tab is replaced, because a string in JSON cannot contain one. Other text is unchanged.
    """
    if not text.lstrip().startswith("{") or not ("\t" in text or _PAIR.search(text)):
        return text
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return text
    return _PAIR.sub(lambda pair: pair[1] + json.loads(f'"{pair[2]}"'), text.replace("\t", " "))


def _said(name: str, text: str, error: yaml.MarkedYAMLError) -> str:
    """The file, the line and the error, in the parser's words."""
    mark = error.problem_mark or error.context_mark
    line = mark.line if mark else 0
    said = error.problem or error.context or "no YAML"
    at_fault = (*text.splitlines(), *[""] * 2)[line] if mark else ""
    if "cannot start any token" in said and at_fault.lstrip(" ").startswith("\t"):
        said = "a tab: YAML is indented by blanks only"
    return f"{name}:{line + 1}: {said}"


def _items(document: Document) -> list[Document]:
    """The objects of a List, as `kubectl get -o yaml` writes it; any other document unchanged."""
    items = document.value.get("items") if document.kind.endswith("List") else None
    if not isinstance(items, list):
        return [document]
    lines: list[dict[Place, int]] = [{} for _ in items]
    for place, line in document.lines.items():
        if place[:1] == ("items",) and len(place) > 1 and isinstance(place[1], int):
            lines[place[1]][place[2:]] = line
    return [
        Document(document.file, lines[at].get((), document.line), item, lines[at], document.doubled)
        for at, item in enumerate(items)
    ]


def read_text(name: str) -> str:
    """The text of a file. Raises Usage if it cannot be read, Problem if it is too large, and
    ValueError if it is not UTF-8.
    """
    try:
        if name == "-":
            data = sys.stdin.buffer.read(MAX_REQUEST_BYTES + 1)
        else:
            with Path(name).open("rb") as file:
                data = file.read(MAX_REQUEST_BYTES + 1)
    except OSError as error:
        raise Usage(f"cannot read {name}: {error.strerror}") from error
    if len(data) > MAX_REQUEST_BYTES:
        raise Problem(
            f"{name}: more than {MAX_REQUEST_BYTES >> 20} MiB, which the API server does not take"
        )
    return data.decode()


class PlainLoader(_Loader):  # type: ignore[misc]
    """Reads scalars as Go's reader does."""


def _resolvers() -> dict[str, list[tuple[str, re.Pattern[str]]]]:
    table: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
    for letter, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items():
        dropped = ("timestamp", "float", "int", "value", "bool")
        kept = [(tag, rule) for tag, rule in pairs if tag.rpartition(":")[2] not in dropped]
        table[letter] = kept
    return table


PlainLoader.yaml_implicit_resolvers = _resolvers()
PlainLoader.add_implicit_resolver(
    "tag:yaml.org,2002:bool",
    re.compile(
        "^(?:y|Y|yes|Yes|YES|n|N|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$"
    ),
    list("yYnNtTfFoO"),
)
PlainLoader.add_implicit_resolver(
    "tag:yaml.org,2002:int",
    re.compile("^[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0o?[0-7_]+|0|[1-9][0-9_]*)$"),
    list("-+0123456789"),
)
PlainLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(
        r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$|^[-+]?\.(?:inf|nan)$", re.I
    ),
    list("-+0123456789."),
)


def _refuse_many(nodes: list[yaml.Node]) -> None:
    if sum(_size(node, {}, 0) for node in nodes) > MAX_VALUES:
        raise ValueError(f"its aliases make more than {MAX_VALUES} values of it")


def _document(name: str, node: yaml.Node) -> Document:
    builder = _Builder()
    value = builder.build(node, ())
    return Document(name, node.start_mark.line + 1, value, builder.lines, tuple(builder.doubled))


def _size(node: yaml.Node, known: dict[int, int], depth: int) -> int:
    """How many values the node has with its aliases expanded."""
    if depth > MAX_YAML_DEPTH:
        raise ValueError(f"nested deeper than {MAX_YAML_DEPTH} levels, or an alias within itself")
    if isinstance(node, yaml.ScalarNode):
        return 1
    if id(node) not in known:
        known[id(node)] = 1 + sum(_size(each, known, depth + 1) for each in _inner(node))
    return known[id(node)]


def _inner(node: yaml.Node) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        for pair in node.value:
            yield from pair
    else:
        yield from node.value


class _Builder:
    """Builds the value of a node, and records the lines of its fields."""

    def __init__(self) -> None:
        self.lines: dict[Place, int] = {}
        self.doubled: list[tuple[int, str]] = []

    def build(self, node: yaml.Node, place: Place) -> Any:
        """The value at this place."""
        self.lines.setdefault(place, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, place)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(each, (*place, at)) for at, each in enumerate(node.value)]
        assert isinstance(node, yaml.ScalarNode)
        return _scalar(node)

    def _mapping(self, node: yaml.MappingNode, place: Place) -> Raw:
        value: Raw = {}
        own: set[str] = set()
        for key, inner in node.value:
            if key.tag.endswith(":merge"):
                merged = self.build(inner, place)
                # A merge overrides the fields above it. In a list to merge, the first mapping wins.
                for each in reversed(merged) if isinstance(merged, list) else [merged]:
                    value |= each if isinstance(each, dict) else {}
                continue
            name = _key(key)
            line = key.start_mark.line + 1
            if name in own:
                self.doubled.append((line, name))
            own.add(name)
            self.lines[(*place, name)] = line
            value[name] = self.build(inner, (*place, name))
        return value


def _key(node: yaml.Node) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise ValueError(f"line {node.start_mark.line + 1}: a key that is not text")
    value = _scalar(node)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _scalar(node: yaml.ScalarNode) -> Any:
    kind, text = node.tag.rpartition(":")[2], node.value
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() in ("y", "yes", "true", "on")
    if kind == "int":
        return _integer(text.replace("_", ""))
    if kind == "float":
        return _float(text.lower())
    if kind in ("str", "timestamp", "value"):
        return text
    raise ValueError(f"line {node.start_mark.line + 1}: a value of the kind {node.tag}")


def _integer(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise ValueError(f"a number of {len(text)} digits")
    sign, digits = (-1, text[1:]) if text[0] == "-" else (1, text.lstrip("+"))
    if digits.lower().startswith(("0x", "0b", "0o")):
        return sign * int(digits, 0)
    base = 8 if len(digits) > 1 and digits[0] == "0" else 10
    return sign * int(digits, base)


def _float(text: str) -> float:
    if text.endswith(("inf", "nan")):
        raise ValueError(f"{text} is not a number in JSON")
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:40]} is not a number in JSON")
    return int(number) if number.is_integer() and abs(number) < 2**53 else number
