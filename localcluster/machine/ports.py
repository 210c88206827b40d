"""Free TCP ports on 127.0.0.1 that no other local cluster on this machine will choose.

A port is claimed by binding an abstract socket whose name contains the port. The claim ends with
the process, leaves no file, and is valid in one network namespace, as a port is. The range is below
the kernel's usual client ports.
"""

import random
import socket

FIRST_PORT = 20000
LAST_PORT = 29999
HOST = "127.0.0.1"


def claim_port() -> tuple[int, socket.socket]:
    """Return a free port and its claim; closing the claim frees the port. Raises OSError."""
    for number in random.sample(range(FIRST_PORT, LAST_PORT + 1), LAST_PORT - FIRST_PORT + 1):
        if _is_free(number) and (claim := claim_name(f"localcluster-port-{number}")):
            return number, claim
    raise OSError(f"no free port in {FIRST_PORT}-{LAST_PORT}")


def claim_name(name: str) -> socket.socket | None:
    """Claim a name in the kernel's abstract socket namespace; None if another socket has it."""
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        claim.bind(f"\0{name}")
    except OSError:
        claim.close()
        return None
    return claim


def _is_free(number: int) -> bool:
    with socket.socket() as listener:
        return listener.connect_ex((HOST, number)) != 0
