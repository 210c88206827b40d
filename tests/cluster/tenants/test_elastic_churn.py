"""A job that writes to its namespace's etcd all the time does not fill it.

The real etcd runs with the manifest's own flags, but for addresses and waits for the disk, and
with a thirtieth of its room and of the time for which it keeps history: what takes minutes there
takes seconds here.
"""

import base64
import http.client
import json
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import yaml

from localcluster.machine import clock
from localcluster.machine.ports import claim_port
from localcluster.provision.binaries import ensure_binaries
from tests.live import patience
from tests.live.operated import CHECKOUT

MANIFEST = CHECKOUT / "manifests" / "elastic" / "etcd.yaml"
PART = 30
VALUE = base64.b64encode(b"v" * 6000).decode()
BYTES_PER_SECOND = 1_000_000
KEYS = 64
TIMES = 2.5
"""So many times the room is written."""


def flags() -> dict[str, str]:
    documents = yaml.safe_load_all(MANIFEST.read_text())
    (pod,) = [d["spec"]["template"]["spec"] for d in documents if d["kind"] == "StatefulSet"]
    command = pod["containers"][0]["command"]
    return dict(flag.removeprefix("--").split("=", 1) for flag in command[1:])


def room() -> int:
    return int(flags()["quota-backend-bytes"]) // PART


def command(folder: Path, client: int, peer: int) -> list[str]:
    """The manifest's etcd on this machine, with less room and a shorter memory."""
    minutes = int(flags()["auto-compaction-retention"].removesuffix("m"))
    own = flags() | {
        "name": "etcd",
        "data-dir": str(folder / "data"),
        "listen-client-urls": f"http://127.0.0.1:{client}",
        "advertise-client-urls": f"http://127.0.0.1:{client}",
        "listen-peer-urls": f"http://127.0.0.1:{peer}",
        "initial-advertise-peer-urls": f"http://127.0.0.1:{peer}",
        "initial-cluster": f"etcd=http://127.0.0.1:{peer}",
        "auto-compaction-retention": f"{minutes * 60 // PART}s",
        "quota-backend-bytes": str(room()),
        "unsafe-no-fsync": "true",  # of this machine's disk nothing is asked
    }
    return [str(ensure_binaries() / "etcd"), *(f"--{k}={v}" for k, v in own.items())]


@pytest.fixture
def etcd(tmp_path: Path) -> Iterator[http.client.HTTPConnection]:
    (client, one), (peer, other) = claim_port(), claim_port()
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(command(tmp_path, client, peer), stdout=log, stderr=log)
    try:
        with closing(
            http.client.HTTPConnection("127.0.0.1", client, timeout=patience.SECONDS)
        ) as connection:
            assert clock.wait_until(lambda: answers(connection), patience.SECONDS), (
                tmp_path / "log"
            ).read_text()
            yield connection
    finally:
        process.kill()
        process.wait()
        one.close()
        other.close()


def answers(etcd: http.client.HTTPConnection) -> bool:
    try:
        return put(etcd, 0) == ""
    except OSError:
        etcd.close()
        return False


def put(etcd: http.client.HTTPConnection, number: int) -> str:
    """Write one of the keys again; what etcd says against it."""
    key = base64.b64encode(f"/paddle/job/nodes/{number % KEYS}".encode()).decode()
    etcd.request("POST", "/v3/kv/put", json.dumps({"key": key, "value": VALUE}))
    answer = etcd.getresponse()
    text = answer.read().decode()
    return "" if answer.status == 200 else text


def test_it_stays_writable(etcd: http.client.HTTPConnection) -> None:
    """Never faster than that, also where the machine has stopped for a while."""
    for number in range(int(TIMES * room() / len(VALUE))):
        next_at = clock.monotonic() + len(VALUE) / BYTES_PER_SECOND
        assert put(etcd, number) == ""
        clock.sleep(max(0.0, next_at - clock.monotonic()))
