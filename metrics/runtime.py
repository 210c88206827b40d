"""Metrics of the operator itself, named as in controller-runtime and client-go.

Dashboards and alerts made for operators in Go therefore work as they are. Labels are bounded: no
value is an object's name. Every series whose labels are known beforehand is set to zero at start,
so that a rate() sees the first increase. Thread-safe.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.metrics import MetricWrapperBase

CONTROLLER = "paddlejob"
RESULTS = ("success", "error", "requeue", "requeue_after")

_RECONCILE_BUCKETS = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7),
    *(0.8, 0.9, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5, 6, 7, 8, 9, 10),
    *(15, 20, 25, 30, 40, 50, 60),
)
_QUEUE_BUCKETS = tuple(10.0**exponent for exponent in range(-8, 4))


Metric = TypeVar("Metric", bound=MetricWrapperBase)


@dataclass(frozen=True)
class _Maker:
    """Makes metrics with the label `controller`, which has one value: this controller's name."""

    registry: CollectorRegistry
    prefix: str
    labels: tuple[str, ...]

    def __call__(self, kind: type[Metric], name: str, text: str, **options: Any) -> Metric:
        family = kind(self.prefix + name, text, self.labels, registry=self.registry, **options)
        return family.labels(*(CONTROLLER for _ in self.labels))


class ReconcileMetrics:
    """The reconciles of the workers: their number, results and durations."""

    def __init__(self, registry: CollectorRegistry) -> None:
        make = _Maker(registry, "controller_runtime_", ("controller",))
        name, text = "controller_runtime_reconcile_total", "Reconciles per controller and result"
        results = Counter(name, text, ["controller", "result"], registry=registry)
        self._total = {result: results.labels(CONTROLLER, result) for result in RESULTS}
        self._errors = make(Counter, "reconcile_errors_total", "Reconciles that failed")
        text = "Length of a reconcile"
        self._seconds = make(Histogram, "reconcile_time_seconds", text, buckets=_RECONCILE_BUCKETS)
        self._active = make(Gauge, "active_workers", "Worker threads at work")
        self.started = self._active.inc
        """A worker begins a reconcile."""
        self.set_workers = make(Gauge, "max_concurrent_reconciles", "Worker threads").set
        """How many worker threads there are."""
        text = "Reconciles in which the API server refused to create or delete an object"
        self.refused = make(Counter, "terminal_reconcile_errors_total", text).inc
        """The API server has refused to create or delete a child."""
        text = "Reconciles ended by an unexpected exception"
        self.panicked = make(Counter, "reconcile_panics_total", text).inc
        """A reconcile raised an unexpected exception."""

    def finished(self, result: str, seconds: float) -> None:
        """A worker ended a reconcile with one of RESULTS."""
        self._active.dec()
        self._seconds.observe(seconds)
        self._total[result].inc()
        if result == "error":
            self._errors.inc()


class QueueMetrics:
    """The work queue's depth, how long keys wait in it, and how long workers process them."""

    def __init__(self, registry: CollectorRegistry) -> None:
        make = _Maker(registry, "workqueue_", ("name", "controller"))
        seconds = {"buckets": _QUEUE_BUCKETS}
        self._depth = make(Gauge, "depth", "Keys that wait for a worker")
        self.added = make(Counter, "adds_total", "Keys added").inc
        """A key entered the queue."""
        self.retried = make(Counter, "retries_total", "Keys added again after an error").inc
        """A key will be added again after an error."""
        text = "How long a key waited for a worker, without the time of a delay or a rest"
        self.waited = make(Histogram, "queue_duration_seconds", text, **seconds).observe
        """A worker has taken a key that had waited for this many seconds."""
        text = "How long a key was worked on"
        self.worked = make(Histogram, "work_duration_seconds", text, **seconds).observe
        """A worker has finished with a key, after this many seconds."""
        text = "Seconds of work under way, summed over keys"
        self._unfinished = make(Gauge, "unfinished_work_seconds", text)
        text = "Seconds of the longest work under way"
        self._longest = make(Gauge, "longest_running_processor_seconds", text)

    def watch(self, depth: Callable[[], int], ages: Callable[[], list[float]]) -> None:
        """Read the depth, and how long each key has been worked on, at every scrape."""
        self._depth.set_function(depth)
        self._unfinished.set_function(lambda: sum(ages()))
        self._longest.set_function(lambda: max(ages(), default=0.0))


class ClientMetrics:
    """Requests to the API server, the age of the watches, and whether this process leads."""

    def __init__(self, registry: CollectorRegistry) -> None:
        counter, gauge = partial(Counter, registry=registry), partial(Gauge, registry=registry)
        text = "Requests to the API server; without an answer, the code is `<error>`"
        self._requests = counter("rest_client_requests_total", text, ["code", "method", "host"])
        text = "1 on the leader, 0 on a standby"
        self._leader = gauge("leader_election_master_status", text, ["name"])
        text = (
            "Other operators that lead at the same time, as the leader of all namespaces sees them"
        )
        self.set_rivals = gauge("paddlejob_other_leaders", text).set
        """This many other operators lead, of the same jobs or of some of them."""
        text = "How long this leader has waited for a new list of the jobs, since it got its lease"
        self.set_catch_up = gauge("paddlejob_leader_catch_up_seconds", text).set
        """A new leader has waited for this many seconds, and does not act yet."""
        text = "By how much this machine's clock is ahead of the API server's"
        self._clock_ahead = gauge("paddlejob_clock_ahead_seconds", text)
        text = "Seconds since a watch last received anything, including bookmarks"
        self._watch_age = gauge("paddlejob_watch_last_event_age_seconds", text, ["kind"])
        self._ages: dict[str, list[Callable[[], float]]] = {}
        text = "Full lists, including the first one"
        self._relists = counter("paddlejob_watch_relists_total", text, ["kind"])
        text = "Objects left out, in lists and watch events, because they could not be read"
        self._unreadable = counter("paddlejob_unreadable_objects_total", text, ["kind"])

    def requested(self, code: int, method: str, host: str) -> None:
        """Count a request, by the HTTP status of its answer; 0 means that there was no answer."""
        self._requests.labels(str(code) if code else "<error>", method, host).inc()

    def set_leader(self, name: str, is_leader: bool) -> None:
        """Record whether this process holds the lease of this name."""
        self._leader.labels(name).set(int(is_leader))

    def watch_clock(self, ahead: Callable[[], float]) -> None:
        """Call `ahead` at every scrape: how many seconds the clock is ahead."""
        self._clock_ahead.set_function(ahead)

    def watch_age(self, kind: str, age: Callable[[], float]) -> None:
        """Call `age` of a watch of this kind at every scrape; the metric shows the oldest watch."""
        self._relists.labels(kind)
        self._unreadable.labels(kind)
        ages = self._ages.setdefault(kind, [])
        ages.append(age)
        self._watch_age.labels(kind).set_function(lambda: max(each() for each in ages))

    def relisted(self, kind: str) -> None:
        """A full list of this kind was read."""
        self._relists.labels(kind).inc()

    def skipped(self, kind: str) -> None:
        """An object of this kind could not be read."""
        self._unreadable.labels(kind).inc()
