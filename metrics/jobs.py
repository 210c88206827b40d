"""Metrics of the jobs: `paddlejob_*`.

Totals and durations are recorded after the status write that they report, so that a write that
fails and is retried counts once. The gauges are computed from the store at every scrape, so they
cannot drift. No label's value is a name that a user chose. Thread-safe.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

MODES = ("PS", "Collective", "Heter", "Single")
_TO_RUNNING_BUCKETS = (0.5, 1, 2, 3, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600, 14400)
_TO_DETECTION_BUCKETS = (120, 150, 180, 240, 300, 600, 900, 960, 1200, 1800, 3600, 3720, 7200)
_HOUR, _DAY = 3600, 86400
_TO_COMPLETION_BUCKETS = (
    *(10, 30, 60, 300, 900, 1800),
    *(hours * _HOUR for hours in (1, 3, 6, 12)),
    *(days * _DAY for days in (1, 2, 4, 7, 14, 30)),
)
_SECONDS = {
    "running": "creation_to_running",
    "started": "start_to_running",
    "stalled": "stall_to_detection",
}
"""The histogram for each kind of outcome that has a duration and does not end a job."""
Counts = Mapping[tuple[str, str], float]


@dataclass(frozen=True, slots=True)
class Census:
    """The numbers at this moment: jobs by (phase, mode), pods by (role, phase).

    By (mode, reason), `waiting` counts jobs, and `waited_seconds` is the longest wait of a job; a
    stalled job counts as waiting. `gpus` are the accelerators of jobs that have not ended, by
    state: wanted, held and running.
    """

    jobs: Counts = field(default_factory=dict)
    pods: Counts = field(default_factory=dict)
    waiting: Counts = field(default_factory=dict)
    waited_seconds: Counts = field(default_factory=dict)
    gpus: Mapping[str, float] = field(default_factory=dict)


class JobMetrics:
    """Totals and durations of jobs, by mode."""

    def __init__(self, registry: CollectorRegistry) -> None:
        counter = partial(Counter, registry=registry)
        by_mode, by_reason = ["mode"], ["mode", "reason"]
        self._totals = {
            "created": counter("paddlejob_created_total", "Jobs seen for the first time", by_mode),
            "completed": counter("paddlejob_completed_total", "Jobs that ended well", by_mode),
        }
        text = "Attempts after a job's first, by the reason why the last one ended"
        self._restarted = counter("paddlejob_restarted_total", text, by_reason)
        self._failed = counter("paddlejob_failed_total", "Jobs that failed, by reason", by_reason)
        text = "Seconds without training, from the end of an attempt or its last checkpoint"
        self._lost = counter("paddlejob_lost_seconds_total", text, by_reason)
        text = "The same seconds, multiplied by the accelerators that the job asks for"
        self._lost_gpus = counter("paddlejob_lost_gpu_seconds_total", text, by_reason)
        self._seconds = {
            kind: Histogram(
                f"paddlejob_{kind}_seconds", text, by_mode, buckets=buckets, registry=registry
            )
            for kind, text, buckets in (
                ("creation_to_running", "From creation until all pods run", _TO_RUNNING_BUCKETS),
                (
                    "start_to_running",
                    "From status.startTime until all pods run",
                    _TO_RUNNING_BUCKETS,
                ),
                ("creation_to_completion", "From creation to the end", _TO_COMPLETION_BUCKETS),
                (
                    "stall_to_detection",
                    "From the last step or output until the stall was noticed",
                    _TO_DETECTION_BUCKETS,
                ),
            )
        }
        for mode in MODES:
            for family in (*self._totals.values(), *self._seconds.values()):
                family.labels(mode)

    def preset(self, failures: Iterable[str], losses: Iterable[str]) -> None:
        """Set counters to 0 for every mode and every reason why jobs fail or attempts end."""
        losses = tuple(losses)
        for family, reasons in (
            (self._failed, failures),
            (self._restarted, losses),
            (self._lost, losses),
            (self._lost_gpus, losses),
        ):
            for mode, reason in itertools.product(MODES, reasons):
                family.labels(mode, reason)

    def record(
        self, kind: str, mode: str, reason: str = "", seconds: float | None = None, gpus: int = 0
    ) -> None:
        """Count an outcome: created, running, started, completed, failed, restarted, lost, stalled.

        `seconds` is the time since the job's creation. For `started`, it is the time since the
        job's start; for `stalled`, since the last step or output; for `lost`, it is the time in
        which `gpus` accelerators did not train.
        """
        if kind == "lost":
            self._lost.labels(mode, reason).inc(seconds or 0.0)
            self._lost_gpus.labels(mode, reason).inc((seconds or 0.0) * gpus)
            return
        if kind == "failed":
            self._failed.labels(mode, reason).inc()
        elif kind == "restarted":
            self._restarted.labels(mode, reason).inc()
        elif kind in self._totals:
            self._totals[kind].labels(mode).inc()
        if seconds is not None:
            name = _SECONDS.get(kind, "creation_to_completion")
            self._seconds[name].labels(mode).observe(seconds)


class StateCollector(Collector):
    """Computes the gauges from a census, which is taken at every scrape."""

    def __init__(self, census: Callable[[], Census]) -> None:
        self._census = census

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """The metric families as of now."""
        census, waits = self._census(), ("mode", "reason")
        waited, gpus = census.waited_seconds, {(state,): n for state, n in census.gpus.items()}
        for name, text, labels, values in (
            ("jobs", "Jobs that exist", ("phase", "mode"), census.jobs),
            ("pods", "Pods that exist", ("role", "phase"), census.pods),
            ("waiting_jobs", "Jobs that wait or have stalled", waits, census.waiting),
            ("longest_wait_seconds", "The longest wait or stall of a job", waits, waited),
            ("gpus", "Accelerators of jobs: wanted, held with a node, running", ("state",), gpus),
        ):
            family = GaugeMetricFamily(f"paddlejob_{name}", text, labels=labels)
            for key, value in sorted(values.items()):
                family.add_metric(key, value)
            yield family
