"""Checks a value against the schema of a CustomResourceDefinition, as the API server does.

Only keywords that the schemas of `api/` use are known here. Unknown fields are errors, as for
kubectl, whose requests say `fieldValidation: Strict`.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from api.objects import Raw
from pdj.documents.reader import Place

UNKNOWN_FIELD = "unknown field"
INT32, INT64 = (-(2**31), 2**31 - 1), (-(2**63), 2**63 - 1)
_TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
}
_DATE_TIME = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:?\d\d)", re.ASCII
)


@dataclass(frozen=True, slots=True)
class FieldFault:
    """An error in a field, with the field's place."""

    place: Place
    message: str


Faults = Iterator[FieldFault]


def check(value: Any, schema: Raw, place: Place = ()) -> Faults:
    """All errors of a value under the schema."""
    if value is None:
        if not schema.get("nullable") and "type" in schema:
            yield FieldFault(place, f"must be of type {schema['type']}, not null")
        return
    if schema.get("x-kubernetes-int-or-string"):
        if not isinstance(value, str) and not _TYPES["integer"](value):
            yield FieldFault(place, "must be an integer or a string")
        return
    kind = schema.get("type")
    if kind is not None and not _TYPES[kind](value):
        other = next((name for name, is_it in _TYPES.items() if is_it(value)), "null")
        yield FieldFault(place, f"must be of type {kind}, not {other}")
        return
    yield from _check_kind(value, schema, place)
    if "enum" in schema and not any(_is_same(value, each) for each in schema["enum"]):
        known = ", ".join(f'"{each}"' for each in schema["enum"])
        yield FieldFault(place, f"{value!r} is not one of {known}")
    if "not" in schema and not any(check(value, schema["not"], place)):
        yield FieldFault(place, f"must not be {str(value).lower()}")


def _is_same(value: Any, other: Any) -> bool:
    """Whether two values are equal in JSON, where 1 and true differ (in Python, 1 == True)."""
    return bool(value == other) and isinstance(value, bool) == isinstance(other, bool)


def _check_kind(value: Any, schema: Raw, place: Place) -> Faults:
    if isinstance(value, dict):
        yield from _check_object(value, schema, place)
    elif isinstance(value, list):
        yield from _check_list(value, schema, place)
    elif isinstance(value, str):
        yield from _check_string(value, schema, place)
    elif not isinstance(value, bool):
        yield from _check_number(value, schema, place)


def _check_object(value: Raw, schema: Raw, place: Place) -> Faults:
    known = schema.get("properties")
    for name in schema.get("required") or ():
        default = ((known or {}).get(name) or {}).get("default")
        if value.get(name) is None and default is None:
            yield FieldFault((*place, name), "is required")
    if len(value) > schema.get("maxProperties", len(value)):
        yield FieldFault(place, f"must have at most {schema['maxProperties']} entries")
    keeps = schema.get("x-kubernetes-preserve-unknown-fields")
    for name, inner in value.items():
        here = (*place, name)
        if known is not None and name in known:
            # The API server drops a null that is not allowed, and then sets the default, if any.
            if inner is not None:
                yield from check(inner, known[name], here)
        elif isinstance(schema.get("additionalProperties"), dict):
            yield from check(inner, schema["additionalProperties"], here)
        elif not keeps and not schema.get("additionalProperties"):
            yield FieldFault(here, UNKNOWN_FIELD)


def _check_list(value: list[Any], schema: Raw, place: Place) -> Faults:
    if len(value) < schema.get("minItems", 0):
        yield FieldFault(place, f"must have at least {schema['minItems']} items")
    if len(value) > schema.get("maxItems", len(value)):
        yield FieldFault(place, f"must have at most {schema['maxItems']} items")
    for at, inner in enumerate(value):
        yield from check(inner, schema.get("items") or {}, (*place, at))
    yield from _check_doubles(value, schema, place)


def _check_doubles(value: list[Any], schema: Raw, place: Place) -> Faults:
    kind = schema.get("x-kubernetes-list-type")
    if kind not in ("set", "map"):
        return
    keys = schema.get("x-kubernetes-list-map-keys") or ()
    seen = []
    for at, each in enumerate(value):
        key = (
            [each.get(name) for name in keys] if kind == "map" and isinstance(each, dict) else each
        )
        if key in seen:
            yield FieldFault((*place, at), "appears twice in the list")
        seen.append(key)


def _check_string(value: str, schema: Raw, place: Place) -> Faults:
    if len(value) > schema.get("maxLength", len(value)):
        yield FieldFault(place, f"must be at most {schema['maxLength']} characters long")
    if "pattern" in schema and not _compile(schema["pattern"]).search(value):
        yield FieldFault(place, f"{value!r} does not match {schema['pattern']}")
    if schema.get("format") == "date-time" and not _DATE_TIME.fullmatch(value):
        yield FieldFault(place, f"{value!r} is not a time such as 2026-01-02T03:04:05Z")


@lru_cache(maxsize=256)
def _compile(pattern: str) -> re.Pattern[str]:
    # Go's `$` matches only at the end of the text; Python's also before a final line feed.
    return re.compile(re.sub(r"\$$", r"\\Z", pattern))


def _check_number(value: int | float, schema: Raw, place: Place) -> Faults:
    low, high = {"int32": INT32, "int64": INT64}.get(str(schema.get("format")), (value, value))
    if not low <= value <= high:
        yield FieldFault(place, f"{value} is no {schema['format']}")
    if value < schema.get("minimum", value):
        yield FieldFault(place, f"must be greater than or equal to {schema['minimum']}")
    if value > schema.get("maximum", value):
        yield FieldFault(place, f"must be less than or equal to {schema['maximum']}")
