"""A clock that is stepped, and an HTTP server that misbehaves as it is told.

The server answers from a script, one step a request, and keeps what it was sent. It knows nothing
of Kubernetes: what the real API server does is tested against the real one.
"""

import gc
import json
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, TypeVar

from controller.workqueue.queue import WorkQueue
from kube.clock import Clock
from metrics import Metrics
from tests.live import patience

T = TypeVar("T")
START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
MOST_KEPT = 200
"""Objects: an event that is forgotten a thousand times would leave more."""


class SteppedClock(Clock):
    """Stands still but for `step` and `wait`; a wait takes no real time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seconds = 0.0
        self.waits: list[float] = []

    def now(self) -> datetime:
        return START + timedelta(seconds=self.monotonic())

    def monotonic(self) -> float:
        with self._lock:
            return self._seconds

    def step(self, seconds: float) -> None:
        with self._lock:
            self._seconds += seconds

    def wait(self, event: threading.Event, seconds: float) -> bool:
        with self._lock:
            self.waits.append(seconds)
            if not event.is_set():
                self._seconds += seconds
        return event.is_set()


@dataclass(frozen=True)
class Seen:
    """A request as it came in."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


Step = Callable[[BaseHTTPRequestHandler], None]


class ScriptedServer:
    """Answers each request with the next step; the last step answers all that follow."""

    def __init__(self, *steps: Step) -> None:
        self.steps = list(steps)
        self.seen: list[Seen] = []
        self.released = threading.Event()
        self._lock = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # no 40 ms between a head and its body

            def answer(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                data = self.rfile.read(length)
                body = json.loads(data) if data else None
                self.seen = Seen(self.command, self.path, dict(self.headers), body)
                server.next_step(self.seen)(self)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

            def log_message(self, *_: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: Any) -> None:
                pass

            def get_request(self) -> Any:
                connection, address = super().get_request()
                server.connections.append(connection)
                return connection, address

        self.connections: list[socket.socket] = []
        self._http = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def next_step(self, seen: Seen) -> Step:
        with self._lock:
            self.seen.append(seen)
            return self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]

    def close(self) -> None:
        self.released.set()
        self._http.shutdown()
        for connection in self.connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
        self._http.server_close()
        self._thread.join()

    # Steps

    def hang(self, handler: BaseHTTPRequestHandler) -> None:
        """Say nothing until the end of the test."""
        self.released.wait(patience.SECONDS)
        handler.close_connection = True


def reply(code: int, body: Any = None, **headers: str) -> Step:
    """A whole answer; a body that is bytes goes out as it is."""
    data = body if isinstance(body, bytes) else json.dumps(body or {}).encode()

    def step(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(code)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    return step


def drop(handler: BaseHTTPRequestHandler) -> None:
    """Close the connection without a word."""
    handler.connection.shutdown(socket.SHUT_RDWR)
    handler.close_connection = True


Chunk = bytes | dict[str, Any]


def stream(*chunks: Chunk, more: Iterable[Chunk] = (), end: Step | None = None) -> Step:
    """A chunked answer; a dict is a watch event and its newline. Then `end`, or a proper end.

    Chunks of `more` may be a long time coming.
    """

    def step(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        for chunk in chain(chunks, more):
            data = chunk if isinstance(chunk, bytes) else json.dumps(chunk).encode() + b"\n"
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            handler.wfile.flush()
        if end is not None:
            end(handler)
        else:
            handler.wfile.write(b"0\r\n\r\n")

    return step


def status(code: int, reason: str, message: str = "no", **details: Any) -> dict[str, Any]:
    """The API server's Status object."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": message,
        "details": details,
    }


def an_open_queue(clock: Clock, metrics: Metrics, shared: int) -> WorkQueue:
    """A work queue as a leader has it."""
    queue = WorkQueue(clock, metrics.queue, shared)
    queue.open()
    return queue


@contextmanager
def ended(make: Callable[..., T], end: Callable[[T], object]) -> Iterator[Callable[..., T]]:
    """What the function makes is ended with the test, the last first."""
    with ExitStack() as stack:

        def make_and_end(*args: Any, **kwargs: Any) -> T:
            made = make(*args, **kwargs)
            stack.callback(end, made)
            return made

        yield make_and_end


@contextmanager
def nothing_kept_by(owner: object) -> Iterator[None]:
    """It comes to refer to no more than a few objects, however much is done."""
    before = count_kept(owner)
    yield
    assert count_kept(owner) - before < MOST_KEPT


def count_kept(owner: object) -> int:
    """How many objects it leads to, without code and what belongs to all of the process."""
    seen, front = {id(owner)}, [owner]
    while front:
        found = {id(each): each for each in gc.get_referents(*front) if not is_shared(each)}
        front = [each for key, each in found.items() if key not in seen]
        seen |= found.keys()
    return len(seen)


def is_shared(each: object) -> bool:
    """Whether it is code, or a table of code."""
    code = type | ModuleType | FunctionType | BuiltinFunctionType | CodeType
    return isinstance(each, code) or (isinstance(each, dict) and "__builtins__" in each)


def eventually(is_true: Callable[[], bool], what: str = "the condition") -> None:
    """Wait until it holds; fail after the deadline."""
    done = threading.Event()
    for _ in range(int(patience.SECONDS / 0.005)):
        if is_true():
            return
        done.wait(0.005)
    raise AssertionError(f"{what} did not come true in {patience.SECONDS} s")
