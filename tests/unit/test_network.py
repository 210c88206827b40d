"""The network that a test process has for itself."""

import subprocess
import sys

import pytest

from tests.live.network import CLIENT_PORTS, PORT_RANGE

LOOK = """
import socket
from tests.live import network
try:
    network.leave()
except PermissionError:
    raise SystemExit("may not")
with socket.socket() as listener:
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    with socket.create_connection(listener.getsockname()) as client:
        print(listener.getsockname()[1], client.getsockname()[1])
"""


def test_clients_take_no_ports_of_pods() -> None:
    outside = PORT_RANGE.read_text()
    done = subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True)
    if "may not" in done.stderr:
        pytest.skip("this user may not make a network")
    first, last = CLIENT_PORTS
    assert all(first <= int(port) <= last for port in done.stdout.split()), done.stdout
    assert done.stdout, done.stderr
    assert PORT_RANGE.read_text() == outside
