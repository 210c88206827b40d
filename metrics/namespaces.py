"""The metrics of each namespace, `paddlejob_namespace_*`: only with --metrics-by-namespace.

They have names of their own, so that sums over other metrics count nothing twice. The label is
`job_namespace`, because Prometheus sets `namespace` to the operator's. A series exists only while
its value is not zero, and each metric shows the MAX_NAMESPACES namespaces with the highest sums.
Thread-safe.
"""

import heapq
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

MAX_NAMESPACES = 200
MAX_COUNTED = 20_000
"""The most pairs of namespace and reason in one counter. Further pairs are not counted."""
LABEL = "job_namespace"
Pairs = Mapping[tuple[str, str], float]
"""Values by namespace and a second label."""
_COUNTERS = {
    "failed": "Jobs that failed",
    "restarted": "Attempts after the first",
    "lost_gpu_seconds": "Time without training, times the accelerators",
}


@dataclass(frozen=True, slots=True)
class NamespaceCensus:
    """The numbers at this moment: jobs by phase, GPUs by state, the longest wait by reason."""

    jobs: Pairs = field(default_factory=dict)
    gpus: Pairs = field(default_factory=dict)
    waited_seconds: Pairs = field(default_factory=dict)


class NamespaceMetrics(Collector):
    """Counts what happens, and takes a census at every scrape."""

    def __init__(self, census: Callable[[], NamespaceCensus]) -> None:
        self._census = census
        self._lock = threading.Lock()
        """Guards the counts."""
        self._counts: dict[str, dict[tuple[str, str], float]] = {name: {} for name in _COUNTERS}

    def record(self, namespace: str, kind: str, reason: str, seconds: float, gpus: int) -> None:
        """Count failed, restarted and lost, as `JobMetrics.record` does; ignore other kinds."""
        name, amount = ("lost_gpu_seconds", seconds * gpus) if kind == "lost" else (kind, 1.0)
        counts = self._counts.get(name)
        key = (namespace, reason)
        if counts is None or not amount:
            return
        with self._lock:
            if key in counts or len(counts) < MAX_COUNTED:
                counts[key] = counts.get(key, 0.0) + amount

    def collect(self) -> Iterable[CounterMetricFamily | GaugeMetricFamily]:
        """The metric families as of now."""
        census = self._census()
        for name, text, label, values in (
            ("jobs", "Jobs that exist", "phase", census.jobs),
            ("gpus", "Accelerators: wanted, held, running", "state", census.gpus),
            ("longest_wait_seconds", "Longest wait or stall", "reason", census.waited_seconds),
        ):
            gauge = GaugeMetricFamily(f"paddlejob_namespace_{name}", text, labels=[LABEL, label])
            for key, value in largest(values):
                gauge.add_metric(key, value)
            yield gauge
        for name, text in _COUNTERS.items():
            with self._lock:
                counted = dict(self._counts[name])
            labels = [LABEL, "reason"]
            family = CounterMetricFamily(f"paddlejob_namespace_{name}", text, labels=labels)
            for key, value in largest(counted):
                family.add_metric(key, value)
            yield family


def largest(values: Pairs) -> list[tuple[tuple[str, str], float]]:
    """The values that are not zero, of the MAX_NAMESPACES namespaces with the highest sums."""
    sums: dict[str, float] = {}
    for (namespace, _), value in values.items():
        sums[namespace] = sums.get(namespace, 0.0) + value
    few = set(heapq.nsmallest(MAX_NAMESPACES, sums, key=lambda name: (-sums[name], name)))
    return sorted((key, value) for key, value in values.items() if value and key[0] in few)
