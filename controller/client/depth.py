"""JSON that is nested deeper than its readers go, cut to a depth that they read.

Takes no package: tools that cannot have one use it, too. Any thread may call.
"""

import re
from array import array
from itertools import accumulate

MAX_DEPTH = 200
"""Below the 254 levels that orjson writes, and far below Python's limit of recursion."""
CUT = b'"(nested too deeply)"'
_STRINGS = re.compile(rb'("(?:[^"\\]++|\\.)*+"?)', re.DOTALL)
_STEPS = bytes(1 if byte in b"[{" else 255 if byte in b"]}" else 0 for byte in range(256))
"""What each byte does to the depth; 255 is -1 as a signed one."""


def cut_deep(data: bytes) -> bytes:
    """The same JSON with what is nested deeper than `MAX_DEPTH` replaced by a string.

    Takes no recursion, and time in proportion to the size whatever is in it: no step of Python's
    for a bracket, of which an object may hold a million.
    """
    depths = accumulate(array("b", _without_strings(data).translate(_STEPS)))
    is_deep = bytes(map(MAX_DEPTH.__lt__, depths))
    kept: list[bytes] = []
    kept_to, start = 0, is_deep.find(1)
    while start >= 0:
        kept += (data[kept_to:start], CUT)
        kept_to = is_deep.find(0, start) + 1 or len(data)
        start = is_deep.find(1, kept_to)
    return b"".join([*kept, data[kept_to:]])


def _without_strings(data: bytes) -> bytes:
    """As many bytes, with zeros for those of strings: brackets in them are none."""
    pieces = _STRINGS.split(data)
    pieces[1::2] = map(bytes, map(len, pieces[1::2]))
    return b"".join(pieces)
