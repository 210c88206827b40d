"""The end of a container's log, in bounded reads."""

from collections.abc import Sequence

from kube.client import Client
from kube.errors import TooLarge

LOG_READ_SECONDS = 5.0
"""The longest time for one read, because a node that does not answer must not delay the others."""
MAX_TAIL_BYTES = 64 << 10


def read_tail(client: Client, path: str, container: str, counts: Sequence[int]) -> bytes:
    """The last lines with their times.

    Tries each number of lines in `counts`, and returns the first log that is shorter than 64 KiB.
    Raises TooLarge if none is.
    """
    query = {"container": container, "timestamps": "true", "limitBytes": MAX_TAIL_BYTES}
    for lines in counts:
        log = client.read_log(path, query | {"tailLines": lines}, LOG_READ_SECONDS)
        if len(log) < MAX_TAIL_BYTES:
            return log
    raise TooLarge(f"the last line is longer than {MAX_TAIL_BYTES >> 10} KiB")
