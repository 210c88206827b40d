"""Merges the logs of a job's pods; each container gets a reader as soon as it has started."""

from collections.abc import Iterator
from dataclasses import dataclass

from api.constants import LABEL_ATTEMPT, LABEL_INDEX, LABEL_ROLE, TRAINER_CONTAINER
from api.objects import Raw, labels_of, name_of, uid_of
from api.trainer import container_status, has_started
from kube.client import Client
from pdj.errors import Problem
from pdj.gather.logs import LogReader, Wish
from pdj.gather.merge import Line, Merger, Source

MAX_LOGS = 256
"""The most logs read at the same time; each takes a connection and a thread."""


class NoLogs(Problem):
    """The logs cannot be read, and waiting for the job does not help."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which logs to read: None or empty means all, but an empty `container` means the trainer."""

    role: str = ""
    index: int | None = None
    attempt: int | None = None
    container: str = ""
    all_containers: bool = False


def choose(pods: list[Raw], choice: Choice) -> Iterator[tuple[Raw, Source]]:
    """The containers whose logs are wanted, with their pods."""
    for pod in pods:
        labels = labels_of(pod)
        index = _number(labels.get(LABEL_INDEX))
        attempt = _number(labels.get(LABEL_ATTEMPT))
        role = labels.get(LABEL_ROLE, "")
        if (
            choice.role in ("", role)
            and choice.index in (None, index)
            and choice.attempt in (None, attempt)
        ):
            for container in _containers(pod, choice):
                yield pod, Source(name_of(pod), uid_of(pod), role, index, attempt, container)


def _containers(pod: Raw, choice: Choice) -> list[str]:
    spec = pod.get("spec") or {}
    names = [str(each.get("name")) for each in spec.get("containers") or ()]
    inits = [str(each.get("name")) for each in spec.get("initContainers") or ()]
    if choice.all_containers:
        return [*inits, *names]
    if choice.container:
        return [name for name in [*inits, *names] if name == choice.container]
    return [TRAINER_CONTAINER] if TRAINER_CONTAINER in names else names[:1]


def _number(text: str | None) -> int:
    return int(text) if text is not None and text.isdecimal() else 0


class JobLog:
    """Reads a job's logs until the `with` block ends. Only one thread may use it."""

    def __init__(
        self,
        client: Client,
        namespace: str,
        wish: Wish,
        merger: Merger,
        choice: Choice | None = None,
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._wish = wish
        self._merger = merger
        self._choice = choice or Choice()
        self._readers: dict[Source, LogReader] = {}

    def __enter__(self) -> "JobLog":
        return self

    def __exit__(self, *_: object) -> None:
        self._merger.close()
        for reader in self._readers.values():
            reader.close()
        for reader in self._readers.values():
            reader.join()

    def follow(self, pods: list[Raw]) -> None:
        """Also read the logs of these pods. Raises NoLogs if more than MAX_LOGS would be open."""
        for pod, source in choose(pods, self._choice):
            reader = self._readers.get(source)
            if reader is not None:
                reader.pod_changed()
            elif has_started(container_status(pod, source.container)):
                self._start(source)

    def _start(self, source: Source) -> None:
        live = sum(not reader.is_done for reader in self._readers.values())
        if live >= MAX_LOGS:
            raise NoLogs(f"more than {MAX_LOGS} logs at once: choose by role, index or attempt")
        wish = self._wish
        reader = LogReader(self._client, self._namespace, source, self._merger, wish)
        self._readers[source] = reader
        reader.start()

    def take(self, seconds: float) -> list[Line]:
        """The next lines in order of time. Raises ApiError if the API server refused a log."""
        lines = self._merger.take(seconds)
        if not lines:
            for reader in self._readers.values():
                if reader.problem is not None:
                    raise reader.problem
        return lines

    @property
    def is_done(self) -> bool:
        """Whether every reader has finished and all lines have been taken."""
        return (
            all(reader.is_done for reader in self._readers.values()) and not self._merger.has_lines
        )

    @property
    def is_empty(self) -> bool:
        """Whether no log has been found."""
        return not self._readers
