"""Reports a stored status that this operator cannot have written.

Another tool can write a status that the API server accepts but no pass can use, such as a time
without a zone. As we cannot read it, nothing is created or deleted, and the job waits until
somebody corrects it.
"""

from collections.abc import Iterator
from datetime import datetime
from functools import cache
from typing import Any

from api.constants import OWN_MANAGERS, Condition, Reason
from api.objects import Raw, parse_time
from api.schema_types import MAX_INT32
from api.status import JobStatus, dump_status, new_condition, parse_status, status_schema
from reconcile.model.hold import Hold
from reconcile.model.indexes import parse_indexes
from reconcile.model.plan import EmitEvent, Plan

TYPES: dict[str, Any] = {"object": dict, "array": list, "string": str, "integer": int}
SHOWN_CHARACTERS = 60
_schema = cache(status_schema)


def find_unreadable(status: Any) -> str | None:
    """The error in a stored status, such as `status.startTime is 'x', no time`, or None."""
    return next(_wrong(_schema(), {} if status is None else status, "status"), None)


def tell_unreadable(job: Raw, wrong: str, now: datetime) -> Plan:
    """Report the error in the condition Pending, and do nothing else."""
    if (job["spec"].get("managedBy") or "") not in OWN_MANAGERS:
        return Plan()
    next_step = "correct or remove it; until then the operator does nothing"
    message = Hold(Reason.STATUS_UNREADABLE, wrong, next_step).message
    stored = job.get("status")
    conditions = stored.get("conditions") if isinstance(stored, dict) else None
    condition = new_condition(Condition.PENDING, True, Reason.STATUS_UNREADABLE, message, now)
    status = _readable(conditions).with_condition(condition).with_headline(condition)
    told = dump_status(status)
    if told["conditions"] == conditions:
        return Plan()
    event = EmitEvent("Warning", Reason.STATUS_UNREADABLE, message)
    fields = {name: told[name] for name in ("reason", "message", "conditions")}
    return Plan(status={"status": fields}, events=(event,))


def _readable(conditions: Any) -> JobStatus:
    """The stored conditions, or none if one of them cannot be read."""
    schema = _schema()["properties"]["conditions"]
    is_well = conditions is not None and not any(_wrong(schema, conditions, ""))
    return parse_status({"conditions": conditions if is_well else []})


def _wrong(schema: Raw, value: Any, path: str) -> Iterator[str]:
    """A message for each wrong value at this path or below it."""
    kind = schema["type"]
    if not isinstance(value, TYPES[kind]) or isinstance(value, bool):
        yield _say(path, value, f"no {kind}")
    elif kind == "object":
        yield from _wrong_fields(schema, value, path)
    elif kind == "array":
        for index, each in enumerate(value):
            yield from _wrong(schema["items"], each, f"{path}[{index}]")
    elif kind == "integer":
        most = None if schema["format"] == "int64" else MAX_INT32 - 1
        if value < 0 or (most is not None and value > most):
            yield _say(path, value, "out of bounds")
    else:
        yield from _wrong_text(schema, value, path)


def _wrong_fields(schema: Raw, value: Raw, path: str) -> Iterator[str]:
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{path}.{name} is missing"
    for name, each in value.items():
        inner = schema.get("properties", {}).get(name) or schema.get("additionalProperties")
        if inner:
            yield from _wrong(inner, each, f"{path}.{name}")


def _wrong_text(schema: Raw, value: str, path: str) -> Iterator[str]:
    is_time = schema.get("format") == "date-time"
    try:
        moment = parse_time(value) if is_time else None
        if moment is not None and moment.tzinfo is None:
            yield _say(path, value, "a time without a zone")
        if path.endswith(".completedIndexes"):
            parse_indexes(value)
    except ValueError:
        yield _say(path, value, "no time" if is_time else "not a list of indexes")


def _say(path: str, value: Any, what: str) -> str:
    return f"{path} is {str(value)[:SHOWN_CHARACTERS]!r}, {what}"
