"""Puts objects straight into etcd, a hundred a request.

Filling a cluster with tens of thousands of objects through the API server would take longer than
all measurements. The API server reads what it finds in etcd by the same decoder, protobuf or JSON,
and sees it come by its own watch.
"""

import base64
import http.client
import json
import socket
from collections.abc import Iterable, Iterator
from itertools import islice

from benchmarks.rest import Raw
from localcluster.components import ETCD_CLIENTS

MAX_OPERATIONS = 100
"""In one transaction; etcd takes 128."""
TIMEOUT_SECONDS = 60.0


class _SocketConnection(http.client.HTTPConnection):
    """HTTP over a socket in the file system."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=TIMEOUT_SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(TIMEOUT_SECONDS)
        self.sock.connect(self._path)


def put_all(etcd_pid: int, entries: Iterable[tuple[str, bytes]]) -> int:
    """Store every (key, value); how many there were.

    The socket is found in the working folder of the process, whose own path may be too long.
    """
    connection = _SocketConnection(f"/proc/{etcd_pid}/cwd/{ETCD_CLIENTS.removeprefix('unix://')}")
    count = 0
    try:
        for batch in _batches(entries):
            _commit(connection, batch)
            count += len(batch)
    finally:
        connection.close()
    return count


def _commit(connection: http.client.HTTPConnection, batch: list[tuple[str, bytes]]) -> None:
    operations: list[Raw] = [
        {"requestPut": {"key": _encode(key.encode()), "value": _encode(value)}}
        for key, value in batch
    ]
    body = json.dumps({"success": operations})
    connection.request("POST", "/v3/kv/txn", body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    answer = response.read()
    if response.status != http.client.OK:
        raise OSError(f"etcd answered {response.status}: {answer[:300]!r}")


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _batches(entries: Iterable[tuple[str, bytes]]) -> Iterator[list[tuple[str, bytes]]]:
    iterator = iter(entries)
    while batch := list(islice(iterator, MAX_OPERATIONS)):
        yield batch
