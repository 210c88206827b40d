"""Checks names in a job's pod templates: those of containers, and of the volumes that they mount.

The job's schema accepts any text, but the API server refuses the resulting pods.
"""

import re
from collections import Counter
from collections.abc import Iterator

from api.constants import Role
from api.objects import Raw
from pdj.documents.reader import Place
from pdj.documents.schema import Fault

MAX_NAME = 63
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
NO_NAME = (
    "is not a valid container name: lower case letters, digits and '-', a letter or digit first "
    f"and last, {MAX_NAME} at most"
)


def check_containers(spec: Raw) -> Iterator[Fault]:
    """Invalid or duplicate names, and mounts without a volume, in a job that fits the schema."""
    for role in Role:
        pod = ((spec.get(role) or {}).get("template") or {}).get("spec") or {}
        for place, message in (*_check_names(pod), *_check_mounts(pod)):
            yield Fault(("spec", str(role), "template", "spec", *place), message)


def _containers(pod: Raw) -> Iterator[tuple[Place, Raw]]:
    for kind in ("initContainers", "containers"):
        for at, container in enumerate(pod.get(kind) or ()):
            yield (kind, at), container or {}


def _check_names(pod: Raw) -> Iterator[tuple[Place, str]]:
    seen: Counter[str] = Counter()
    for place, container in _containers(pod):
        name = str(container.get("name"))
        seen[name] += 1
        if len(name) > MAX_NAME or not _NAME.fullmatch(name):
            yield (*place, "name"), f"{name!r} {NO_NAME}"
        elif seen[name] > 1:
            yield (*place, "name"), f"{name!r} is the name of another container"


def _check_mounts(pod: Raw) -> Iterator[tuple[Place, str]]:
    volumes = {(volume or {}).get("name") for volume in pod.get("volumes") or ()}
    for place, container in _containers(pod):
        for at, mount in enumerate(container.get("volumeMounts") or ()):
            name = (mount or {}).get("name")
            if name not in volumes:
                yield (*place, "volumeMounts", at, "name"), f"{name!r} is the name of no volume"
