"""Carries a plan out: thin code that writes, in the order of the plan's fields.

Always: nothing is applied while a pod that the plan takes for gone lives, for then the cache lags;
the status is written even when a child could not be; Events and totals come after the
status that they report. Creates go out group by group and in parallel within a group, in batches
that double while they succeed, so that what a quota or a webhook refuses is asked for once and not
a thousand times. While other jobs wait for a worker, a pass writes one thing after the other and
creates a few children only: a wide job then takes little more of the API server than each small
one, and threads hand nothing over. Any worker may call.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from api.objects import uid_of
from controller.children import ChildWriter, Made, Owner
from controller.client import ApiClient
from controller.errors import AlreadyExists, ApiError, Conflict, Forbidden, Invalid, NotFound
from controller.events import EventRecorder
from controller.expectations import Expectations
from controller.refusals import Place
from controller.resources import PADDLE_JOB, POD, Resource
from controller.store import Family, key_of
from metrics import Metrics
from reconcile.plan import Create, Delete, Patch, Plan, Refusal

MAX_PARALLEL = 16
"""Threads that write children, for all workers together."""
MAX_BATCH = 32
"""Small enough that a wide job's batch does not stand long before a small job's pods."""
MAX_CREATES_PER_PASS = 500
MAX_CREATES_IN_CROWD = 16
"""After so many the job stands in line again."""
_REFUSED = (Invalid, Forbidden, NotFound, AlreadyExists)

T = TypeVar("T")
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Report:
    """What became of a plan.

    `error` is what to try again for, `failed` the create that met it, `refusals` what no retry
    mends. `is_partial` asks for another pass at once: the plan was longer than one pass may be.
    `is_outdated`: the job has changed since the plan was made, so its status was not written.
    """

    error: ApiError | None = None
    failed: Refusal | None = None
    refusals: tuple[Refusal, ...] = ()
    created: frozenset[Place] = frozenset()
    is_partial: bool = False
    is_status_written: bool = False
    is_outdated: bool = False


@dataclass(frozen=True, slots=True)
class Tools:
    """What every pass writes with."""

    client: ApiClient
    children: ChildWriter
    expectations: Expectations
    recorder: EventRecorder
    metrics: Metrics
    pool: ThreadPoolExecutor
    stop: threading.Event
    is_crowded: Callable[[], bool]


class Applier:
    """Writes plans through one client and one bounded pool of threads.

    `is_crowded` tells whether jobs wait for a worker.
    """

    def __init__(
        self,
        client: ApiClient,
        expectations: Expectations,
        recorder: EventRecorder,
        metrics: Metrics,
        is_crowded: Callable[[], bool] = lambda: False,
    ) -> None:
        self._tools = Tools(
            client,
            ChildWriter(client, expectations),
            expectations,
            recorder,
            metrics,
            ThreadPoolExecutor(MAX_PARALLEL, thread_name_prefix="apply"),
            threading.Event(),
            is_crowded,
        )

    def apply(self, family: Family, plan: Plan) -> Report:
        """Write what the plan asks for; never raises an ApiError."""
        return _Pass(self._tools, family, plan).run()

    def stop(self) -> None:
        """Begin no further batch; what is under way ends."""
        self._tools.stop.set()

    def close(self) -> None:
        """End the pool's threads, once no worker uses them."""
        self._tools.pool.shutdown(cancel_futures=True)


