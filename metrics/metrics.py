"""All metrics of the operator on one registry, which the /metrics endpoint prints."""

from collections.abc import Callable

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client.exposition import choose_encoder

from metrics.jobs import Census, JobMetrics, StateCollector
from metrics.namespaces import NamespaceCensus, NamespaceMetrics
from metrics.runtime import ClientMetrics, QueueMetrics, ReconcileMetrics

# Otherwise every counter and histogram would have a `_created` series too.
prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]

Outcome = tuple[str, str, str, float | None, int]
"""The kind, mode, reason, seconds and GPUs of an outcome, as for `JobMetrics.record`."""
EVENT_DROPS = ("buffer_full", "rate_limited", "error")
"""Why an Event was not sent."""


class Metrics:
    """Every metric of one operator process, on its own registry, so that tests can use several."""

    def __init__(self) -> None:
        # Without auto_describe, registering a collector does not take a census.
        self._registry = CollectorRegistry(auto_describe=False)
        prometheus_client.ProcessCollector(registry=self._registry)
        prometheus_client.PlatformCollector(registry=self._registry)
        prometheus_client.GCCollector(registry=self._registry)
        self.reconcile = ReconcileMetrics(self._registry)
        self.queue = QueueMetrics(self._registry)
        self.client = ClientMetrics(self._registry)
        self.jobs = JobMetrics(self._registry)
        self._namespaces: NamespaceMetrics | None = None
        name, text = "paddlejob_events_dropped_total", "Events that were not sent"
        drops = Counter(name, text, ["cause"], registry=self._registry)
        self._events_dropped = {cause: drops.labels(cause) for cause in EVENT_DROPS}

        name, text = "paddlejob_build_info", "Always 1: the operator's release and revision"
        self._build = Gauge(name, text, ["version", "revision"], registry=self._registry)

    def describe_build(self, version: str, revision: str) -> None:
        """Set the metric that names this process's build."""
        self._build.labels(version, revision).set(1)

    def event_dropped(self, cause: str) -> None:
        """Count an Event that was dropped, for one of the causes in EVENT_DROPS."""
        self._events_dropped[cause].inc()

    def count_state(self, census: Callable[[], Census]) -> None:
        """Expose a census at every scrape from now on."""
        self._registry.register(StateCollector(census))

    def count_namespaces(self, census: Callable[[], NamespaceCensus]) -> None:
        """Also expose a census of the namespaces at every scrape from now on."""
        self._namespaces = NamespaceMetrics(census)
        self._registry.register(self._namespaces)

    def record_outcome(self, namespace: str, outcome: Outcome) -> None:
        """Count what has happened to a job of this namespace."""
        kind, mode, reason, seconds, gpus = outcome
        self.jobs.record(kind, mode, reason, seconds, gpus)
        if self._namespaces is not None:
            self._namespaces.record(namespace, kind, reason, seconds or 0.0, gpus)

    def exposition(self, accept: str) -> tuple[bytes, str]:
        """The metrics and their content type, in a format that the Accept header allows."""
        encoder, content_type = choose_encoder(accept)
        return encoder(self._registry), content_type
