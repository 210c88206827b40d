"""Builders of OpenAPI v3 schemas, so that the schema reads as a table of fields.

A builder returns a new dict; `kubectl explain` prints its description. A function whose name ends
with `_field` makes a field of a status dataclass. The metadata of the field is its schema.
"""

from collections.abc import Sequence
from dataclasses import field, fields
from typing import Any

from api.objects import Raw, json_names

MAX_INT32 = 2**31 - 1
INT32: Raw = {"type": "integer", "format": "int32"}


def an_object(description: str, properties: Raw, required: Sequence[str] = ()) -> Raw:
    """An object with exactly these properties."""
    schema: Raw = {"description": description, "type": "object"}
    if required:
        schema["required"] = list(required)
    return schema | {"properties": properties}


def an_integer(description: str, minimum: int, maximum: int = MAX_INT32, **more: object) -> Raw:
    """A 32-bit integer within bounds."""
    bounds = {"minimum": minimum, "maximum": maximum}
    return {"description": description, **INT32, **bounds, **more}


def a_long(description: str, minimum: int = 0) -> Raw:
    """A 64-bit integer. It has no maximum, because JSON's numbers would round it."""
    return {"description": description, "type": "integer", "format": "int64", "minimum": minimum}


def a_count(description: str) -> Raw:
    """An integer of the status: never negative, without an upper bound."""
    return {"description": description, **INT32, "minimum": 0}


def a_string(description: str, max_length: int | None = None, **more: object) -> Raw:
    """A string, with a maximum length if one is given."""
    bound = {} if max_length is None else {"maxLength": max_length}
    return {"description": description, "type": "string", **bound, **more}


def a_boolean(description: str) -> Raw:
    """True or false."""
    return {"description": description, "type": "boolean"}


def an_enum(description: str, values: Sequence[object], **more: object) -> Raw:
    """One of these strings or integers."""
    kind = "integer" if isinstance(values[0], int) else "string"
    plain = [value if isinstance(value, int) else str(value) for value in values]
    return {"description": description, "type": kind, "enum": plain, **more}


def a_list(description: str, items: Raw, max_items: int, **more: object) -> Raw:
    """A list that server-side apply replaces as a whole, unless `more` sets another list type."""
    kind: Raw = {} if "x-kubernetes-list-type" in more else {"x-kubernetes-list-type": "atomic"}
    schema: Raw = {"description": description, "type": "array", "maxItems": max_items}
    return schema | kind | more | {"items": items}


def a_map(description: str, values: Raw) -> Raw:
    """A map from any string to values of this schema."""
    return {"description": description, "type": "object", "additionalProperties": values}


def typed_field(schema: Raw, default: Any = "") -> Any:
    """A dataclass field: its schema, and its value if the JSON does not have the field."""
    return field(default=default, metadata=schema)


def text_field(description: str, max_length: int | None = None) -> Any:
    """A string, empty if absent."""
    return typed_field(a_string(description, max_length))


def time_field(description: str) -> Any:
    """A metav1.Time, empty if absent."""
    return typed_field({"description": description, "type": "string", "format": "date-time"})


def count_field(description: str) -> Any:
    """A count, 0 if absent."""
    return typed_field(a_count(description), 0)


def list_field(description: str, items: Raw, max_items: int, **more: object) -> Any:
    """A tuple, empty if absent."""
    return typed_field(a_list(description, items, max_items, **more), ())


def properties_of(kind: type) -> Raw:
    """The schemas of a dataclass's fields, by their names in JSON."""
    return {json_names(kind)[each.name]: dict(each.metadata) for each in fields(kind)}
