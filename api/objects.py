"""Readers of raw Kubernetes objects.

Objects are kept as the JSON that the API server sent, so that no field is lost. These functions
read the few fields that every part needs; they never change their arguments.
"""

from dataclasses import fields, replace
from datetime import UTC, datetime
from functools import cache
from typing import Any, TypeVar

Raw = dict[str, Any]
"""A Kubernetes object as parsed JSON. What comes out of the store is read-only."""
Parsed = TypeVar("Parsed")


def name_of(obj: Raw) -> str:
    """`metadata.name`."""
    return str(obj["metadata"]["name"])


def namespace_of(obj: Raw) -> str:
    """`metadata.namespace`, empty for a cluster-scoped object."""
    return str(obj["metadata"].get("namespace", ""))


def uid_of(obj: Raw) -> str:
    """`metadata.uid`, empty before the API server has given one."""
    return str(obj["metadata"].get("uid", ""))


def labels_of(obj: Raw) -> dict[str, str]:
    """`metadata.labels`, empty when absent."""
    return obj["metadata"].get("labels") or {}


def is_deleting(obj: Raw) -> bool:
    """Whether the object has a deletion timestamp."""
    return bool(obj["metadata"].get("deletionTimestamp"))


def controller_of(obj: Raw) -> Raw | None:
    """The owner reference whose `controller` is true, or None."""
    for owner in obj["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            return dict(owner)
    return None


def condition_of(obj: Raw, type_: str, status: str = "True") -> Raw | None:
    """The condition of this type in `status.conditions` if it has this status, or None."""
    conditions = (obj.get("status") or {}).get("conditions")
    for each in conditions if isinstance(conditions, list) else ():  # asked often in a pass
        if isinstance(each, dict) and (each.get("type"), each.get("status")) == (type_, status):
            return dict(each)
    return None


def condition_named(obj: Raw, type_: str) -> Raw:
    """The condition of this type, whatever its status; empty if it was never set."""
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return next((each for each in conditions if each.get("type") == type_), {})


def condition_since(obj: Raw, type_: str, status: str = "True") -> datetime | None:
    """Since when the condition has this status; None if it has not, or that is not known."""
    return moment_of((condition_of(obj, type_, status) or {}).get("lastTransitionTime"))


def dicts_in(values: Any) -> list[Raw]:
    """The objects of a JSON array that others wrote; none of what is no array."""
    return [each for each in values if isinstance(each, dict)] if isinstance(values, list) else []


def parse_time(text: str | None) -> datetime | None:
    """A metav1.Time or MicroTime as an aware datetime; None for None or an empty string."""
    return datetime.fromisoformat(text) if text else None


def moment_of(value: Any) -> datetime | None:
    """A time that others wrote; None for none, as for the zero of Go (year 1) or Unix (1970)."""
    try:
        moment = parse_time(value)
    except (TypeError, ValueError):
        return None
    return moment if moment and moment.tzinfo and 1970 < moment.year < 9999 else None


def format_time(moment: datetime | None) -> str:
    """A moment as metav1.Time: UTC, whole seconds, `2026-01-02T03:04:05Z`; empty for None."""
    if moment is None:
        return ""
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def format_micro_time(moment: datetime) -> str:
    """A moment as metav1.MicroTime: UTC, always with six decimals, which Kubernetes requires."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@cache
def json_names(kind: type) -> dict[str, str]:
    """Maps the fields of a dataclass to their JSON names: `start_time` to `startTime`."""
    words = {field.name: field.name.split("_") for field in fields(kind)}
    return {name: first + "".join(map(str.title, more)) for name, (first, *more) in words.items()}


@cache
def _field_names(kind: type) -> dict[str, str]:
    return {key: name for name, key in json_names(kind).items()}


def changed(obj: Parsed, **values: object) -> Parsed:
    """A copy of the frozen dataclass with these values; `obj` itself if it has them already."""
    for name, value in values.items():
        if getattr(obj, name) != value:
            return replace(obj, **values)  # type: ignore[type-var] # a dataclass
    return obj


def parse_fields(kind: type[Parsed], raw: Raw, **parsed: object) -> Parsed:
    """Build a dataclass. Fields named in `parsed` get their values from it, others from the JSON.

    A field that is absent or null in the JSON gets its default.
    """
    names = _field_names(kind)  # type: ignore[arg-type] # a type is hashable
    plain = {names[key]: value for key, value in raw.items() if key in names and value is not None}
    return kind(**plain | parsed)


def dump_fields(obj: object) -> Raw:
    """The JSON of a dataclass's fields that have a value; the reverse of `parse_fields`."""
    names = json_names(type(obj)).items()  # type: ignore[arg-type] # a type is hashable
    return {key: value for name, key in names if (value := getattr(obj, name)) is not None}
