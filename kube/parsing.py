"""Writes JSON, and reads JSON of any depth.

The API server accepts 10,000 levels, in fields that it does not check (`managedFields`); orjson
reads 1,024. No field that the operator reads is deeper than 20. In an answer that is too deep for
orjson, everything below `MAX_JSON_DEPTH` becomes a short string, and the rest stays as it was. If
such a string gets into a pod, the API server refuses the pod, and the job reports it.

Thread-safe.
"""

import json
import re
from array import array
from collections.abc import Callable, Iterator
from functools import partial
from itertools import accumulate
from typing import Any

from api.objects import Raw
from kube.errors import Invalid, Transient

MAX_JSON_DEPTH = 200
"""Below the 254 levels that orjson writes, and far below Python's limit of recursion."""
CUT = b'"(nested too deeply)"'
_STRINGS = re.compile(rb'("(?:[^"\\]++|(?:\\.)++)*+"?)', re.DOTALL)
_STEPS = bytes(1 if byte in b"[{" else 255 if byte in b"]}" else 0 for byte in range(256))
"""How each byte changes the depth; 255 is -1 as a signed byte."""
_BLOCK_BYTES = 256

_load: Callable[[bytes], Any]
_dump: Callable[[Raw], bytes]
try:
    import orjson

    # Some keys are members of enumerations.
    _load, _dump = orjson.loads, partial(orjson.dumps, option=orjson.OPT_NON_STR_KEYS)
except ImportError:  # in the `kubectl pdj` that is one file of pure Python
    _load, _dump = json.loads, lambda body: json.dumps(body).encode()


class Unreadable(dict[str, Any]):
    """An object of which only name, namespace and version could be read."""


def parse_json(data: bytes) -> Raw:
    """A JSON object. Raises Transient on anything else, which a proxy has perhaps sent."""
    try:
        value = _load_deep(data)
    except (ValueError, RecursionError) as error:
        raise Transient(f"the answer is not JSON: {data[:100]!r}") from error
    if not isinstance(value, dict):
        raise Transient(f"the answer is not a JSON object: {data[:100]!r}")
    return value


def dump_json(body: Raw) -> bytes:
    """Encode an object for sending. Raises Invalid if that is impossible."""
    try:
        return _dump(body)
    except (TypeError, ValueError, RecursionError) as error:  # nested too deeply
        raise Invalid(f"the object cannot be sent: {error}") from error


def _load_deep(data: bytes) -> Any:
    try:
        return _load(data)
    except (ValueError, RecursionError):
        return _load(cut_deep(data))


def cut_deep(data: bytes) -> bytes:
    """The same JSON, with everything deeper than `MAX_JSON_DEPTH` replaced by a string.

    It does not recurse, and runs no Python code per bracket, because an object can contain a
    million brackets. So the time is proportional to the size for any content.
    """
    is_deep = b"".join(_find_deep(_without_strings(data).translate(_STEPS)))
    kept: list[bytes] = []
    kept_to, start = 0, is_deep.find(1)
    while start >= 0:
        kept += (data[kept_to:start], CUT)
        kept_to = is_deep.find(0, start) + 1 or len(data)
        start = is_deep.find(1, kept_to)
    return b"".join([*kept, data[kept_to:]])


def _find_deep(steps: bytes) -> Iterator[bytes]:
    """Blocks with 1 for each byte that is too deep, else 0. Most blocks are all 0 or all 1."""
    depth = 0
    for start in range(0, len(steps), _BLOCK_BYTES):
        block = steps[start : start + _BLOCK_BYTES]
        opened, closed = block.count(1), block.count(255)
        if depth + opened <= MAX_JSON_DEPTH:
            yield bytes(len(block))
        elif depth - closed > MAX_JSON_DEPTH:
            yield b"\1" * len(block)
        else:
            depths = accumulate(array("b", block), initial=depth)
            yield bytes(map(MAX_JSON_DEPTH.__lt__, depths))[1:]
        depth += opened - closed


def _without_strings(data: bytes) -> bytes:
    """The same bytes, with zeros for strings, because brackets in strings do not count."""
    pieces = _STRINGS.split(data)
    pieces[1::2] = map(bytes, map(len, pieces[1::2]))
    return b"".join(pieces)
