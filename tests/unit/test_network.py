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


BACK = """
import os
from tests.live import network
places = [os.readlink("/proc/thread-self/ns/net")]
try:
    network.leave()
except PermissionError:
    raise SystemExit("may not")
places.append(os.readlink("/proc/thread-self/ns/net"))
with network.outside():
    places.append(os.readlink("/proc/thread-self/ns/net"))
places.append(os.readlink("/proc/thread-self/ns/net"))
print(*places)
"""


def look(script: str) -> "subprocess.CompletedProcess[str]":
    """What a process sees that has a network of its own; skips where there can be none."""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    if "may not" in done.stderr:
        pytest.skip("this user may not make a network")
    assert done.stdout, done.stderr
    return done


def test_clients_take_no_ports_of_pods() -> None:
    outside = PORT_RANGE.read_text()
    first, last = CLIENT_PORTS
    ports = look(LOOK).stdout.split()
    assert all(first <= int(port) <= last for port in ports), ports
    assert PORT_RANGE.read_text() == outside


def test_a_process_comes_back_to_the_network_that_it_has_left_for_a_while() -> None:
    outer, own, back, end = look(BACK).stdout.split()
    assert (outer, own) == (back, end)
    assert outer != own
