"""Leader election by a Lease: only one of several operators writes.

Times are durations on this process's monotonic clock; the timestamps in the Lease are only for
people. A lease counts as expired when this process has seen no change in it for its duration, minus
a margin. A duration above one minute counts as one minute, because anyone who can write the lease
can write any duration.

    0 s            10 s                13 s to 15 s
    renewed ──────> renew deadline ────> another can lead
             writes  writes refused, this process ends

A renewal counts from when it was sent. Writes stop at the deadline, and a write in progress then
times out before the lease expires. After writes have stopped, they never start again in this
process: it sends no more renewals, and ignores a late answer to an earlier renewal. One thread runs
the election; any thread can call `write_seconds` and `is_led`.
"""

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from api.constants import OPERATOR_LABELS
from api.objects import Raw, format_micro_time
from controller.client.api import ApiClient
from controller.client.resources import LEASE
from controller.logs import Log
from kube.clock import Clock
from kube.errors import AlreadyExists, ApiError, Conflict, NotFound
from metrics import Metrics

LEASE_SECONDS = 15
RENEW_DEADLINE_SECONDS = 10.0
RENEW_PERIOD_SECONDS = 2.0
MAX_LEASE_SECONDS = 60.0
TAKEOVER_SECONDS = 10.0
"""After a lease has been expired for this long, nobody counts as the leader."""
MAX_TRANSITIONS = 2**31 - 1
"""The API server refuses a higher number: the field is an int32."""
STANDBY_PERIOD_SECONDS = 1.0
"""How often a standby reads the lease; it acquires a released one at the next read."""
PATIENCE_MARGIN_SECONDS = 2.0
"""A standby takes a lease this long before its duration is over. It sees a renewal up to a period
late, but must lead within the duration after the leader was killed. A leader that cannot renew the
lease has stopped writing by then.
"""
REQUEST_TIMEOUT_SECONDS = 3.0
"""The timeout of a request. After one that hangs, there is time for another before the deadline."""
RELEASE_SECONDS = 5.0
"""How long a failed release is retried. Without a release, the next leader waits for the expiry."""
RELEASE_PERIOD_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Candidate:
    """The lease, and a unique name of the process that wants it."""

    namespace: str
    name: str
    identity: str


