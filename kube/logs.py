"""The end of a container's log, in bounded reads."""

from collections.abc import Sequence

from kube.client import Client
from kube.errors import TooLarge

READ_SECONDS = 5.0
"""A node that does not answer must not hold up the reader."""
MAX_BYTES = 64 << 10


def read_tail(client: Client, path: str, container: str, counts: Sequence[int]) -> bytes:
    """The last lines with their times, as many as the first of these counts to fit into 64 KiB.

    Raises TooLarge if none does.
    """
    query = {"container": container, "timestamps": "true", "limitBytes": MAX_BYTES}
    for lines in counts:
        log = client.read_log(path, query | {"tailLines": lines}, READ_SECONDS)
        if len(log) < MAX_BYTES:
            return log
    raise TooLarge(f"the last line is longer than {MAX_BYTES >> 10} KiB")
