"""Kubernetes Events about jobs, sent in the background.

A pass never waits for an Event and never fails because of one. `record` puts it into a bounded
buffer, from which one thread sends. Namespaces take turns. When the buffer is full, the namespace
with the most Events in it loses its newest. An Event that is dropped or cannot be sent is counted.
If an Event repeats within ten minutes, only the count of the first one is raised. A job can send 25
Events at once, and one every ten seconds after that. While jobs of a namespace wait for a worker,
its Events are deferred, by 30 s at most, to leave the API server's time to the starts of jobs. An
Event has the time at which it was recorded. If a write takes long, for example because a webhook
hangs, it is not retried, and nothing is sent for its namespace for a minute.
"""

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from cachetools import TTLCache

from api.objects import Raw, format_time, name_of, namespace_of, uid_of
from controller.client.api import ApiClient
from controller.client.errors import NotLeader
from controller.client.resources import EVENT, PADDLE_JOB, Resource
from controller.logs import Log
from controller.workqueue.rate_limiter import TokenBucket
from controller.workqueue.turns import Turns
from kube.clock import Clock
from kube.errors import ApiError, NotFound, Throttled, Transient
from metrics import Metrics
from reconcile.model.plan import EmitEvent

COMPONENT = "paddlejob-operator"
BUFFER_SIZE = 4096
SAME_SECONDS = 600.0
BURST_PER_JOB = 25
RATE_PER_JOB = 0.1
MESSAGE_CHARACTERS = 1024
"""The API server refuses longer messages."""
DEFER_SECONDS = 30.0
"""No Event is deferred longer."""
SLOW_SECONDS = 5.0
"""A write that takes this long is slow, because it delays the Events of all namespaces."""
REST_SECONDS = 60.0
"""How long nothing is sent for a namespace after a slow write."""
_LOOK_SECONDS = 0.1
_TRIES = 3
_MAX_SERIES = 4096
_MAX_NAMESPACES = 10_000


@dataclass(frozen=True, slots=True)
class _Note:
    """An Event to send. Equal notes are one Event that repeats.

    `at` is when it was recorded. Until `send_by`, on the monotonic clock, it can be deferred.
    """

    namespace: str
    job: str
    uid: str
    event: EmitEvent
    at: datetime = field(compare=False)
    send_by: float = field(compare=False)


