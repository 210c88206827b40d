"""Indentation found again by what may stand where.

A line whose indentation is lost still says which field it is. It belongs to the innermost open
object that can have this field and has not got it yet; a `-` belongs to the innermost open list
whose items can begin like that. The fields are those that the manuals use.
"""

import re
from dataclasses import dataclass, field
from typing import Any

Schema = dict[str, Any] | list[Any] | str | None
"""Fields of an object, the item of a list, or `MAP`; None is a scalar."""

MAP = "map"
"""An object whose keys are the user's; its values are scalars."""

_FIELD_REF = {"apiVersion": None, "fieldPath": None}
_ENV = {"name": None, "value": None, "valueFrom": {"fieldRef": _FIELD_REF}}
_CONTAINER = {
    "name": None,
    "image": None,
    "imagePullPolicy": None,
    "command": [None],
    "args": [None],
    "env": [_ENV],
    "resources": {"limits": MAP, "requests": MAP},
    "volumeMounts": [{"mountPath": None, "name": None}],
}
_VOLUME = {
    "name": None,
    "hostPath": {"path": None, "type": None},
    "emptyDir": {"medium": None},
    "persistentVolumeClaim": {"claimName": None},
}
_TEMPLATE = {
    "metadata": {"name": None, "labels": MAP},
    "spec": {
        "containers": [_CONTAINER],
        "volumes": [_VOLUME],
        "imagePullSecrets": [{"name": None}],
        "nodeSelector": MAP,
        "restartPolicy": None,
        "schedulerName": None,
    },
}
_ROLE = {"replicas": None, "template": _TEMPLATE}
_POLICIES = [{"event": None, "action": None}]
OBJECT: Schema = {
    "apiVersion": None,
    "kind": None,
    "metadata": {"name": None},
    "spec": {
        # PaddleJob
        **dict.fromkeys(("cleanPodPolicy", "cleanPolicy", "intranet", "withGloo")),
        **dict.fromkeys(("ps", "worker", "heter"), _ROLE),
        # Volcano's Job
        "minAvailable": None,
        "schedulerName": None,
        "policies": _POLICIES,
        "tasks": [{"name": None, "policies": _POLICIES, **_ROLE}],
    },
}
KEY = re.compile(r"(?P<key>[\w./-]+):(?: +(?P<value>.*))?$")


class Misplaced(Exception):
    """Nothing that is open can have this line."""


@dataclass
class _Open:
    """An object or list that further lines may belong to; `indent` is that of its lines."""

    schema: Schema
    indent: int
    seen: set[str] = field(default_factory=set)

    def takes_item(self, key: str) -> bool:
        if not isinstance(self.schema, list):
            return False
        item = self.schema[0]
        return key in item if isinstance(item, dict) else not key

    def takes_field(self, key: str, value: str) -> bool:
        if not key or key in self.seen:
            return False
        if self.schema == MAP:
            return bool(value)
        return isinstance(self.schema, dict) and key in self.schema


def indented(lines: list[str]) -> list[str]:
    """The lines of one object with the indentation that they must have. Raises Misplaced."""
    opened = [_Open(OBJECT, 0)]
    return [_placed(opened, line.strip()) for line in lines]


def _placed(opened: list[_Open], line: str) -> str:
    is_item = line.startswith("- ")
    found = KEY.match(line.removeprefix("- "))
    key, value = (found["key"], found["value"] or "") if found else ("", "")
    while not (opened[-1].takes_item(key) if is_item else opened[-1].takes_field(key, value)):
        opened.pop()
        if not opened:
            raise Misplaced(line)
    indent = opened[-1].indent
    if is_item and key:
        opened.append(_Open(opened[-1].schema[0], indent + 2))  # type: ignore[index]
    if key:
        _open_value(opened, key)
    return " " * indent + line


def _open_value(opened: list[_Open], key: str) -> None:
    holder = opened[-1]
    holder.seen.add(key)
    value = holder.schema[key] if isinstance(holder.schema, dict) else None
    if isinstance(value, list):
        opened.append(_Open(value, holder.indent))
    elif value is not None:
        opened.append(_Open(value, holder.indent + 2))
