"""`kubectl port-forward`: connections to a pod's ports. Each connection is two streams of SPDY.

One stream has the connection's bytes, the other an error. All frames are in the messages of one
WebSocket.
"""

import contextlib
import socket
import struct
import threading
from collections.abc import Callable

from localcluster.node.stream import spdy
from localcluster.node.stream.channel import PIECE_BYTES, Channel

MAX_CONNECTIONS = 64
"""The most connections of one client, each of which has a thread; further ones are refused."""
UNREAD_SECONDS = 60
"""A connection from which the pod reads nothing for this long is closed. While the node waits for
the pod, it cannot see that the client has left."""
SUBPROTOCOLS = ("SPDY/3.1+portforward.k8s.io",)


class Forward:
    """The connections of one client, until it leaves."""

    def __init__(self, channel: Channel, connect: Callable[[int], socket.socket]) -> None:
        self._channel = channel
        self._connect = connect
        self._spdy = spdy.Spdy()
        self._errors: dict[str, int] = {}  # by the request's id, until its stream of data comes
        self._connections: dict[int, socket.socket] = {}  # by the stream of data

    def serve(self) -> None:
        """Pass on what the client sends until it disconnects. Raises OSError."""
        try:
            for message in self._channel.messages():
                for frame in self._spdy.receive(message):
                    self._take(frame)
        finally:
            for stream in [*self._connections]:
                self._shut(stream, socket.SHUT_RDWR)

    def _take(self, frame: spdy.Frame) -> None:
        if frame.kind == spdy.SYN_STREAM:
            self._channel.send(self._spdy.accept(frame.stream))
            self._open(frame)
        elif frame.kind == spdy.DATA and frame.stream in self._connections:
            try:
                self._connections[frame.stream].sendall(frame.data)
            except (OSError, KeyError):  # the pod has closed the connection, or reads nothing
                self._shut(frame.stream, socket.SHUT_RDWR)
            if frame.is_last:
                self._shut(frame.stream, socket.SHUT_WR)
        elif frame.kind == spdy.RESET:
            self._shut(frame.stream, socket.SHUT_RDWR)
        elif frame.kind == spdy.PING:
            self._channel.send(spdy.control(spdy.PING, frame.data))

    def _shut(self, stream: int, how: int) -> None:
        """Shut a connection down; the thread that reads from the pod then closes it."""
        with contextlib.suppress(OSError, KeyError):
            self._connections[stream].shutdown(how)

    def _open(self, frame: spdy.Frame) -> None:
        request, port = frame.headers["requestid"], frame.headers["port"]
        if frame.headers["streamtype"] == "error":  # the first of the connection's two
            if len(self._errors) + len(self._connections) < MAX_CONNECTIONS:
                self._errors[request] = frame.stream
            return
        errors = self._errors.pop(request, None)
        if errors is None or frame.stream in self._connections:  # no room, or opened twice
            refusal = frame.stream.to_bytes(4) + spdy.REFUSED.to_bytes(4)
            self._channel.send(spdy.control(spdy.RESET, refusal))
            return
        try:
            there = self._connections[frame.stream] = self._connect(int(port))
        except OSError as error:
            self._end(frame.stream, errors, f"cannot connect to port {port} of the pod: {error}")
            return
        limit = struct.pack("ll", UNREAD_SECONDS, 0)
        there.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
        arguments = (frame.stream, errors, there)
        threading.Thread(target=self._copy, args=arguments, name="forward", daemon=True).start()

    def _copy(self, stream: int, errors: int, there: socket.socket) -> None:
        """Copy what the pod sends to the client, then end both streams."""
        with there, contextlib.suppress(OSError):
            with contextlib.suppress(ConnectionError):
                while payload := there.recv(PIECE_BYTES):
                    self._channel.send(spdy.data(stream, payload))
            self._end(stream, errors)
        del self._connections[stream]

    def _end(self, stream: int, errors: int, error: str = "") -> None:
        self._channel.send(spdy.data(errors, error.encode(), is_last=True))
        self._channel.send(spdy.data(stream, b"", is_last=True))
