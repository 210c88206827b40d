"""Puts objects directly into etcd, and deletes them, a hundred per request.

Creating or deleting tens of thousands of objects through the API server would take longer than all
measurements. The API server also reads objects that others have stored, as protobuf or JSON, and
notices changes by its watch of etcd.
"""

import base64
import http.client
import json
import socket
from collections.abc import Iterable
from contextlib import closing
from http import HTTPStatus
from itertools import islice

from localcluster.client.rest import Raw
from localcluster.cluster.components import ETCD_CLIENTS

MAX_OPERATIONS = 100
"""The most operations in one transaction; etcd allows 128."""
TIMEOUT_SECONDS = 60.0


class _Etcd(http.client.HTTPConnection):
    """HTTP over etcd's socket.

    The socket's path leads through `/proc/<pid>/cwd`, because its usual path can be too long for a
    socket's address.
    """

    def __init__(self, pid: int) -> None:
        super().__init__("localhost")
        self._path = f"/proc/{pid}/cwd/{ETCD_CLIENTS.removeprefix('unix://')}"

    def connect(self) -> None:
        """Connect to the socket, not to a port."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(TIMEOUT_SECONDS)
        self.sock.connect(self._path)

    def ask(self, path: str, body: Raw) -> Raw:
        """Send a POST; returns the answer. Raises OSError if etcd refuses."""
        self.request("POST", path, json.dumps(body))
        answer = self.getresponse()
        text = answer.read()
        if answer.status != HTTPStatus.OK:
            raise OSError(f"etcd refuses: {answer.status} {text!r}")
        return dict(json.loads(text))


def put_all(etcd_pid: int, entries: Iterable[tuple[str, bytes]]) -> int:
    """Store every (key, value); returns their number."""
    puts = (
        {"requestPut": {"key": _encode(key.encode()), "value": _encode(value)}}
        for key, value in entries
    )
    with closing(_Etcd(etcd_pid)) as etcd:
        return _commit_all(etcd, puts)


def delete_all(etcd_pid: int, prefix: str, kept: str = "") -> None:
    """Delete every key with the prefix, except the key `kept`."""
    first = prefix.encode()
    past_last = first[:-1] + bytes([first[-1] + 1])
    query = {"key": _encode(first), "range_end": _encode(past_last), "keys_only": True}
    with closing(_Etcd(etcd_pid)) as etcd:
        found = etcd.ask("/v3/kv/range", query).get("kvs") or []
        keys = (each["key"] for each in found if each["key"] != _encode(kept.encode()))
        _commit_all(etcd, ({"requestDeleteRange": {"key": key}} for key in keys))


def _commit_all(etcd: _Etcd, operations: Iterable[Raw]) -> int:
    count, left = 0, iter(operations)
    while batch := list(islice(left, MAX_OPERATIONS)):
        etcd.ask("/v3/kv/txn", {"success": batch})
        count += len(batch)
    return count


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode()
