"""The end of a container's log, in one bounded read."""

from collections.abc import Sequence

from kube.client import Client
from kube.errors import TooLarge

READ_SECONDS = 5.0
"""A node that does not answer must not hold up the reader."""
MAX_BYTES = 64 << 10


def read_tail(
    client: Client, path: str, container: str, counts: Sequence[int], max_bytes: int = MAX_BYTES
) -> bytes:
    """The last lines with their times: the first of these counts that fits into `max_bytes`.

    Raises TooLarge if none does.
    """
    query = {"container": container, "timestamps": "true", "limitBytes": max_bytes}
    for lines in counts:
        log = client.read_log(path, query | {"tailLines": lines}, READ_SECONDS)
        if len(log) < max_bytes:
            return log
    raise TooLarge(f"the last line is longer than {max_bytes >> 10} KiB")
