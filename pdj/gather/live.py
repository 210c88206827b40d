"""One job and its pods, kept up to date by watches."""

import threading

from api.constants import Phase
from api.objects import Raw
from kube.backoff import Backoff
from kube.client import Client, Query
from kube.clock import Clock
from kube.errors import ApiError, Forbidden
from pdj.errors import FAILED, OK, Problem, TimedOut
from pdj.facts.picture import JobPicture, pods_of
from pdj.gather.paths import core_path, jobs_path, of_job
from pdj.gather.watch import RETRY_SECONDS, Keeper


class LiveJob:
    """Watches a job, which need not exist yet, in a `with` block. Only one thread may read it."""

    def __init__(
        self, client: Client, namespace: str, name: str, clock: Clock, with_pods: bool = True
    ) -> None:
        self.changed = threading.Event()
        backoff = Backoff(clock, *RETRY_SECONDS)

        def keep(path: str, query: Query) -> Keeper:
            return Keeper(client, path, query, self.changed, clock, backoff)

        self._jobs = keep(jobs_path(namespace), {"fieldSelector": f"metadata.name={name}"})
        pods = {"labelSelector": of_job(name)}
        self._pods = keep(core_path(namespace, "pods"), pods) if with_pods else None

    def __enter__(self) -> "LiveJob":
        self._jobs.__enter__()
        if self._pods:
            self._pods.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._jobs.__exit__()
        if self._pods:
            self._pods.__exit__()

    def picture(self) -> JobPicture | None:
        """The current job and its pods; None if it does not exist or is not known yet.

        Raises ApiError after a refusal.
        """
        jobs = self._jobs.objects()
        try:
            pods = self._pods.objects() if self._pods else []
        except Forbidden as error:
            return JobPicture(jobs[0], (), error.message) if jobs else None
        if not jobs or pods is None:
            return None
        return JobPicture(jobs[0], pods_of(jobs[0], pods))

    @property
    def trouble(self) -> ApiError | None:
        """The present outage, or None. During an outage the picture can be old."""
        return self._jobs.trouble or (self._pods.trouble if self._pods else None)

    @property
    def is_known(self) -> bool:
        """Whether the API server has answered already."""
        try:
            pods = self._pods.objects() if self._pods else []
        except Forbidden:
            pods = []
        return self._jobs.objects() is not None and pods is not None


class Deadline:
    """When to stop waiting for a job, in seconds from now; None for never."""

    def __init__(self, seconds: float | None, job: str, clock: Clock | None = None) -> None:
        self._job = job
        self._clock = clock or Clock()
        self._seconds = seconds
        self._at = None if seconds is None else self._clock.monotonic() + seconds

    def wait(self, event: threading.Event, seconds: float) -> None:
        """Wait this long for the event, and clear it. Raises TimedOut at the deadline."""
        left = seconds
        if self._at is not None:
            left = self._at - self._clock.monotonic()
            if left <= 0:
                raise TimedOut(f"{self._job}: timed out after {self._seconds:g} s")
        self._clock.wait(event, min(left, seconds))
        event.clear()


def result_of(raw: Raw) -> int | None:
    """The exit code for the job's phase; None while it has not ended."""
    phase = (raw.get("status") or {}).get("phase")
    if phase == Phase.COMPLETED:
        return OK
    return FAILED if phase == Phase.FAILED else None


def gone(name: str) -> Problem:
    """The error for a job that disappears while it is shown."""
    return Problem(f"the job {name} has been deleted")
