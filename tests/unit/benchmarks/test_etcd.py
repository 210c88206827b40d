"""What goes into etcd and what is taken out, against a server with etcd's JSON."""

import base64
import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import UnixStreamServer
from typing import Any

import pytest

from benchmarks.etcd import MAX_OPERATIONS, delete_all, put_all
from localcluster.cluster.components import ETCD_CLIENTS

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/cwd").exists(), reason="there is no Linux /proc"
)
PODS = "/registry/pods/default/"


class FakeEtcd(UnixStreamServer):
    """Ranges, puts and deletions by key, of base64 in JSON."""

    def __init__(self, path: str) -> None:
        super().__init__(path, _Handler)
        self.values: dict[bytes, bytes] = {}

    def range(self, query: dict[str, Any]) -> dict[str, Any]:
        """As etcd has it: without `kvs` where there is nothing."""
        first, end = decode(query["key"]), decode(query["range_end"])
        found = [{"key": encode(key)} for key in sorted(self.values) if first <= key < end]
        return {"kvs": found} if found else {}

    def commit(self, transaction: dict[str, Any]) -> dict[str, Any]:
        """All or nothing, at most 128."""
        assert len(transaction["success"]) <= 128
        for operation in transaction["success"]:
            [(kind, body)] = operation.items()
            if kind == "requestPut":
                self.values[decode(body["key"])] = decode(body["value"])
            else:
                assert body.keys() == {"key"}
                del self.values[decode(body["key"])]
        return {"succeeded": True}


class _Handler(BaseHTTPRequestHandler):
    server: FakeEtcd

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        calls = {"/v3/kv/range": self.server.range, "/v3/kv/txn": self.server.commit}
        answer = json.dumps(calls[self.path](body)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Nothing: a socket in the file system has no address to tell."""


def encode(data: bytes) -> str:
    return base64.b64encode(data).decode()


def decode(text: str) -> bytes:
    return base64.b64decode(text)


@pytest.fixture
def etcd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeEtcd]:
    """Where etcd's socket is looked for: in the working folder of its process, here this one."""
    monkeypatch.chdir(tmp_path)
    with FakeEtcd(ETCD_CLIENTS.removeprefix("unix://")) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_what_is_put_is_there(etcd: FakeEtcd) -> None:
    entries = [(f"{PODS}{number}", bytes([number])) for number in range(MAX_OPERATIONS + 1)]
    assert put_all(os.getpid(), entries) == len(entries)
    assert etcd.values == {key.encode(): value for key, value in entries}


def test_all_below_a_prefix_goes_but_what_is_kept(etcd: FakeEtcd) -> None:
    below = {f"{PODS}{number}" for number in range(MAX_OPERATIONS + 1)}
    beside = {"/registry/pods/default", "/registry/pods/default0", "/registry/pods/other/a"}
    put_all(os.getpid(), ((key, b"") for key in below | beside))
    delete_all(os.getpid(), PODS, kept=f"{PODS}7")
    assert set(etcd.values) == {key.encode() for key in {f"{PODS}7"} | beside}


def test_an_empty_prefix_stays_empty(etcd: FakeEtcd) -> None:
    delete_all(os.getpid(), PODS)
    assert not etcd.values
