"""JSON as deep as anybody may nest it.

The API server takes 10,000 levels, in fields that it does not look into (`managedFields`); orjson
reads 1,024. No field that the operator reads lies deeper than 20. So of an answer that is too deep
for orjson, everything below `MAX_DEPTH` becomes a short string, and the rest is as it was. Where
such a string ends up in a pod after all, the API server refuses the pod and its job says so. Any
thread may call.
"""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from api.objects import Raw
from kube.depth import cut_deep
from kube.errors import Invalid, Transient

_load: Callable[[bytes], Any]
_dump: Callable[[Raw], bytes]
try:
    import orjson

    # Enumerations are keys, too.
    _load, _dump = orjson.loads, partial(orjson.dumps, option=orjson.OPT_NON_STR_KEYS)
except ImportError:  # in the tool that is one file of pure Python
    _load, _dump = json.loads, lambda body: json.dumps(body).encode()


class Unreadable(dict[str, Any]):
    """An object of which no more could be read than what its metadata say of place and version."""


def parse_json(data: bytes) -> Raw:
    """A JSON object. Raises Transient on anything else: a proxy may have answered instead."""
    try:
        value = _load_deep(data)
    except (ValueError, RecursionError) as error:
        raise Transient(f"the answer is no JSON: {data[:100]!r}") from error
    if not isinstance(value, dict):
        raise Transient(f"the answer is no JSON object: {data[:100]!r}")
    return value


def dump_json(body: Raw) -> bytes:
    """An object as it is sent. Raises Invalid where that cannot be done."""
    try:
        return _dump(body)
    except (TypeError, ValueError, RecursionError) as error:  # nested too deeply
        raise Invalid(f"the object cannot be sent: {error}") from error


def _load_deep(data: bytes) -> Any:
    try:
        return _load(data)
    except (ValueError, RecursionError):
        return _load(cut_deep(data))
