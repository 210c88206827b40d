"""`--set path=value`: one field of an object, named by its path."""

import itertools
import re
from typing import Any

from api.objects import Raw
from pdj.documents.reader import read_value
from pdj.errors import Usage

_STEP = re.compile(r"((?:[^.\[\]\\]|\\.)+)|\[(\d+|[^\[\]=]+=[^\[\]]*)\]")


def set_field(obj: Raw, assignment: str) -> None:
    r"""Set one field, for example `spec.worker.replicas=4`.

    A list's element is named by index or field: `containers[0]` or `containers[name=paddle]`. A dot
    in a name is written `\.`, as for Helm: `limits.nvidia\.com/gpu`.
    The value is read as YAML. Missing objects on the path are created. Raises Usage for a missing
    list or list element, a field of a text or number, and a path or value that cannot be read.
    """
    path, equals, text = _split(assignment)
    steps = _steps(path)
    if not equals or not steps:
        raise Usage(f"--set takes path=value, not {assignment!r}")
    try:
        value = read_value(text)
    except ValueError as error:
        raise Usage(f"--set {path}: the value is {error}") from error
    place: Any = obj
    for step, after in itertools.pairwise(steps):
        place = _enter(place, step, after, path)
    place[_key(place, steps[-1], path)] = value


def _split(assignment: str) -> tuple[str, str, str]:
    """Split at the first `=` outside of brackets."""
    depth = 0
    for at, character in enumerate(assignment):
        depth += (character == "[") - (character == "]")
        if character == "=" and depth == 0:
            return assignment[:at], "=", assignment[at + 1 :]
    return assignment, "", ""


def _steps(path: str) -> list[str]:
    found = list(_STEP.finditer(path))
    whole = "".join(match.group() for match in found)
    if whole.replace(".", "") != path.replace(".", ""):
        return []
    return [match.group(2) or re.sub(r"\\(.)", r"\1", match.group(1)) for match in found]


def _enter(place: Any, step: str, after: str, path: str) -> Any:
    key = _key(place, step, path)
    if isinstance(place, dict) and place.get(key) is None:
        if after.isdecimal() or "=" in after:
            raise Usage(f"--set {path}: there is no list {step}")
        place[key] = {}
    return place[key]


def _key(place: Any, step: str, path: str) -> str | int:
    """The key or index that the step names in an object or list. Raises Usage if there is none."""
    if isinstance(place, dict):
        return step
    if not isinstance(place, list):
        raise Usage(f"--set {path}: {step} is not in an object")
    if step.isdecimal() and int(step) < len(place):
        return int(step)
    name, _, wanted = step.partition("=")
    for at, each in enumerate(place):
        if isinstance(each, dict) and str(each.get(name)) == wanted:
            return at
    raise Usage(f"--set {path}: no element {step}")
