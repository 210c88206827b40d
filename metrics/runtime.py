"""How the operator runs, under the names that controller-runtime and client-go use.

Dashboards and alerts made for operators in Go therefore work as they are. Labels are bounded:
the controller's name, a result, a verb, never an object. Every label value that is known
beforehand is set to zero at start, so that a rate() sees the first increase. Any thread may call.
"""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

CONTROLLER = "paddlejob"
RESULTS = ("success", "error", "requeue", "requeue_after")

_RECONCILE_BUCKETS = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7),
    *(0.8, 0.9, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5, 6, 7, 8, 9, 10),
    *(15, 20, 25, 30, 40, 50, 60),
)
_QUEUE_BUCKETS = tuple(10.0**exponent for exponent in range(-8, 4))


class ReconcileMetrics:
    """What the workers do."""

    def __init__(self, registry: CollectorRegistry) -> None:
        prefix = "controller_runtime"
        self._total = Counter(
            f"{prefix}_reconcile_total",
            "Reconciles per controller and result",
            ["controller", "result"],
            registry=registry,
        )
        self._errors = _counter(registry, f"{prefix}_reconcile_errors", "Reconciles that failed")
        self._terminal_errors = _counter(
            registry, f"{prefix}_terminal_reconcile_errors", "Failures that no retry can mend"
        )
        self._panics = _counter(
            registry, f"{prefix}_reconcile_panics", "Reconciles ended by an unexpected exception"
        )
        self._seconds = Histogram(
            f"{prefix}_reconcile_time_seconds",
            "Length of a reconcile",
            ["controller"],
            buckets=_RECONCILE_BUCKETS,
            registry=registry,
        ).labels(CONTROLLER)
        self._workers = _gauge(registry, f"{prefix}_max_concurrent_reconciles", "Worker threads")
        self._active = _gauge(registry, f"{prefix}_active_workers", "Worker threads at work")
        for result in RESULTS:
            self._total.labels(CONTROLLER, result)

    def set_workers(self, count: int) -> None:
        """How many worker threads there are."""
        self._workers.set(count)

    def started(self) -> None:
        """A worker begins a reconcile."""
        self._active.inc()

    def finished(self, result: str, seconds: float) -> None:
        """A worker ended a reconcile with one of RESULTS."""
        self._active.dec()
        self._seconds.observe(seconds)
        self._total.labels(CONTROLLER, result).inc()
        if result == "error":
            self._errors.inc()

    def refused(self) -> None:
        """The API server refused a child for good."""
        self._terminal_errors.inc()

    def panicked(self) -> None:
        """A reconcile raised an unexpected exception."""
        self._panics.inc()


class QueueMetrics:
    """What the work queue holds, and how long keys wait and are worked on."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._depth = _queue_gauge(registry, "depth", "Keys waiting")
        self._adds = _queue_counter(registry, "adds", "Keys added")
        self._retries = _queue_counter(registry, "retries", "Keys added again after an error")
        self._waited = _queue_histogram(registry, "queue_duration", "How long a key waited")
        self._worked = _queue_histogram(registry, "work_duration", "How long a key was worked on")
        self._unfinished = _queue_gauge(
            registry, "unfinished_work_seconds", "Seconds of work under way, summed over keys"
        )
        self._longest = _queue_gauge(
            registry, "longest_running_processor_seconds", "Seconds of the longest work under way"
        )

    def watch(self, depth: Callable[[], int], ages: Callable[[], list[float]]) -> None:
        """Ask at every scrape for the depth, and how many seconds each key has been worked on."""
        self._depth.set_function(depth)
        self._unfinished.set_function(lambda: sum(ages()))
        self._longest.set_function(lambda: max(ages(), default=0.0))

    def added(self) -> None:
        """A key entered the queue."""
        self._adds.inc()

    def retried(self) -> None:
        """A key is to come back after an error."""
        self._retries.inc()

    def waited(self, seconds: float) -> None:
        """A worker took a key that had waited so long."""
        self._waited.observe(seconds)

    def worked(self, seconds: float) -> None:
        """A worker is done with a key."""
        self._worked.observe(seconds)


class ClientMetrics:
    """What is asked of the API server, how old the watches are, and who leads."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._requests = Counter(
            "rest_client_requests_total",
            "Requests to the API server; the code is <error> where none came back",
            ["code", "method", "host"],
            registry=registry,
        )
        self._leader = Gauge(
            "leader_election_master_status",
            "1 on the leader, 0 on a standby",
            ["name"],
            registry=registry,
        )
        self._watch_age = Gauge(
            "paddlejob_watch_last_event_age_seconds",
            "Seconds since a watch last brought anything, bookmarks included",
            ["kind"],
            registry=registry,
        )
        self._ages: dict[str, list[Callable[[], float]]] = {}
        self._relists = Counter(
            "paddlejob_watch_relists_total",
            "Full lists, the first one included",
            ["kind"],
            registry=registry,
        )

        self._unreadable = Counter(
            "paddlejob_unreadable_objects_total",
            "Objects left out, in lists and watch events, because they could not be read",
            ["kind"],
            registry=registry,
        )

    def requested(self, code: int, method: str, host: str) -> None:
        """A request was answered with this HTTP status, 0 without an answer."""
        self._requests.labels(str(code) if code else "<error>", method, host).inc()

    def set_leader(self, name: str, is_leader: bool) -> None:
        """Whether this process holds the lease of this name."""
        self._leader.labels(name).set(int(is_leader))

    def watch_age(self, kind: str, age: Callable[[], float]) -> None:
        """Ask a watch of this kind for its age at every scrape; of several the oldest counts."""
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


def _counter(registry: CollectorRegistry, name: str, text: str) -> Counter:
    return Counter(f"{name}_total", text, ["controller"], registry=registry).labels(CONTROLLER)


def _gauge(registry: CollectorRegistry, name: str, text: str) -> Gauge:
    return Gauge(name, text, ["controller"], registry=registry).labels(CONTROLLER)


def _queue_counter(registry: CollectorRegistry, name: str, text: str) -> Counter:
    family = Counter(f"workqueue_{name}_total", text, ["name", "controller"], registry=registry)
    return family.labels(CONTROLLER, CONTROLLER)


def _queue_gauge(registry: CollectorRegistry, name: str, text: str) -> Gauge:
    family = Gauge(f"workqueue_{name}", text, ["name", "controller"], registry=registry)
    return family.labels(CONTROLLER, CONTROLLER)


def _queue_histogram(registry: CollectorRegistry, name: str, text: str) -> Histogram:
    family = Histogram(
        f"workqueue_{name}_seconds",
        text,
        ["name", "controller"],
        buckets=_QUEUE_BUCKETS,
        registry=registry,
    )
    return family.labels(CONTROLLER, CONTROLLER)
