"""Pure decisions: (job, children, now) -> plan. No threads, no client, no clock, no logger."""

from reconcile.model.plan import Observed, Plan, Settings
from reconcile.reconcile import reconcile

__all__ = ["Observed", "Plan", "Settings", "reconcile"]
