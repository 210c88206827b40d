"""The network that a test process has for itself."""

import subprocess
import sys
from functools import cache

import pytest

from tests.live.network import CLIENT_PORTS, PORT_RANGE

LOOK = """
import os, socket
from tests.live import network

def place():
    return os.readlink("/proc/thread-self/ns/net")

outer = place()
try:
    network.leave()
except PermissionError:
    raise SystemExit("may not")
own = place()
with network.outside():
    print(outer, own, place())
with socket.socket() as listener:
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    with socket.create_connection(listener.getsockname()) as client:
        print(place(), listener.getsockname()[1], client.getsockname()[1])
"""


@cache
def look() -> list[str]:
    """What a process sees that has a network of its own; skips where there can be none."""
    done = subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True)
    if "may not" in done.stderr:
        pytest.skip("this user may not make a network")
    assert done.stdout, done.stderr
    return done.stdout.split()


def test_clients_take_no_ports_of_pods():
    outside = PORT_RANGE.read_text()
    first, last = CLIENT_PORTS
    ports = look()[4:]
    assert all(first <= int(port) <= last for port in ports), ports
    assert PORT_RANGE.read_text() == outside


def test_a_process_comes_back_to_the_network_that_it_has_left_for_a_while():
    outer, own, back, end = look()[:4]
    assert (outer, own) == (back, end)
    assert outer != own
