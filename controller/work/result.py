"""How a plan's writes went."""

from dataclasses import dataclass, field

from controller.client.errors import FormerJob
from kube.errors import ApiError, Throttled, Unreachable
from reconcile.model.plan import Child, Refusal

PERSISTENT_SECONDS = 5.0
"""After its writes have failed for this long, a job's status says why."""
SLOW_SECONDS = 5.0
"""A create that takes this long to fail delays creates of other jobs in its namespace."""


@dataclass(slots=True)
class Result:
    """How a plan went.

    A retry can fix `errors`; `failed` is the first write of a child with one of them. `refusals`
    last until somebody fixes their cause. `created`, `deleted` and `patched` are the successes.
    `is_partial`: the plan was too long for one pass, and the rest follows. `is_outdated`: the job
    has changed since the plan was made, or is gone, so its status was not written. `is_hopeless`:
    the namespace is being deleted, so nothing can be created. `is_status_written`: the plan's
    status was written. `seconds`: how long the writes took.
    """

    errors: list[ApiError] = field(default_factory=list)
    failed: Refusal | None = None
    refusals: list[Refusal] = field(default_factory=list)
    created: set[Child] = field(default_factory=set)
    deleted: set[Child] = field(default_factory=set)
    patched: set[Child] = field(default_factory=set)
    is_partial: bool = False
    is_outdated: bool = False
    is_hopeless: bool = False
    is_status_written: bool = False
    seconds: float = 0.0

    @property
    def is_answered(self) -> bool:
        """Whether a write was refused, or the first error is an answer that asks for no delay."""
        if self.refusals or not self.errors:
            return bool(self.refusals)
        error = self.errors[0]
        return error.retry_after is None and error.code > 0

    @property
    def slow_create(self) -> Refusal | None:
        """The create that failed, if the writes took long and no child was created or deleted.

        Else None. Also None if an error explains the time, for example Throttled.
        """
        if self.created or self.deleted or self.seconds < SLOW_SECONDS:
            return None
        known = (Throttled, Unreachable, FormerJob)
        if self.failed is None or self.failed.is_delete or self.failed.is_patch:
            return None
        return None if any(isinstance(each, known) for each in self.errors) else self.failed
