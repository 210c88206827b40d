"""JSON as deep as anybody may nest it.

The API server takes 10,000 levels, in fields that it does not look into (`managedFields`); orjson
reads 1,024. No field that the operator reads lies deeper than 20. So of an answer that is too deep
for orjson, everything below `MAX_DEPTH` becomes a short string, and the rest is as it was. Where
such a string ends up in a pod after all, the API server refuses the pod and its job says so. Any
thread may call.
"""

from typing import Any

import orjson

from api.objects import Raw
from kube.depth import cut_deep
from kube.errors import Transient


class Unreadable(dict[str, Any]):
    """An object of which no more could be read than what its metadata say of place and version."""


def parse_json(data: bytes) -> Raw:
    """A JSON object. Raises Transient on anything else: a proxy may have answered instead."""
    try:
        value = _load(data)
    except ValueError as error:
        raise Transient(f"the answer is no JSON: {data[:100]!r}") from error
    if not isinstance(value, dict):
        raise Transient(f"the answer is no JSON object: {data[:100]!r}")
    return value


def _load(data: bytes) -> Any:
    try:
        return orjson.loads(data)
    except ValueError:
        return orjson.loads(cut_deep(data))
