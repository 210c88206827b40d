"""The job that a document holds, or that runs a command in an image."""

import copy
import re
from collections.abc import Iterable, Mapping
from typing import Any

from api.constants import API_VERSION, KIND, TRAINER_CONTAINER, Role
from api.objects import Raw
from api.rules import NAME_MESSAGE, NAME_PATTERN
from pdj.documents.reader import Document
from pdj.errors import Problem, Usage

MAX_NAME = 40


def job_of(document: Document) -> Raw:
    """The job in a document. Raises Usage for another object, Problem for one without metadata."""
    if document.kind != f"{API_VERSION}/{KIND}":
        what = document.kind.strip("/") or "no object"
        raise Usage(f"{document.file}:{document.line}: {what}, not a {KIND} of {API_VERSION}")
    value: Raw = document.value
    if not isinstance(value.get("metadata"), dict):
        raise Problem(f"{document.file}:{document.line}: a job without metadata")
    return value


def build_job(
    image: str,
    name: str | None,
    counts: Mapping[Role, int | None],
    command: Iterable[str],
    env: Iterable[str],
    resources: Raw,
    **fields: Any,
) -> Raw:
    """A job of this image with these numbers of pods, and `fields` of the spec.

    `env` has NAME=VALUE. Raises Usage for values that no job can have.
    """
    container: Raw = {"name": TRAINER_CONTAINER, "image": image}
    resources = {kind: amounts for kind, amounts in resources.items() if amounts}
    more = {"command": [*command], "env": [*map(_variable, env)], "resources": resources}
    container |= {field: value for field, value in more.items() if value}
    spec: Raw = {field: value for field, value in fields.items() if value is not None}
    for role, count in counts.items():
        if count:
            template = {"spec": {"containers": [copy.deepcopy(container)]}}
            spec[str(role)] = {"replicas": count, "template": template}
    if Role.WORKER not in spec:
        raise Usage("a job without workers trains nothing", "--workers 1", "workers=1")
    name = name or name_from(image)
    if not re.fullmatch(NAME_PATTERN, name):
        raise Usage(f"the name {name!r} {NAME_MESSAGE}")
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": name}, "spec": spec}


def _variable(text: str) -> Raw:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise Usage(f"a variable is NAME=VALUE, not {text!r}", "--env NAME=VALUE")
    return {"name": name, "value": value}


def name_from(image: str) -> str:
    """A job's name: `wide-deep` for the image `registry/org/Wide_Deep:v1`. Raises Usage."""
    last = image.rpartition("/")[2].partition("@")[0].partition(":")[0]
    name = re.sub("[^a-z0-9]+", "-", last.lower()).strip("-0123456789")[:MAX_NAME].strip("-")
    if not name:
        raise Usage(f"no job name can be made from {image!r}", "--name NAME", "pass name=")
    return name
