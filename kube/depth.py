"""JSON that is nested deeper than its readers go, cut to a depth that they read.

Takes no package: tools that cannot have one use it, too. Any thread may call.
"""

import re
from array import array
from collections.abc import Iterator
from itertools import accumulate

MAX_DEPTH = 200
"""Below the 254 levels that orjson writes, and far below Python's limit of recursion."""
CUT = b'"(nested too deeply)"'
_STRINGS = re.compile(rb'("(?:[^"\\]++|(?:\\.)++)*+"?)', re.DOTALL)
_STEPS = bytes(1 if byte in b"[{" else 255 if byte in b"]}" else 0 for byte in range(256))
"""What each byte does to the depth; 255 is -1 as a signed one."""
_BLOCK_BYTES = 256


def cut_deep(data: bytes) -> bytes:
    """The same JSON with what is nested deeper than `MAX_DEPTH` replaced by a string.

    Takes no recursion, and time in proportion to the size whatever is in it: no step of Python's
    for a bracket, of which an object may hold a million.
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
    """For each byte 1 where it is too deep, else 0. Most blocks are as a whole the one or other."""
    depth = 0
    for start in range(0, len(steps), _BLOCK_BYTES):
        block = steps[start : start + _BLOCK_BYTES]
        opened, closed = block.count(1), block.count(255)
        if depth + opened <= MAX_DEPTH:
            yield bytes(len(block))
        elif depth - closed > MAX_DEPTH:
            yield b"\1" * len(block)
        else:
            depths = accumulate(array("b", block), initial=depth)
            yield bytes(map(MAX_DEPTH.__lt__, depths))[1:]
        depth += opened - closed


def _without_strings(data: bytes) -> bytes:
    """As many bytes, with zeros for those of strings: brackets in them are none."""
    pieces = _STRINGS.split(data)
    pieces[1::2] = map(bytes, map(len, pieces[1::2]))
    return b"".join(pieces)
