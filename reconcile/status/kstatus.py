"""The conditions Reconciling and Stalled, by which Flux, Helm 4 and kpt judge any resource.

They follow from the phase. They never cause a write, but are set in writes that happen anyway, so
an upgrade does not rewrite the statuses of settled jobs. Stalled means that the job has failed.
"""

from datetime import datetime

from api.constants import Condition, Phase
from api.status import JobStatus, new_condition

_SETTLED = (Phase.RUNNING, Phase.COMPLETING, Phase.COMPLETED, Phase.FAILED)


def with_kstatus(status: JobStatus, now: datetime) -> JobStatus:
    """The status with both conditions as the phase implies; unchanged for a job being deleted."""
    if status.phase == Phase.TERMINATING:
        return status
    is_under_way = status.phase not in _SETTLED
    reason, message = status.reason or status.phase, status.message
    condition = new_condition(Condition.RECONCILING, is_under_way, reason, message, now)
    status = status.with_condition(condition)
    failed = status.true_condition(Condition.FAILED)
    if failed is None:
        return status
    stalled = new_condition(Condition.STALLED, True, failed.reason, failed.message, now)
    return status.with_condition(stalled)
