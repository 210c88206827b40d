"""Finds errors in a job's pod templates: names of containers and of their variables, the volumes
that they mount, and quantities of resources (`500m`, `8Gi`).

The job's schema accepts any text there, but the API server refuses the resulting pods.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from api.constants import Role
from api.objects import Raw
from pdj.documents.parts import Found
from pdj.documents.reader import Place
from pdj.documents.schema import FieldFault

MAX_NAME = 63
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
NO_NAME = (
    "is not a valid container name: lower case letters, digits and '-', a letter or digit first "
    f"and last, {MAX_NAME} at most"
)
_VARIABLE = re.compile(r"[ -<>-~]+")
NO_VARIABLE = "is not a valid name of a variable: printable ASCII characters other than '='"
NO_QUANTITY = "is not a quantity such as 2, 500m or 8Gi"
_QUANTITY = re.compile(
    r"\s*[+-]?(\d+\.?\d*|\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?\s*", re.ASCII
)


def is_quantity(value: Any) -> bool:
    """Whether Kubernetes reads it as a quantity: a number, or digits with a unit."""
    return isinstance(value, int) or bool(_QUANTITY.fullmatch(str(value)))


def check_pods(spec: Raw) -> Iterator[FieldFault]:
    """Invalid quantities and names, and mounts without a volume, in a job that fits the schema."""
    for role in Role:
        pod = ((spec.get(role) or {}).get("template") or {}).get("spec") or {}
        for place, message in (*_check_quantities(pod), *_check_names(pod), *_check_mounts(pod)):
            yield FieldFault(("spec", str(role), "template", "spec", *place), message)


def _check_quantities(pod: Raw) -> Found:
    for place, value in _quantities_of(pod):
        if value is not None and not is_quantity(value):
            yield place, f"{value!r} {NO_QUANTITY}"


def _quantities_of(pod: Raw) -> Iterator[tuple[Place, Any]]:
    for place, container in _containers(pod):
        resources = container.get("resources") or {}
        for part in ("limits", "requests"):
            for name, value in (resources.get(part) or {}).items():
                yield (*place, "resources", part, name), value
    for at, volume in enumerate(pod.get("volumes") or ()):
        limit = ((volume or {}).get("emptyDir") or {}).get("sizeLimit")
        yield ("volumes", at, "emptyDir", "sizeLimit"), limit


def _containers(pod: Raw) -> Iterator[tuple[Place, Raw]]:
    for kind in ("initContainers", "containers"):
        for at, container in enumerate(pod.get(kind) or ()):
            yield (kind, at), container or {}


def _check_names(pod: Raw) -> Found:
    seen: Counter[str] = Counter()
    for place, container in _containers(pod):
        name = str(container.get("name"))
        seen[name] += 1
        if len(name) > MAX_NAME or not _NAME.fullmatch(name):
            yield (*place, "name"), f"{name!r} {NO_NAME}"
        elif seen[name] > 1:
            yield (*place, "name"), f"{name!r} is the name of another container"
        for at, variable in enumerate(container.get("env") or ()):
            name = str((variable or {}).get("name"))
            if not _VARIABLE.fullmatch(name):
                yield (*place, "env", at, "name"), f"{name!r} {NO_VARIABLE}"


def _check_mounts(pod: Raw) -> Found:
    volumes = {(volume or {}).get("name") for volume in pod.get("volumes") or ()}
    for place, container in _containers(pod):
        for at, mount in enumerate(container.get("volumeMounts") or ()):
            name = (mount or {}).get("name")
            if name not in volumes:
                yield (*place, "volumeMounts", at, "name"), f"{name!r} is the name of no volume"
