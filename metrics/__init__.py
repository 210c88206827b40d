"""Every metric of the operator, and the classes that record them."""

from metrics.jobs import Census
from metrics.metrics import Metrics
from metrics.namespaces import NamespaceCensus

__all__ = ["Census", "Metrics", "NamespaceCensus"]
