"""A WebSocket connection, from the upgrade of an HTTP request on.

The package `wsproto` speaks the protocol without touching the socket.
"""

import contextlib
import select
import socket
import ssl
import threading
from collections.abc import Iterable, Iterator, Sequence

from wsproto import ConnectionType, WSConnection, events
from wsproto.frame_protocol import CloseReason
from wsproto.utilities import LocalProtocolError, RemoteProtocolError

MAX_MESSAGE_BYTES = 1 << 20
"""A longer message, in however many fragments, closes the connection; kubectl sends 32 KiB."""
PIECE_BYTES = 65536  # more than a TLS record: a read leaves no data behind that poll cannot see


class Channel:
    """A WebSocket. Any thread can send, only one can read `messages`. `is_open` is False if the
    upgrade was refused, because the client offers none of `subprotocols`.
    """

    def __init__(
        self,
        connection: socket.socket,
        headers: Iterable[tuple[str, str]],
        subprotocols: Sequence[str],
    ) -> None:
        self._connection = connection
        self._protocol = WSConnection(ConnectionType.SERVER)
        self._lock = threading.Lock()  # guards both: TLS allows no read during a write
        raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
        self._protocol.initiate_upgrade_connection(raw, "/")
        (request,) = self._protocol.events()
        assert isinstance(request, events.Request)
        common = [each for each in subprotocols if each in request.subprotocols]
        self.is_open = bool(common)
        self._send(events.AcceptConnection(common[0]) if common else events.RejectConnection())

    def messages(self) -> Iterator[bytes]:
        """Wait for binary messages, and yield each, until the connection is closed or fails."""
        poll = select.poll()
        poll.register(self._connection, select.POLLIN)
        message = bytearray()
        with contextlib.suppress(OSError, RemoteProtocolError):
            while True:
                poll.poll()
                for event in self._receive():
                    if isinstance(event, events.CloseConnection):
                        return
                    if isinstance(event, events.Ping):
                        self._send(event.response())
                    elif isinstance(event, events.BytesMessage):
                        message += event.data
                        if len(message) > MAX_MESSAGE_BYTES:
                            self._send(events.CloseConnection(CloseReason.MESSAGE_TOO_BIG))
                            return
                        if event.message_finished:
                            yield bytes(message)
                            message.clear()

    def _receive(self) -> list[events.Event]:
        with self._lock:
            self._connection.settimeout(0)
            try:
                data = self._connection.recv(PIECE_BYTES)
            except (BlockingIOError, ssl.SSLWantReadError):
                return []
            finally:
                self._connection.settimeout(None)
            self._protocol.receive_data(data or None)
            return [*self._protocol.events()]

    def send(self, message: bytes) -> None:
        """Send a binary message; blocks while the socket's buffer is full. Raises OSError."""
        self._send(events.BytesMessage(message))

    def ping(self) -> None:
        """Raise OSError if the client has left, which a thread that does not read cannot see."""
        self._send(events.Ping())

    def close(self) -> None:
        """Send the close frame, after which the client closes the connection. Raises OSError."""
        self._send(events.CloseConnection(CloseReason.NORMAL_CLOSURE))

    def _send(self, event: events.Event) -> None:
        with self._lock:
            try:
                self._connection.sendall(self._protocol.send(event))
            except LocalProtocolError as error:
                raise BrokenPipeError("the connection is closed") from error
