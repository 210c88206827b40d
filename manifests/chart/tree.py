"""A chart's values as a tree: the source of values.yaml, its schema and the README's table."""

import json
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from api.objects import Raw

WIDTH = 100


@dataclass(frozen=True, slots=True)
class Value:
    """One value: its name, default, JSON schema and meaning."""

    name: str
    default: Any
    schema: Raw
    comment: str


@dataclass(frozen=True, slots=True)
class Section:
    """Values that belong together. `rule` is a schema with conditions on several of them."""

    name: str
    comment: str
    values: "Sequence[Value | Section]"
    rule: Raw | None = None


Node = Value | Section


def defaults(nodes: Sequence[Node]) -> Raw:
    """The values as Helm reads them."""
    return {
        node.name: defaults(node.values) if isinstance(node, Section) else node.default
        for node in nodes
    }


def needed(nodes: Sequence[Node], prefix: str = "") -> Iterator[str]:
    """The paths of what templates cannot do without, the outer ones first: sections, and values
    with a default that is neither empty nor a list or an object.
    """
    for node in nodes:
        if isinstance(node, Section):
            yield f"{prefix}{node.name}"
            yield from needed(node.values, f"{prefix}{node.name}.")
        elif node.default not in ("", None) and not isinstance(node.default, list | dict):
            yield f"{prefix}{node.name}"


def to_schema(nodes: Sequence[Node]) -> Raw:
    """The JSON schema: every value is optional, and unknown ones are refused."""
    properties = {
        node.name: {"description": node.comment}
        | (to_schema(node.values) | (node.rule or {}) if isinstance(node, Section) else node.schema)
        for node in nodes
    }
    return {"type": "object", "additionalProperties": False, "properties": properties}


def to_values(nodes: Sequence[Node], depth: int = 0) -> str:
    """The text of values.yaml, with each value's meaning as a comment above it."""
    lines = []
    for node in nodes:
        words = textwrap.wrap(node.comment, WIDTH - 2 - 2 * depth, break_on_hyphens=False)
        block = [f"# {line}" for line in words] + [_to_yaml(node)]
        lines.append(textwrap.indent("\n".join(block), "  " * depth))
        if isinstance(node, Section):
            lines.append(to_values(node.values, depth + 1))
        if not depth:
            lines.append("")
    return "\n".join(lines)


def to_rows(nodes: Sequence[Node], prefix: str = "") -> Iterator[str]:
    """Rows of the README's table: name, default, meaning."""
    for node in nodes:
        name = f"{prefix}{node.name}"
        if isinstance(node, Section):
            yield from to_rows(node.values, f"{name}.")
        else:
            yield f"| `{name}` | `{json.dumps(node.default)}` | {node.comment} |"


def _to_yaml(node: Node) -> str:
    if isinstance(node, Section):
        return f"{node.name}:"
    if node.default == "":
        return f'{node.name}: ""'
    is_block = isinstance(node.default, dict) and bool(node.default)
    dumped = yaml.safe_dump(
        {node.name: node.default}, sort_keys=False, default_flow_style=None if is_block else False
    )
    return dumped.rstrip("\n")
