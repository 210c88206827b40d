"""The frames of SPDY/3 that `kubectl port-forward` uses: many streams in one connection.

kubectl speaks SPDY inside a WebSocket. No Python package implements SPDY, because browsers dropped
it long ago. The functions convert between bytes and frames; they do no input or output.
"""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

DATA, SYN_STREAM, SYN_REPLY, RESET, PING = 0, 1, 2, 3, 6
CONTROL = 0x8003 << 16
FIN = 1
HEADER_BYTES = 8
REFUSED = 3
"""The status of a RESET: the stream was not opened."""
MAX_FRAME_BYTES = 1 << 20
"""The most bytes of a frame; kubectl sends 32 KiB."""
MAX_BLOCK_BYTES = 4096
"""The most bytes of one stream's headers; a few hundred are usual. Few bytes on the wire can become
as many, in a thousand words."""
NAMES = (
    "options head post put delete trace accept accept-charset accept-encoding accept-language "
    "accept-ranges age allow authorization cache-control connection content-base content-encoding "
    "content-language content-length content-location content-md5 content-range content-type date "
    "etag expect expires from host if-match if-modified-since if-none-match if-range "
    "if-unmodified-since last-modified location max-forwards pragma proxy-authenticate "
    "proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade "
    "user-agent vary via warning www-authenticate method get status 200_OK version HTTP/1.1 url "
    "public set-cookie keep-alive origin"
)
TEXT = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
    "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request"
    "401 Unauthorized403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented"
    "503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 "
    "Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,"
    "application/xml,application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age="
    "gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)


DICTIONARY = b"".join(
    len(name).to_bytes(4) + name.replace("_", " ").encode() for name in NAMES.split()
) + TEXT.encode()  # fmt: skip
"""The dictionary with which both sides compress headers (draft 3, 2.6.10.1)."""


@dataclass(frozen=True)
class Frame:
    """One frame. `kind` is a constant above; `headers` is empty except for SYN_STREAM."""

    kind: int
    stream: int
    is_last: bool
    data: bytes
    headers: dict[str, str]


class Spdy:
    """The server's side of one connection."""

    def __init__(self) -> None:
        self._left = bytearray()
        self._inflate = zlib.decompressobj(zdict=DICTIONARY)
        self._deflate = zlib.compressobj(zdict=DICTIONARY)

    def receive(self, data: bytes) -> Iterator[Frame]:
        """Yield the frames that these bytes complete; keep the rest for the next call.

        Raises ValueError if a frame or its headers are too long.
        """
        self._left += data
        while len(self._left) >= HEADER_BYTES:
            word, length = struct.unpack_from(">II", self._left)
            end = HEADER_BYTES + (length & 0xFFFFFF)
            if end > MAX_FRAME_BYTES:
                raise ValueError(f"a frame of more than {MAX_FRAME_BYTES >> 10} KiB")
            if len(self._left) < end:
                return
            body = bytes(self._left[HEADER_BYTES:end])
            del self._left[:end]
            kind = word & 0xFFFF if word >= CONTROL else DATA
            stream = word if kind == DATA else int.from_bytes(body[:4])
            headers = self._headers(body[10:]) if kind == SYN_STREAM else {}
            yield Frame(kind, stream, bool(length >> 24 & FIN), body, headers)

    def _headers(self, block: bytes) -> dict[str, str]:
        """Parse a block: the number of headers, then each name and value after its length."""
        plain = self._inflate.decompress(block, MAX_BLOCK_BYTES)[4:]
        if self._inflate.unconsumed_tail:
            raise ValueError(f"headers of more than {MAX_BLOCK_BYTES >> 10} KiB")
        words = []
        while plain:
            end = 4 + int.from_bytes(plain[:4])
            words.append(plain[4:end].decode())
            plain = plain[end:]
        return dict(zip(words[::2], words[1::2], strict=True))

    def accept(self, stream: int) -> bytes:
        """The frame that answers SYN_STREAM, without headers."""
        block = self._deflate.compress(bytes(4)) + self._deflate.flush(zlib.Z_SYNC_FLUSH)
        return control(SYN_REPLY, stream.to_bytes(4) + block)


def control(kind: int, body: bytes) -> bytes:
    """The bytes of a frame of a kind other than DATA."""
    return struct.pack(">II", CONTROL | kind, len(body)) + body


def data(stream: int, payload: bytes, is_last: bool = False) -> bytes:
    """The bytes of a DATA frame."""
    return struct.pack(">II", stream, (FIN if is_last else 0) << 24 | len(payload)) + payload
