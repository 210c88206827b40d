"""Splits a log into lines as it arrives, and long lines into pieces."""

from collections.abc import Iterator
from dataclasses import dataclass

from kube.client import read_parts
from kube.http import Stream

MAX_FOLLOWING_BYTES = 3
"""The most bytes that can follow the first byte of a UTF-8 character."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A whole line of a stream, or a part of a long one. Only the last part has `ends_line`."""

    text: bytes
    ends_line: bool = True


def pieces_of(stream: Stream, max_bytes: int) -> Iterator[Piece]:
    """Every line of a stream, in pieces of at most `max_bytes`. Raises as `read_parts` does.

    A line is cut between characters, and always at the same places, however its bytes arrive.
    """
    rest = bytearray()
    for chunk in read_parts(stream, iter):
        rest += chunk
        if b"\n" in chunk:
            *lines, last = rest.split(b"\n")
            for line in lines:
                yield from _cut(line, max_bytes)
                yield Piece(bytes(line))
            rest = last
        yield from _cut(rest, max_bytes)
    if rest:
        yield Piece(bytes(rest))


def _cut(line: bytearray, max_bytes: int) -> Iterator[Piece]:
    """Take pieces from the beginning of a line until the rest of it is short enough."""
    while len(line) > max_bytes:
        end = max_bytes
        while end > max_bytes - MAX_FOLLOWING_BYTES and line[end] & 0xC0 == 0x80:
            end -= 1
        yield Piece(bytes(line[:end]), ends_line=False)
        del line[:end]
