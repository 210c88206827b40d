"""Applies a plan: deletes, patches and creates children, then writes the status. Thread-safe.

If a pod that the plan assumes gone is alive, the cache lags and nothing is written. The status is
written even if a write of a child failed. Events and metrics come after the status that they
report. Creates are sent group by group, and within a group batch by batch. The creates of a batch
run in parallel. The first batch is one create, and batches double while they succeed. So a quota or
a webhook that refuses pods refuses one create, not a thousand.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from api.ownership import Owner
from api.status import MAX_MESSAGE_CHARACTERS
from controller.cache.store import Family, version_of
from controller.client.api import ApiClient
from controller.client.resources import PADDLE_JOB, POD
from controller.work.children import ChildWriter
from controller.work.events import EventRecorder
from controller.work.helpers import Helpers
from controller.work.log_keeper import LogKeeper
from controller.work.memory import JobMemory
from controller.work.result import Result
from kube.errors import AlreadyExists, ApiError, Conflict, Forbidden, Invalid, NoRight, NotFound
from metrics import Metrics
from reconcile.model.plan import Child, Create, Delete, Patch, Plan, Refusal

MAX_PARALLEL = 16
"""Helper threads that write children, for all workers together."""
MAX_BATCH = 32
"""The most writes in a batch: a small job's pods do not wait long behind a wide job's batch."""
MAX_CREATES = 500
"""The most creates in one pass."""
BACKLOGGED_CREATES = 16
"""The most creates in a pass while other jobs of the namespace wait for a worker."""
_CRD_IS_OLDER = "the CRD of PaddleJob drops fields of the status: apply the CRD of this release"
"""The error if a status write succeeds but changes nothing: the CRD lacks the written fields."""
_REFUSED = (Invalid, Forbidden, NotFound, AlreadyExists)

Item = TypeVar("Item")
Error = ApiError | None


@dataclass(frozen=True, slots=True)
class _Task:
    """A plan that one worker writes; the writes add to `result`."""

    owner: Owner
    family: Family
    plan: Plan
    result: Result = field(default_factory=Result)


class Applier:
    """Writes plans through one client, with helper threads that all workers share.

    `is_backlogged` says whether jobs of a namespace wait for a worker. Without a `keeper`, no logs
    are kept.
    """

    def __init__(
        self,
        client: ApiClient,
        memory: JobMemory,
        recorder: EventRecorder,
        metrics: Metrics,
        is_backlogged: Callable[[str], bool] = lambda _: False,
        keeper: LogKeeper | None = None,
    ) -> None:
        self._client = client
        self._children = ChildWriter(client, memory)
        self._memory = memory
        self._recorder = recorder
        self._metrics = metrics
        self._is_backlogged = is_backlogged
        self._keeper = keeper
        self._helpers = Helpers(MAX_PARALLEL, "apply")
        self._stop = threading.Event()

    def apply(self, owner: Owner, family: Family, plan: Plan) -> Result:
        """Apply the plan and return how it went; never raises an ApiError."""
        task = _Task(owner, family, plan)
        if not self._confirm_gone(task):
            return task.result
        self._delete_children(task)
        patched = self._patch_children(task)
        self._create_children(task)  # even if patches failed: perhaps Kueue's webhook is down
        for item, error in zip(plan.patches, patched, strict=True):
            _note(task.result, item, error)
        if self._write_status(task):
            self._report(task)
        return task.result

    def report(self, owner: Owner, family: Family, plan: Plan, result: Result) -> None:
        """Write only the plan's status and Events, and add the outcome to the result."""
        task = _Task(owner, family, plan, result)
        if self._confirm_gone(task) and self._write_status(task):
            self._report(task)

    def stop(self) -> None:
        """Start no more batches; writes in progress finish."""
        self._stop.set()

    def close(self) -> None:
        """Let the helper threads end after their writes in progress."""
        self._helpers.close()

    def _confirm_gone(self, task: _Task) -> bool:
        """Whether the API server confirms that the pods are gone; if not, notes an error."""
        for name in task.plan.verify_gone:
            error = self._children.confirm_gone(task.owner, POD, name)
            if error is not None:
                task.result.errors.append(error)
                return False
        return True

    def _may_go_on(self, result: Result) -> bool:
        failed = result.errors or result.refusals or result.is_hopeless
        return not failed and not self._stop.is_set()

    def _delete_children(self, task: _Task) -> None:
        for batch in _growing_batches([task.plan.deletes], first=MAX_PARALLEL):
            delete = partial(self._children.delete, task.owner)
            errors = self._helpers.map(delete, batch)
            for item, error in zip(batch, errors, strict=True):
                _note(task.result, item, error)
            if not self._may_go_on(task.result):
                return

    def _patch_children(self, task: _Task) -> list[Error]:
        return self._helpers.map(partial(self._children.patch, task.owner), task.plan.patches)

    def _create_children(self, task: _Task) -> None:
        result, create = task.result, partial(self._children.create, task.owner)
        for batch in _growing_batches(task.plan.creates, first=1):
            # Asked before each batch: other jobs can come during the pass of a wide job.
            is_backlogged = self._is_backlogged(task.owner.key.namespace)
            most = BACKLOGGED_CREATES if is_backlogged else MAX_CREATES
            left = most - len(result.created)
            result.is_partial = len(batch) > left
            if left <= 0 or not self._may_go_on(result):
                return
            part = batch[:left]
            run = map if is_backlogged or len(part) == 1 else self._helpers.map
            errors = run(create, part)
            for item, error in zip(part, errors, strict=True):
                _note(result, item, error)
            if result.is_partial:  # leave the rest to a later pass, even if no job waits now
                return

    def _write_status(self, task: _Task) -> bool:
        """Write the status; returns whether the stored status is now the plan's.

        The write fails if the job is not at the version that the plan was made from. To send the
        UID would not be enough: the status subresource of a custom resource ignores it, so a
        deleted job's status would reach a new job of the same name. If the plan moves the job to
        another state, a write that changes nothing is an error: it would be repeated forever.
        """
        if task.plan.status is None:
            return True
        key, result = task.owner.key, task.result
        version = {"resourceVersion": task.family.job["metadata"]["resourceVersion"]}
        patch = {**task.plan.status, "metadata": version}
        try:
            written = self._client.merge_patch(PADDLE_JOB.path(*key, "status"), patch)
        except (Conflict, NotFound):
            result.is_outdated = True
            return False
        except ApiError as error:
            result.errors.append(error)
            if isinstance(error, NoRight):
                self._memory.note_status_denied(key)
            return False
        if task.plan.is_move and version_of(written) == version_of(task.family.job):
            result.errors.append(ApiError(_CRD_IS_OLDER, reason="Dropped"))
            return False
        self._memory.await_written(key, PADDLE_JOB, written)
        self._memory.note_status_written(key, task.owner.uid)
        result.is_status_written = True
        return True

    def _report(self, task: _Task) -> None:
        for event in task.plan.events:
            self._recorder.record(task.family.job, event)
        for outcome in task.plan.outcomes:
            self._metrics.record_outcome(task.owner.key.namespace, outcome)
        if self._keeper and task.plan.keep_log:
            self._keeper.keep(task.owner, task.plan.keep_log)


def _note(result: Result, write: Create | Delete | Patch, error: ApiError | None) -> None:
    """Record how a write went: an error is a refusal if a retry alone cannot help."""
    is_delete, is_patch = isinstance(write, Delete), isinstance(write, Patch)
    child: Child = (write.kind, write.name) if isinstance(write, Create) else write.target.child
    if error is None:
        (result.deleted if is_delete else result.patched if is_patch else result.created).add(child)
        return
    if "NamespaceTerminating" in error.causes:
        result.is_hopeless = True
        return
    message = error.message[:MAX_MESSAGE_CHARACTERS]
    refusal = Refusal(
        *child, error.reason, message, error.code, is_delete, error.is_final, is_patch
    )
    if isinstance(error, _REFUSED):
        result.refusals.append(refusal)
    else:
        result.errors.append(error)
        result.failed = result.failed or refusal


def _growing_batches(groups: Iterable[Sequence[Item]], first: int) -> Iterator[Sequence[Item]]:
    """Batches of one group each. The size doubles with each batch, also from group to group."""
    size = first
    for group in groups:
        start = 0
        while start < len(group):
            yield group[start : start + size]
            start += size
            size = min(MAX_BATCH, size * 2)
