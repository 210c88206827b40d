"""The end of a container's log, in one bounded read."""

from kube.client import Client
from kube.errors import TooLarge

READ_SECONDS = 5.0
"""A node that does not answer must not hold up the reader."""
MAX_BYTES = 64 << 10


def read_tail(
    client: Client, path: str, container: str, lines: int, max_bytes: int = MAX_BYTES
) -> bytes:
    """The last lines with their times. Raises TooLarge if they are longer than `max_bytes`."""
    query = {
        "container": container,
        "timestamps": "true",
        "tailLines": lines,
        "limitBytes": max_bytes,
    }
    log = client.read_log(path, query, READ_SECONDS)
    if len(log) >= max_bytes:
        raise TooLarge(f"the last line is longer than {max_bytes >> 10} KiB")
    return log
