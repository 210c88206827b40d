"""Free TCP ports on 127.0.0.1 that no other local cluster on this machine will choose.

A port is claimed by binding an abstract socket of its name: the claim ends with its process,
leaves no file, and is as wide as the ports themselves, one network namespace. The range lies
below the one that the kernel takes client ports from.
"""

import random
import socket

FIRST_PORT = 20000
LAST_PORT = 29999
HOST = "127.0.0.1"


class Port:
    """A claimed port number; claimed until `release`."""

    def __init__(self, number: int, claim: socket.socket) -> None:
        self.number = number
        self._claim = claim

    def release(self) -> None:
        """Let others choose it."""
        self._claim.close()


def claim_port() -> Port:
    """Claim a port that nothing listens on."""
    for number in random.sample(range(FIRST_PORT, LAST_PORT + 1), LAST_PORT - FIRST_PORT + 1):
        port = _try_claim(number)
        if port is not None:
            return port
    raise OSError(f"no free port in {FIRST_PORT}-{LAST_PORT}")


def _try_claim(number: int) -> Port | None:
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        claim.bind(f"\0localcluster-port-{number}")
        with socket.socket() as listener:
            listener.bind((HOST, number))
    except OSError:
        claim.close()
        return None
    return Port(number, claim)