@dataclass(slots=True)
class _Pass:
    """One plan being written. One worker's."""

    tools: Tools
    family: Family
    plan: Plan
    errors: list[ApiError] = field(default_factory=list)
    failed: Refusal | None = None
    refusals: list[Refusal] = field(default_factory=list)
    created: set[Place] = field(default_factory=set)
    is_partial: bool = False
    is_outdated: bool = False
    is_hopeless: bool = False
    """The namespace is going: nothing can be created in it any more."""

    def run(self) -> Report:
        error = self._confirm_gone()
        if error is not None:
            return Report(error=error)
        self._delete_children()
        self._patch_children()
        self._create_children()
        is_status_true = self._write_status()
        if is_status_true:
            self._tell()
        if self.plan.delete_job and not self.errors:
            self._delete_job()
        return Report(
            next(iter(self.errors), None),
            self.failed,
            tuple(self.refusals),
            frozenset(self.created),
            self.is_partial,
            is_status_true and self.plan.status is not None,
            self.is_outdated,
        )

    @property
    def owner(self) -> Owner:
        return Owner(key_of(self.family.job), uid_of(self.family.job))

    def _confirm_gone(self) -> ApiError | None:
        """Why nothing may be applied: a pod that the plan takes for gone lives, or may live."""
        owner = self.owner
        for name in self.plan.verify_gone:
            error = self.tools.children.confirm_gone(owner, POD, name)
            if error is not None:
                return error
        return None

    def _may_go_on(self) -> bool:
        failed = self.errors or self.refusals or self.is_hopeless
        return not failed and not self.tools.stop.is_set()

    def _delete_children(self) -> None:
        owner, resource_of_uid = self.owner, self._resources()

        def delete(item: Delete) -> ApiError | None:
            resource = resource_of_uid.get(item.uid)
            return self.tools.children.delete(owner, resource, item) if resource else None

        for batch in _growing_batches([self.plan.deletes], first=MAX_PARALLEL):
            self.errors += filter(None, self._in_parallel(delete, batch))
            if not self._may_go_on():
                return

    def _patch_children(self) -> None:
        owner, resource_of_uid = self.owner, self._resources()

        def patch(item: Patch) -> ApiError | None:
            resource = resource_of_uid.get(item.uid)
            return self.tools.children.patch(owner, resource, item) if resource else None

        self.errors += filter(None, map(patch, self.plan.patches))

    def _create_children(self) -> None:
        owner = self.owner

        def create(item: Create) -> Made:
            return self.tools.children.create(owner, item)

        for batch in _growing_batches(self.plan.creates, first=1):
            is_crowded = self.tools.is_crowded()
            most = MAX_CREATES_IN_CROWD if is_crowded else MAX_CREATES_PER_PASS
            self.is_partial = len(self.created) >= most
            if self.is_partial or not self._may_go_on():
                return
            for made in self._in_parallel(create, batch):
                self._take(made)

    def _take(self, made: Made) -> None:
        """Tell what no retry mends from what one may mend."""
        error = made.error
        if error is None:
            self.created.add(made.place)
        elif error.has_cause("NamespaceTerminating"):
            self.is_hopeless = True
        else:
            refusal = Refusal(*made.place, error.reason, error.message, error.code)
            if isinstance(error, _REFUSED):
                self.refusals.append(refusal)
            else:
                self.errors.append(error)
                self.failed = refusal

    def _write_status(self) -> bool:
        """Whether the stored status is now what the plan says.

        Written only over the version that the plan was made from. A UID would not do: the status
        subresource of a custom resource ignores it, and the status of a deleted job would reach
        its namesake.
        """
        if self.plan.status is None:
            return True
        owner = self.owner
        version = {"resourceVersion": self.family.job["metadata"]["resourceVersion"]}
        path = PADDLE_JOB.path(*owner.key, "status")
        try:
            written = self.tools.client.merge_patch(path, {**self.plan.status, "metadata": version})
        except NotFound:
            return False
        except Conflict:
            self.is_outdated = True
            return False
        except ApiError as error:
            self.errors.append(error)
            return False
        self.tools.expectations.expect_written(owner.key, PADDLE_JOB, written)
        return True

    def _tell(self) -> None:
        for event in self.plan.events:
            self.tools.recorder.record(self.family.job, event)
        for outcome in self.plan.outcomes:
            self.tools.metrics.jobs.record(
                outcome.kind, outcome.mode, outcome.reason, outcome.seconds
            )

    def _delete_job(self) -> None:
        owner = self.owner
        try:
            self.tools.client.delete(PADDLE_JOB.path(*owner.key), owner.uid)
        except (NotFound, Conflict):
            return
        except ApiError as error:
            self.errors.append(error)
            return
        self.tools.expectations.expect_deleted(owner.key, PADDLE_JOB, owner.key.name, owner.uid)

    def _resources(self) -> dict[str, Resource]:
        """Of which kind, and at which version, each child is. A plan names the kind alone."""
        return {uid_of(obj): r for r, objects in self.family.children.items() for obj in objects}

    def _in_parallel(self, do: Callable[[Item], T], batch: Sequence[Item]) -> list[T]:
        """The results in order. The first runs here, so a batch of one costs no hand-over."""
        if self.tools.is_crowded():
            return [do(item) for item in batch]
        others = [self.tools.pool.submit(do, item) for item in batch[1:]]
        return [do(batch[0]), *(future.result() for future in others)]


def _growing_batches(groups: Iterable[Sequence[Item]], first: int) -> Iterator[Sequence[Item]]:
    """Batches of one group each; the size doubles from batch to batch, over the groups too."""
    size = first
    for group in groups:
        start = 0
        while start < len(group):
            yield group[start : start + size]
            start += size
            size = min(MAX_BATCH, size * 2)
