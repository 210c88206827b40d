"""Merges the logs of a job's pods; each container gets a reader as soon as it has started."""

import math
from collections.abc import Iterable, Iterator

from api.constants import TRAINER_CONTAINER
from api.objects import Raw
from api.trainer import container_status, has_started
from pdj.errors import Problem
from pdj.facts.picture import JobPicture
from pdj.gather.fold import Fold
from pdj.gather.jobs import Handle
from pdj.gather.logs import ContainerLog, Wish
from pdj.gather.merge import LogLine, Merger, Source
from pdj.gather.pods import read_pod
from pdj.gather.watch import CLOSE_SECONDS

HOLD_SECONDS = 0.5
"""How long the lines of a log that is followed wait for those of others."""
MAX_LOGS = 256
"""The most logs read at the same time; each takes a connection and a thread."""


class NoLogs(Problem):
    """The logs cannot be read, and waiting for the job does not help."""


def choose(pods: Iterable[Raw], wish: Wish) -> Iterator[tuple[Raw, Source]]:
    """The containers whose logs are wanted, with their pods."""
    for raw in pods:
        pod = read_pod(raw)
        if (
            wish.role in ("", pod.role)
            and wish.index in (None, pod.index)
            and wish.attempt in (None, pod.attempt)
        ):
            for container in _containers(raw, wish):
                place = pod.role, pod.index, pod.attempt
                yield raw, Source(pod.name, pod.uid, *place, container)


def _containers(pod: Raw, wish: Wish) -> list[str]:
    spec = pod.get("spec") or {}
    names = [str(each.get("name")) for each in spec.get("containers") or ()]
    inits = [str(each.get("name")) for each in spec.get("initContainers") or ()]
    if wish.all_containers:
        return [*inits, *names]
    if wish.container:
        return [name for name in [*inits, *names] if name == wish.container]
    return [TRAINER_CONTAINER] if TRAINER_CONTAINER in names else names[:1]


class JobLog:
    """Reads a job's logs until the `with` block ends. Only one thread may use it."""

    def __init__(self, handle: Handle, wish: Wish) -> None:
        self._handle = handle
        self._wish = wish
        self._merger = Merger(handle.clock, HOLD_SECONDS if wish.follow else math.inf)
        self._readers: dict[Source, ContainerLog] = {}
        self._fold = Fold()

    def __enter__(self) -> "JobLog":
        return self

    def __exit__(self, *_: object) -> None:
        self._merger.close()
        for reader in self._readers.values():
            reader.close()
        clock, until = self._handle.clock, self._handle.clock.monotonic() + CLOSE_SECONDS
        for reader in self._readers.values():
            reader.join(max(0.0, until - clock.monotonic()))

    def follow(self, picture: JobPicture) -> None:
        """Also read the logs of these pods. Raises NoLogs if they cannot be read, or if more than
        MAX_LOGS logs would be open.
        """
        if picture.pods_problem:
            raise NoLogs(f"the pods cannot be read: {picture.pods_problem}")
        for pod, source in choose(picture.pods, self._wish):
            reader = self._readers.get(source)
            if reader is not None:
                reader.pod_changed()
            elif has_started(container_status(pod, source.container)):
                self._start(source)

    def _start(self, source: Source) -> None:
        live = sum(reader.is_alive() for reader in self._readers.values())
        if live >= MAX_LOGS:
            raise NoLogs(f"more than {MAX_LOGS} logs at once: choose by role, index or attempt")
        reader = ContainerLog(self._handle, source, self._merger, self._wish)
        self._readers[source] = reader
        reader.start()

    def take(self, seconds: float) -> list[LogLine]:
        """The next lines in order of time. Raises the ApiError or Problem of a reader."""
        lines = self._merger.take(seconds)
        if not lines:
            for reader in self._readers.values():
                if reader.problem is not None:
                    raise reader.problem
        return lines if self._wish.launcher_settings else [*self._fold.fold(lines)]

    @property
    def is_done(self) -> bool:
        """Whether every reader has finished and all lines have been taken."""
        is_read = not any(reader.is_alive() for reader in self._readers.values())
        return is_read and not self._merger.has_lines

    @property
    def is_empty(self) -> bool:
        """Whether no log has been found."""
        return not self._readers