class EventRecorder:
    """Buffers, merges and sends Events. Any thread can call `record`; one thread calls `run`."""

    def __init__(
        self,
        client: ApiClient,
        clock: Clock,
        metrics: Metrics,
        log: Log,
        is_backlogged: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._client = client
        self._clock = clock
        self._metrics = metrics
        self._log = log
        self._is_backlogged = is_backlogged
        self._stop = threading.Event()
        self._changed = threading.Condition()
        self._notes: Turns[_Note] = Turns()
        """The buffer, which the lock of _changed guards."""
        # Used only by the sending thread.
        now = clock.monotonic
        self._sent: TTLCache[_Note, tuple[str, int]] = TTLCache(_MAX_SERIES, SAME_SECONDS, now)
        """For each note that was sent: the name of its Event, and the Event's count."""
        self._budgets: TTLCache[str, TokenBucket] = TTLCache(_MAX_SERIES, SAME_SECONDS, now)
        self._resting: TTLCache[str, bool] = TTLCache(_MAX_NAMESPACES, REST_SECONDS, now)
        """Namespaces for which nothing is sent, because a write took long."""

    def record(self, job: Raw, event: EmitEvent) -> None:
        """Queue an Event about a job. If the buffer is full, this or another Event is dropped."""
        place = (namespace_of(job), name_of(job), uid_of(job))
        send_by = self._clock.monotonic() + DEFER_SECONDS
        note = _Note(*place, event, self._clock.now(), send_by)
        with self._changed:
            self._notes.add(note.namespace, note)
            is_full = len(self._notes) > BUFFER_SIZE
            if is_full:
                self._notes.drop()
            self._changed.notify()
        if is_full:
            self._metrics.event_dropped("buffer_full")

    def run(self) -> None:
        """Send until stopped. Then send the rest of the buffer, except for paused namespaces."""
        while (note := self._next()) is not None:
            self._deliver(note)

    def stop(self) -> None:
        """Make `run` send the buffered Events, without pauses between tries, and return."""
        self._stop.set()
        with self._changed:
            self._changed.notify()

    def _next(self) -> _Note | None:
        """Wait for the next note; None once stopped with nothing left that can be sent."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: len(self._notes) > 0 or self._stop.is_set())
                is_last = self._stop.is_set()
                namespace = self._next_turn_locked()
                if namespace is not None:
                    return self._notes.take(namespace)
            if is_last:
                return None
            self._clock.wait(self._stop, _LOOK_SECONDS)

    def _next_turn_locked(self) -> str | None:
        """The first namespace that can send now. A buffer that is half full defers nothing."""
        has_room = len(self._notes) < BUFFER_SIZE // 2
        for note in self._notes.firsts():
            is_deferred = has_room and self._is_deferred(note)
            if note.namespace not in self._resting and not is_deferred:
                return note.namespace
        return None

    def _is_deferred(self, note: _Note) -> bool:
        may_wait = self._clock.monotonic() < note.send_by and not self._stop.is_set()
        return may_wait and self._is_backlogged(note.namespace)

    def _deliver(self, note: _Note) -> None:
        new = TokenBucket(RATE_PER_JOB, BURST_PER_JOB, self._clock)
        budget = self._budgets.get(note.uid, new)
        self._budgets[note.uid] = budget  # put in again, to restart its time to live
        if not budget.try_take():
            self._metrics.event_dropped("rate_limited")
            return
        if note not in self._sent:
            about = {"job": f"{note.namespace}/{note.job}", "reason": str(note.event.reason)}
            self._log.info("job_event", **about, message=note.event.message)
        for _ in range(_TRIES):
            try:
                self._send_timed(note)
                return
            except (Throttled, Transient) as error:
                failure: ApiError = error
                if note.namespace in self._resting:
                    break
                seconds = error.retry_after or random.uniform(0.5, 1.5)
                self._clock.wait(self._stop, min(5.0, seconds))
            except ApiError as error:
                failure = error
                break
        self._metrics.event_dropped("error")
        if not (isinstance(failure, NotLeader) or "NamespaceTerminating" in failure.causes):
            self._log.warning("event_not_sent", reason=note.event.reason, error=failure.message)

    def _send_timed(self, note: _Note) -> None:
        """Send the note. If that takes SLOW_SECONDS, even with success, pause the namespace."""
        began = self._clock.monotonic()
        try:
            self._send(note)
        finally:
            if self._clock.monotonic() - began >= SLOW_SECONDS:
                self._resting[note.namespace] = True

    def _send(self, note: _Note) -> None:
        sent = self._sent.get(note)
        if sent is None or not self._raise_count(note, *sent):
            job = {"namespace": note.namespace, "name": note.job, "uid": note.uid}
            body = build_event(PADDLE_JOB, job, note.event, note.at)
            self._client.create(EVENT.path(note.namespace), body)
            self._sent[note] = (name_of(body), 1)

    def _raise_count(self, note: _Note, name: str, count: int) -> bool:
        """Raise the count of an Event; returns whether it still exists."""
        changes = {"count": count + 1, "lastTimestamp": format_time(note.at)}
        try:
            self._client.merge_patch(EVENT.path(note.namespace, name), changes)
        except NotFound:
            return False
        self._sent[note] = (name, count + 1)
        return True


def build_event(resource: Resource, place: dict[str, str], event: EmitEvent, now: datetime) -> Raw:
    """A new Event about the object of this namespace, name and UID.

    It is named as client-go names Events: the object's name, then a unique part.
    """
    name, at = (
        f"{place['name']}.{now.timestamp():.0f}{random.getrandbits(32):08x}",
        format_time(now),
    )
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": place["namespace"]},
        "involvedObject": {"apiVersion": resource.api_version, "kind": resource.kind, **place},
        "type": event.type,
        "reason": str(event.reason),
        "message": event.message[:MESSAGE_CHARACTERS],
        "source": {"component": COMPONENT},
        "reportingComponent": COMPONENT,
        "firstTimestamp": at,
        "lastTimestamp": at,
        "count": 1,
    }
