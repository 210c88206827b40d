"""One job and its pods, kept up to date by watches."""

import threading
from collections.abc import Generator, Iterator
from contextlib import nullcontext

from api.objects import Raw, uid_of
from kube.client import Query
from kube.errors import ApiError, Forbidden
from pdj.errors import Problem, TimedOut
from pdj.facts.picture import JobPicture, has_ended, pods_of
from pdj.gather.jobs import Handle, look
from pdj.gather.paths import core_path, jobs_path, of_job
from pdj.gather.watch import Keeper

TICK_SECONDS = 1.0


class LiveJob:
    """Watches a job, which need not exist yet, in a `with` block. Only one thread may read it."""

    def __init__(self, handle: Handle, with_pods: bool = True) -> None:
        self.handle = handle
        self.changed = threading.Event()
        client, clock, namespace = handle.client, handle.clock, handle.namespace
        self._began_at = clock.monotonic() if handle.since is None else handle.since
        query: Query = {"fieldSelector": f"metadata.name={handle.name}"}
        self._jobs = Keeper(client, jobs_path(namespace), query, self.changed, clock)
        self._keepers = [self._jobs]
        if with_pods:
            path, query = core_path(namespace, "pods"), {"labelSelector": of_job(handle.name)}
            self._keepers.append(Keeper(client, path, query, self.changed, clock, self._jobs))

    def __enter__(self) -> "LiveJob":
        for each in self._keepers:
            each.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._keepers:
            each.__exit__()

    def picture(self) -> JobPicture | None:
        """The current job and its pods; None if it does not exist or is not known yet.

        Raises ApiError after a refusal.
        """
        jobs, (pods, problem) = self._jobs.objects(), self._read_pods()
        if not jobs or pods is None:
            return None
        return JobPicture(jobs[0], pods_of(jobs[0], pods), problem)

    def _read_pods(self) -> tuple[list[Raw] | None, str]:
        try:
            return self._keepers[1].objects() if len(self._keepers) > 1 else [], ""
        except Forbidden as error:
            return [], error.message

    @property
    def trouble(self) -> ApiError | None:
        """The present outage, or None. During an outage the picture can be old."""
        return next((each.trouble for each in self._keepers if each.trouble), None)

    @property
    def is_known(self) -> bool:
        """Whether the API server has answered already."""
        return self._jobs.objects() is not None and self._read_pods()[0] is not None

    def pictures(self, seconds: float) -> Iterator[JobPicture | None]:
        """The job, or None while there is none: at once, after each change, and each `seconds`.

        Raises TimedOut at the timeout.
        """
        while True:
            is_known, picture = self.is_known, self.picture()  # known before it is read
            if is_known or picture is not None:
                yield picture
            self.wait(seconds)

    def wait(self, seconds: float) -> None:
        """Wait this long for a change. Raises TimedOut at the timeout."""
        clock, timeout = self.handle.clock, self.handle.timeout
        if timeout is not None:
            left = self._began_at + timeout - clock.monotonic()
            if left <= 0:
                raise TimedOut(f"{self.handle.name}: timed out after {timeout:g} s")
            seconds = min(left, seconds)
        clock.wait(self.changed, seconds)
        self.changed.clear()


def pictures(
    handle: Handle, until_end: bool = True, at_each_tick: bool = False, with_pods: bool = True
) -> Generator[JobPicture]:
    """The job with its pods; `until_end`, again whenever it has changed, or `at_each_tick`, because
    ages grow. Raises Problem if there is no such job, or if it is deleted, and TimedOut.
    """
    shown: JobPicture | None = None
    is_seen = False  # by the watch, which can be behind
    with LiveJob(handle, with_pods) if until_end else nullcontext() as live:
        for picture in live.pictures(TICK_SECONDS) if live else (None,):
            if picture is None and is_seen:
                raise gone(handle.name)
            is_seen = picture is not None
            picture = picture or look(handle.client, handle.namespace, handle.name)
            if is_another(picture, shown):
                raise gone(handle.name)
            if at_each_tick or picture != shown:
                yield picture
            if has_ended(picture.raw):
                return
            shown = picture


def is_another(now: JobPicture, shown: JobPicture | None) -> bool:
    """Whether the job that was shown has been replaced by another of its name."""
    return shown is not None and uid_of(now.raw) != uid_of(shown.raw)


def gone(name: str) -> Problem:
    """The error for a job that disappears while it is shown."""
    return Problem(f"the job {name} has been deleted")
