"""Puts objects straight into etcd, and takes them out, a hundred a request.

Filling a cluster with tens of thousands of objects through the API server would take longer than
all measurements, and so would emptying it after each. The API server reads what it finds in etcd by
the same decoder, protobuf or JSON, and sees it come and go by its own watch.
"""

import base64
import http.client
import json
import socket
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import islice
from typing import TypeVar

from benchmarks.rest import Raw
from localcluster.components import ETCD_CLIENTS

MAX_OPERATIONS = 100
"""In one transaction; etcd takes 128."""
TIMEOUT_SECONDS = 60.0

Item = TypeVar("Item")


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
    """Store every (key, value); how many there were."""
    puts = (
        {"requestPut": {"key": _encode(key.encode()), "value": _encode(value)}}
        for key, value in entries
    )
    with closing(_connect(etcd_pid)) as connection:
        return _commit_all(connection, puts)


def delete_all(etcd_pid: int, prefix: str, kept: str = "") -> None:
    """Delete every key with the prefix but the one `kept`."""
    first = prefix.encode()
    past_last = first[:-1] + bytes([first[-1] + 1])
    query = {"key": _encode(first), "range_end": _encode(past_last), "keys_only": True}
    with closing(_connect(etcd_pid)) as connection:
        found = _ask(connection, "/v3/kv/range", query).get("kvs") or []
        keys = (each["key"] for each in found if each["key"] != _encode(kept.encode()))
        _commit_all(connection, ({"requestDeleteRange": {"key": key}} for key in keys))


def _connect(etcd_pid: int) -> http.client.HTTPConnection:
    """The socket is found in the working folder of the process, whose own path may be too long."""
    return _SocketConnection(f"/proc/{etcd_pid}/cwd/{ETCD_CLIENTS.removeprefix('unix://')}")


def _commit_all(connection: http.client.HTTPConnection, operations: Iterable[Raw]) -> int:
    count = 0
    for batch in _batches(operations):
        _ask(connection, "/v3/kv/txn", {"success": batch})
        count += len(batch)
    return count


def _ask(connection: http.client.HTTPConnection, path: str, body: Raw) -> Raw:
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    response = connection.getresponse()
    answer = response.read()
    if response.status != http.client.OK:
        raise OSError(f"etcd answered {response.status}: {answer[:300]!r}")
    value: Raw = json.loads(answer)
    return value


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _batches(items: Iterable[Item]) -> Iterator[list[Item]]:
    iterator = iter(items)
    while batch := list(islice(iterator, MAX_OPERATIONS)):
        yield batch
