"""Quantities of resources (`500m`, `8Gi`) in a job's pod templates.

A CustomResourceDefinition has no type for them: the API server accepts any text there, but refuses
the resulting pods.
"""

import re
from collections.abc import Iterator
from typing import Any

from api.constants import Role
from api.objects import Raw
from pdj.documents.reader import Place
from pdj.documents.schema import Fault

NO_QUANTITY = "is not a quantity such as 2, 500m or 8Gi"
_QUANTITY = re.compile(
    r"\s*[+-]?(\d+\.?\d*|\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?\s*", re.ASCII
)


def is_quantity(value: Any) -> bool:
    """Whether Kubernetes reads it as a quantity: a number, or digits with a unit."""
    return isinstance(value, int) or bool(_QUANTITY.fullmatch(str(value)))


def check_quantities(spec: Raw) -> Iterator[Fault]:
    """Find invalid quantities in a job that fits the schema."""
    for role in Role:
        pod = ((spec.get(role) or {}).get("template") or {}).get("spec") or {}
        for place, value in _quantities_of(pod):
            if value is not None and not is_quantity(value):
                whole: Place = ("spec", str(role), "template", "spec", *place)
                yield Fault(whole, f"{value!r} {NO_QUANTITY}")


def _quantities_of(pod: Raw) -> Iterator[tuple[Place, Any]]:
    for kind in ("initContainers", "containers"):
        for at, container in enumerate(pod.get(kind) or ()):
            resources = (container or {}).get("resources") or {}
            for part in ("limits", "requests"):
                for name, value in (resources.get(part) or {}).items():
                    yield (kind, at, "resources", part, name), value
    for at, volume in enumerate(pod.get("volumes") or ()):
        limit = ((volume or {}).get("emptyDir") or {}).get("sizeLimit")
        yield ("volumes", at, "emptyDir", "sizeLimit"), limit