class LeaderElector:
    """Acquires the lease, renews it, and releases it on a stop."""

    def __init__(
        self,
        client: ApiClient,
        candidate: Candidate,
        clock: Clock,
        metrics: Metrics,
        log: Log,
        on_lost: Callable[[], None],
    ) -> None:
        self._client = client
        self.candidate = self._me = candidate
        self._clock = clock
        self._metrics = metrics.client
        self._log = log.bind(lease=f"{candidate.namespace}/{candidate.name}")
        self._on_lost = on_lost
        self._stop = threading.Event()
        self.acquired = threading.Event()
        self._lock = threading.Lock()
        """Guards _renewed_at: once any thread has seen writes stopped, they never start again."""
        self._renewed_at: float | None = None
        # Written only by the election thread.
        self._lease: Raw = {}
        self._seen_version = ""
        self._expires_at = float("inf")
        """Infinite before the election begins: until then, another process counts as leader."""
        self._metrics.set_leader(candidate.name, False)

    def write_seconds(self) -> float:
        """Seconds for which this process is still allowed to write; 0 or less: it is not."""
        with self._lock:
            if self._renewed_at is None:
                return 0.0
            return self._renewed_at + RENEW_DEADLINE_SECONDS - self._clock.monotonic()

    @property
    def is_led(self) -> bool:
        """Whether any process leads, as far as we can see. True before the election begins."""
        return self.acquired.is_set() or self._seconds_to_expiry() > -TAKEOVER_SECONDS

    def run(self) -> None:
        """Wait for the lease, then keep it until stopped; calls `on_lost` if it cannot be kept."""
        self._expires_at = self._clock.monotonic()
        while not self._stop.is_set() and not self._attempt():
            self._clock.wait(self._stop, self._standby_seconds())
        if self._stop.is_set() and self._renewed_at is None:
            self._release()  # perhaps it is ours, and the answer to our write was lost
            return
        self._log.info("leading", identity=self._me.identity)
        self._metrics.set_leader(self._me.name, True)
        self.acquired.set()
        while not self._clock.wait(self._stop, min(RENEW_PERIOD_SECONDS, self.write_seconds())):
            if not self._keep():
                self._stop_writes()
                self._log.error("lease_lost", holder=self._holder())
                self._on_lost()
                return
        self._stop_writes()
        self._release()

    def stop(self) -> None:
        """Make `run` release the lease and return. The caller has ended all writes before."""
        self._stop.set()

    def _keep(self) -> bool:
        """Renew, unless writes have stopped; returns whether we still lead, even if it failed."""
        if self.write_seconds() <= 0:
            return False  # nothing is sent: a late renewal would delay the next leader
        return self._attempt() or (not self._is_anothers() and self.write_seconds() > 0)

    def _attempt(self) -> bool:
        """Try to acquire or renew; returns whether that succeeded in time."""
        try:
            return self._acquire_or_renew()
        except (Conflict, AlreadyExists):
            self._lease = {}  # someone else wrote it: read it before the next attempt
            return False
        except ApiError as error:
            self._lease = {}
            self._log.warning("lease_request_failed", error=error.message, reason=error.reason)
            return False

    def _acquire_or_renew(self) -> bool:
        if not self._is_mine():
            self._read()
            if self._is_anothers() and self._seconds_to_expiry() > 0:
                return False
        started = self._clock.monotonic()
        self._see(self._write(self._me.identity, LEASE_SECONDS))
        return self._note_renewal(started)

    def _note_renewal(self, sent_at: float) -> bool:
        """Record a renewal; returns False if writes have stopped meanwhile."""
        with self._lock:
            held_since = sent_at if self._renewed_at is None else self._renewed_at
            if self._clock.monotonic() >= held_since + RENEW_DEADLINE_SECONDS:
                return False
            self._renewed_at = sent_at
            return True

    def _read(self) -> None:
        try:
            self._see(self._client.get(LEASE.path(self._me.namespace, self._me.name)))
        except NotFound:
            self._lease = {}

    def _see(self, lease: Raw) -> None:
        if _version(lease) != self._seen_version:
            self._expires_at = self._clock.monotonic() + _patience_seconds(lease)
        self._seen_version = _version(lease)
        self._lease = lease

    def _write(self, holder: str, duration_seconds: int) -> Raw:
        lease = self._next_lease(holder, duration_seconds)
        if _version(self._lease):
            return self._client.replace(LEASE.path(self._me.namespace, self._me.name), lease)
        created = self._client.create(LEASE.path(self._me.namespace), lease)
        return {**lease, "metadata": created["metadata"]}

    def _next_lease(self, holder: str, duration_seconds: int) -> Raw:
        """The lease to write: the last version seen, with our changes; unknown fields stay."""
        now = format_micro_time(self._clock.now())
        spec: dict[str, Any] = dict(self._lease.get("spec") or {})
        if holder and spec.get("holderIdentity") != holder:
            spec["acquireTime"] = now
            transitions = int(spec.get("leaseTransitions") or 0) + 1
            spec["leaseTransitions"] = min(transitions, MAX_TRANSITIONS)
        spec["holderIdentity"] = holder
        spec["leaseDurationSeconds"] = duration_seconds
        spec["renewTime"] = now
        named = {"name": self._me.name, "namespace": self._me.namespace}
        metadata = dict(self._lease.get("metadata") or named)
        metadata["labels"] = {**(metadata.get("labels") or {}), **OPERATOR_LABELS}
        head = {"apiVersion": LEASE.api_version, "kind": LEASE.kind}
        return {**head, "metadata": metadata, "spec": spec}

    def _holder(self) -> str:
        return str((self._lease.get("spec") or {}).get("holderIdentity") or "")

    def _is_mine(self) -> bool:
        return self._holder() == self._me.identity

    def _is_anothers(self) -> bool:
        return self._holder() not in ("", self._me.identity)

    def _seconds_to_expiry(self) -> float:
        return self._expires_at - self._clock.monotonic()

    def _standby_seconds(self) -> float:
        """Seconds until the next check: a period, or less if the lease expires sooner."""
        period = STANDBY_PERIOD_SECONDS * random.uniform(0.8, 1.2)
        left = self._seconds_to_expiry() if self._is_anothers() else period
        return min(period, left) if left > 0 else period

    def _stop_writes(self) -> None:
        with self._lock:
            self._renewed_at = None
        self._metrics.set_leader(self._me.name, False)

    def _release(self) -> None:
        until, pause = self._clock.monotonic() + RELEASE_SECONDS, threading.Event()
        while not self._is_released():
            if self._clock.monotonic() >= until:
                return  # it expires by itself; the successor waits that long
            self._clock.wait(pause, RELEASE_PERIOD_SECONDS)

    def _is_released(self) -> bool:
        """Write that nobody holds the lease; returns whether it is no longer ours."""
        try:
            if not self._is_mine():
                self._read()
            if self._is_mine():
                self._write("", 1)
                self._log.info("lease_released")
        except ApiError as error:
            self._lease = {}
            self._log.warning("lease_not_released", error=error.message)
            return False
        return True


def _patience_seconds(lease: Raw) -> float:
    """How long a version of the lease can stay unchanged before it counts as expired."""
    written = float((lease.get("spec") or {}).get("leaseDurationSeconds") or 0)
    duration = min(written, MAX_LEASE_SECONDS)
    return max(duration - PATIENCE_MARGIN_SECONDS, min(duration, RENEW_DEADLINE_SECONDS))


def _version(lease: Raw) -> str:
    return str((lease.get("metadata") or {}).get("resourceVersion") or "")
