"""Kubernetes Events about jobs, sent in the background.

Reconciling never waits for an Event and never fails because of one. `record` puts it into a bounded
buffer, and a thread of its own sends it. An Event that does not fit or cannot be sent is dropped
and counted. One that repeats within ten minutes raises the count of the first. A job may send 25
Events at once, and one every ten seconds after that. While jobs wait for a worker, Events are
deferred, by 30 s at most, so that the API server's time goes into starts. An Event carries the time
at which it was recorded.
"""

import queue
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from cachetools import TTLCache

from api.objects import Raw, format_time, name_of, namespace_of, uid_of
from controller.client.api import ApiClient
from controller.client.errors import ApiError, NotFound, NotLeader, Throttled, Transient
from controller.client.resources import EVENT, PADDLE_JOB
from controller.clock import Clock
from controller.logs import Log
from controller.workqueue.rate_limiter import TokenBucket
from metrics import Metrics
from reconcile.plan import EmitEvent

COMPONENT = "paddlejob-operator"
BUFFER_SIZE = 4096
SAME_SECONDS = 600.0
BURST_PER_JOB = 25
RATE_PER_JOB = 0.1
MESSAGE_CHARACTERS = 1024
"""The API server refuses a longer one."""
DEFER_SECONDS = 30.0
"""No Event is deferred longer."""
_LOOK_SECONDS = 0.1
_TRIES = 3
_MAX_SERIES = 4096


@dataclass(frozen=True, slots=True)
class _Note:
    """An Event to send. Equal notes are one Event that repeats.

    `at` is when it was recorded; `send_by`, on the monotonic clock, until when it may be deferred.
    """

    namespace: str
    job: str
    uid: str
    event: EmitEvent
    at: datetime = field(compare=False)
    send_by: float = field(compare=False)


class EventRecorder:
    """Buffers, merges and sends. Any thread may record; one thread runs it."""

    def __init__(
        self,
        client: ApiClient,
        clock: Clock,
        metrics: Metrics,
        log: Log,
        is_backlogged: Callable[[], bool] = lambda: False,
    ) -> None:
        self._client = client
        self._clock = clock
        self._metrics = metrics
        self._log = log
        self._is_backlogged = is_backlogged
        self._stop = threading.Event()
        self._buffer: queue.Queue[_Note | None] = queue.Queue(BUFFER_SIZE)
        # The sending thread's own.
        self._sent: TTLCache[_Note, tuple[str, int]] = TTLCache(
            _MAX_SERIES, SAME_SECONDS, timer=clock.monotonic
        )
        """The name of the Event that a note became, and how often it has been noted."""
        self._budgets: TTLCache[str, TokenBucket] = TTLCache(
            _MAX_SERIES, SAME_SECONDS, timer=clock.monotonic
        )

    def record(self, job: Raw, event: EmitEvent) -> None:
        """Hand over an Event about a job; dropped when the buffer is full."""
        place = (namespace_of(job), name_of(job), uid_of(job))
        send_by = self._clock.monotonic() + DEFER_SECONDS
        try:
            self._buffer.put_nowait(_Note(*place, event, self._clock.now(), send_by))
        except queue.Full:
            self._metrics.event_dropped("buffer_full")

    def run(self) -> None:
        """Send until stopped, and then the rest of the buffer."""
        while (note := self._buffer.get()) is not None:
            self._defer(note)
            self._deliver(note)

    def stop(self) -> None:
        """Send what is buffered, without pauses between tries, and end."""
        self._stop.set()
        try:
            self._buffer.put_nowait(None)
        except queue.Full:
            self._buffer.get_nowait()
            self._buffer.put(None)

    def _defer(self, note: _Note) -> None:
        """Wait while jobs wait for a worker, but not until the buffer overflows."""
        while (
            self._buffer.qsize() < BUFFER_SIZE // 2
            and self._is_backlogged()
            and self._clock.monotonic() < note.send_by
            and not self._stop.is_set()
        ):
            self._clock.wait(self._stop, _LOOK_SECONDS)

    def _deliver(self, note: _Note) -> None:
        if not self._budget(note.uid).try_take():
            self._metrics.event_dropped("rate_limited")
            return
        for _ in range(_TRIES):
            try:
                self._send(note)
                return
            except (Throttled, Transient) as error:
                failure: ApiError = error
                seconds = error.retry_after if isinstance(error, Throttled) else None
                self._clock.wait(self._stop, min(5.0, seconds or random.uniform(0.5, 1.5)))
            except ApiError as error:
                failure = error
                break
        self._metrics.event_dropped("error")
        if not isinstance(failure, NotLeader):
            self._log.warning("event_not_sent", reason=note.event.reason, error=failure.message)

    def _send(self, note: _Note) -> None:
        sent = self._sent.get(note)
        if sent is None or not self._raise_count(note, *sent):
            self._create(note)

    def _create(self, note: _Note) -> None:
        # The name as every Event of a component has it: the object's and something unique.
        suffix = f"{note.at.timestamp():.0f}{random.getrandbits(32):08x}"
        name = f"{note.job}.{suffix}"
        self._client.create(EVENT.path(note.namespace), _build_event(note, name))
        self._sent[note] = (name, 1)

    def _raise_count(self, note: _Note, name: str, count: int) -> bool:
        """Whether the Event was still there."""
        changes = {"count": count + 1, "lastTimestamp": format_time(note.at)}
        try:
            self._client.merge_patch(EVENT.path(note.namespace, name), changes)
        except NotFound:
            return False
        self._sent[note] = (name, count + 1)
        return True

    def _budget(self, uid: str) -> TokenBucket:
        budget = self._budgets.get(uid)
        if budget is None:
            budget = TokenBucket(RATE_PER_JOB, BURST_PER_JOB, self._clock)
        self._budgets[uid] = budget
        return budget


def _build_event(note: _Note, name: str) -> Raw:
    at = format_time(note.at)
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": note.namespace},
        "involvedObject": {
            "apiVersion": PADDLE_JOB.api_version,
            "kind": PADDLE_JOB.kind,
            "namespace": note.namespace,
            "name": note.job,
            "uid": note.uid,
        },
        "type": note.event.type,
        "reason": str(note.event.reason),
        "message": note.event.message[:MESSAGE_CHARACTERS],
        "source": {"component": COMPONENT},
        "reportingComponent": COMPONENT,
        "firstTimestamp": at,
        "lastTimestamp": at,
        "count": 1,
    }
