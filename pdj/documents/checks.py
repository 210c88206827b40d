"""Finds errors in a PaddleJob offline: those that the API server or the operator would report.

The API server checks metadata, the schema, and the rules in CEL. `api.validation` has these rules
in Python, and others that only the operator can check. In a cluster, quantities and the names of
containers and volumes are not checked until the operator creates pods.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

from api import rules
from api.constants import API_VERSION, KIND, PLURAL
from api.objects import Raw
from api.rules import CONTAINER_RESTART_MESSAGE
from api.schema import job_schema
from api.validation import CONTAINER_MESSAGE, PORT_MESSAGE, SAME_PORT_MESSAGE, validate_job
from pdj.documents.pods import check_pods
from pdj.documents.reader import Document, Place
from pdj.documents.schema import UNKNOWN_FIELD, FieldFault, check

MAX_NAME = 253
MAX_GENERATE_NAME = 58
"""The API server cuts a longer generateName to this length."""
GENERATED = "xxxxx"
"""Stands for the characters that the API server appends to generateName."""
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z")
_LABEL = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?\Z")
_OPERATORS_OWN = frozenset(
    {PORT_MESSAGE, SAME_PORT_MESSAGE, CONTAINER_MESSAGE, CONTAINER_RESTART_MESSAGE}
)
_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
_METADATA = {
    "string": (
        *("name", "generateName", "namespace", "uid", "resourceVersion", "selfLink"),
        *("creationTimestamp", "deletionTimestamp"),
    ),
    "object": ("labels", "annotations"),
    "array": ("finalizers", "ownerReferences", "managedFields"),
    "integer": ("deletionGracePeriodSeconds", "generation"),
}
"""The fields of metadata by their types; names, labels and annotations have checks of their own."""
_ANYTHING = {"x-kubernetes-preserve-unknown-fields": True}


class Whose(StrEnum):
    """Who would refuse the job."""

    API_SERVER = "API server"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Error:
    """Why the job cannot run, and the line at fault."""

    line: int
    path: str
    message: str
    whose: Whose = Whose.API_SERVER


def is_job(document: Document) -> bool:
    """Whether the document is a PaddleJob of this version."""
    return document.kind == f"{API_VERSION}/{KIND}"


def find_errors(document: Document) -> list[Error]:
    """The errors in a PaddleJob by line. Rules and pods are checked only if the schema fits."""
    faults = [*_check_metadata(document.value.get("metadata")), *_check_schema(document.value)]
    errors = [Error(document.line_of(f.place), path_of(f.place), f.message) for f in faults]
    if not errors:
        errors = [*_check_rules(document), *_check_pods(document)]
    return sorted(set(errors), key=lambda error: (error.line, error.path, error.message))


@cache
def _schema() -> Raw:
    """The job's schema, with that of metadata."""
    schema = job_schema()
    fields = {
        name: {"type": kind, "items": _ANYTHING, **_ANYTHING}
        for kind, names in _METADATA.items()
        for name in names
    }
    schema["properties"]["metadata"] = {"type": "object", "properties": fields}
    return schema


def _check_schema(value: Raw) -> Iterator[FieldFault]:
    """Check the schema, but not the values in status: the API server drops them."""
    for fault in check(value, _schema()):
        if fault.place[:1] != ("status",) or fault.message == UNKNOWN_FIELD:
            yield fault


def _check_metadata(metadata: Any) -> Iterator[FieldFault]:
    if not isinstance(metadata, dict):
        yield FieldFault(("metadata", "name"), "is required")
        return
    yield from _check_name(metadata)
    yield from _check_maps(metadata)


def with_name(job: Raw) -> Raw:
    """The job. If it has only a generateName, it gets a name such as the API server generates."""
    metadata = job["metadata"]
    if metadata.get("name"):
        return job
    name = f"{metadata['generateName'][:MAX_GENERATE_NAME]}{GENERATED}"
    return {**job, "metadata": {**metadata, "name": name}}


def _check_name(metadata: Raw) -> Iterator[FieldFault]:
    given = "name" if metadata.get("name") else "generateName"
    if not metadata.get(given):
        yield FieldFault(("metadata", "name"), "is required")
    elif isinstance(metadata[given], str):
        name = with_name({"metadata": metadata})["metadata"]["name"]
        if len(name) > MAX_NAME or not _SUBDOMAIN.match(name):
            yield FieldFault(("metadata", given), f"{metadata[given]!r} is no RFC 1123 name")
        elif not re.search(rules.NAME_PATTERN.replace("$", r"\Z"), name):
            yield FieldFault(("metadata", given), rules.NAME_MESSAGE)


def _check_maps(metadata: Raw) -> Iterator[FieldFault]:
    for part in ("labels", "annotations"):
        entries = metadata.get(part)
        for key, value in (entries if isinstance(entries, dict) else {}).items():
            place: Place = ("metadata", part, key)
            if value is not None and not isinstance(value, str):
                yield FieldFault(place, "must be a string (in quotes)")
            elif part == "labels" and value and (len(value) > 63 or not _LABEL.match(value)):
                yield FieldFault(place, f"{value!r} is not a valid value of a label")
            prefix, slash, name = str(key).rpartition("/")
            is_bad = not name or len(name) > 63 or not _LABEL.match(name)
            if is_bad or (slash and not _SUBDOMAIN.match(prefix)):
                yield FieldFault(place, f"{key!r} is not a valid name in {part}")


def _check_rules(document: Document) -> Iterator[Error]:
    for error in validate_job(with_name(document.value)):
        place = place_of(error.path)
        own = error.message in _OPERATORS_OWN
        whose = Whose.OPERATOR if own else Whose.API_SERVER
        yield Error(document.line_of(place), error.path, error.message, whose)


def _check_pods(document: Document) -> Iterator[Error]:
    """Errors that the API server does not report until the operator creates the pods."""
    for fault in check_pods(document.value["spec"]):
        line, path = document.line_of(fault.place), path_of(fault.place)
        yield Error(line, path, fault.message, Whose.OPERATOR)


def path_of(place: Place) -> str:
    """The path as the API server writes it: `spec.worker.template.spec.containers[0].image`."""
    text = ""
    for step in place:
        text += f"[{step}]" if isinstance(step, int) else f".{step}"
    return text.removeprefix(".") or PLURAL


def place_of(path: str) -> Place:
    """The place of a path. It ends at the path's first list without an index (`[]`)."""
    steps: list[str | int] = []
    for match in _STEP.finditer(path.partition("[]")[0]):
        steps.append(int(match[2]) if match[2] else match[1])
    return tuple(steps)
