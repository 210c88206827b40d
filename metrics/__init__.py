"""Every metric of the operator, and its recorders."""

from metrics.jobs import Census
from metrics.metrics import Metrics

__all__ = ["Census", "Metrics"]
