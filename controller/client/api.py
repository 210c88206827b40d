"""The operator's requests: writes only while it holds the Lease, and all are counted for metrics.

`kube.client` describes the guarantees for every request. Lists and watches can be answered in
protobuf. Thread-safe: the threads of one client share its connections.
"""

from collections.abc import Callable, Iterator

from api.objects import Raw
from controller.client import protobuf
from controller.client.errors import NotLeader
from kube import client
from kube.client import JSON, MERGE_PATCH, Connection, Query, read_parts
from kube.http import Response, Stream, Timeouts
from kube.parsing import dump_json, parse_json
from metrics import Metrics

USER_AGENT = "paddlejob-operator"
CONNECT_TIMEOUT_SECONDS = 3.0
READ_TIMEOUT_SECONDS = 10.0
LIST_READ_TIMEOUT_SECONDS = 60.0
METADATA_ONLY = f"{JSON};as=PartialObjectMetadata;g=meta.k8s.io;v=v1,{JSON}"
"""The format of answers to writes: only names and versions are needed, and a pod is large."""
UNCHECKED: Query = {"fieldValidation": "Ignore"}
"""No warnings about unknown fields: nobody reads them, and they cost a tenth of a create's time."""


class ApiClient(client.Client):
    """Requests on one pool of connections.

    `pool_size` is the number of threads that use the client at once. `write_seconds` returns for
    how long writes are still allowed, infinite without leader election. After that time, a write
    raises NotLeader.
    """

    def __init__(
        self,
        connection: Connection,
        metrics: Metrics,
        pool_size: int,
        write_seconds: Callable[[], float] = lambda: float("inf"),
        read_timeout_seconds: float = READ_TIMEOUT_SECONDS,
    ) -> None:
        timeouts = Timeouts(CONNECT_TIMEOUT_SECONDS, read_timeout_seconds)
        super().__init__(connection, pool_size, USER_AGENT, timeouts)
        self._list_seconds = LIST_READ_TIMEOUT_SECONDS
        self._requested = metrics.client.requested
        self._write_seconds = write_seconds

    def create(self, path: str, body: Raw, query: Query | None = UNCHECKED) -> Raw:
        """POST to a collection; returns the metadata of the object that the API server created."""
        target = self._url(path, query)
        return self._decode(self.send("POST", target, dump_json(body), accept=METADATA_ONLY))

    def ask(self, path: str, body: Raw) -> Raw:
        """POST a review, such as a TokenReview, which stores nothing; returns the whole answer."""
        return super().create(path, body)

    def merge_patch(self, path: str, body: Raw) -> Raw:
        """Apply a JSON merge patch (RFC 7386); returns the metadata of the patched object."""
        target, data = self._url(path), dump_json(body)
        return self._decode(self.send("PATCH", target, data, MERGE_PATCH, METADATA_ONLY))

    def _allowed_seconds(self) -> float:
        seconds = self._write_seconds()
        if seconds <= 0:
            raise NotLeader("not sent: the lease has run out")
        return seconds

    def _decode(self, response: Response) -> Raw:
        read = protobuf.decode if _is_protobuf(response.headers) else parse_json
        return read(response.body)


def read_events(stream: Stream) -> Iterator[Raw]:
    """Every event of a watch as it comes, from JSON or protobuf; raises as `read_parts` does."""
    if _is_protobuf(stream.headers):
        return map(protobuf.decode_event, read_parts(stream, protobuf.split_frames))
    return client.read_events(stream)


def _is_protobuf(headers: dict[str, str]) -> bool:
    return headers.get("content-type", "").startswith(protobuf.MEDIA_TYPE)
