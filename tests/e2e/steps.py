"""Where the seconds of a return go: when its steps were seen, from the loss on."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from api.constants import LABEL_ATTEMPT
from localcluster.client.informer import Informer
from tests.live.lab import CORE, WAIT_SECONDS, Lab, Raw

LOST, TOLD, GONE = "a pod has failed or goes", "all are told to end", "all are gone"
MADE, PLACED = "all are made again", "all have an address"
ORDER = (LOST, TOLD, GONE, MADE, PLACED)
FIRST, SECOND = "1", "2"


class Steps:
    """Watches the pods of a namespace while one job loses a pod and comes back."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], float] = {}
        """When a step was first seen of a pod, by the step and the pod's UID."""

    @classmethod
    @contextmanager
    def watched(cls, lab: Lab) -> Iterator["Steps"]:
        """What happens while the block lasts."""
        seen = cls()
        path = f"{CORE}/namespaces/{lab.namespace}/pods"
        informer = Informer(lab.cluster.client, path, lambda _: None, seen._note)
        informer.start()
        try:
            assert informer.synced.wait(WAIT_SECONDS)
            yield seen
        finally:
            informer.stop()
            informer.join()

    def since(self, began: float) -> dict[str, float]:
        """Seconds from then until the first pod was lost, and until all had each other step."""
        times = {step: [at for (of, _), at in self._seen.items() if of == step] for step in ORDER}
        return {
            step: round((min if step == LOST else max)(at) - began, 2)
            for step, at in times.items()
            if at
        }

    def _note(self, kind: str, pod: Raw) -> None:
        for step in steps_of(kind, pod):
            self._seen.setdefault((step, pod["metadata"]["uid"]), time.monotonic())


def steps_of(kind: str, pod: Raw) -> Iterator[str]:
    """The steps that a pod has behind it; `kind` is that of the watch event."""
    metadata, status = pod["metadata"], pod.get("status", {})
    if metadata.get("labels", {}).get(LABEL_ATTEMPT) == FIRST:
        if status.get("phase") == "Failed" or "deletionTimestamp" in metadata:
            yield LOST
        if "deletionTimestamp" in metadata:
            yield TOLD
        if kind == "DELETED":
            yield GONE
    elif metadata.get("labels", {}).get(LABEL_ATTEMPT) == SECOND:
        yield MADE
        if status.get("podIP"):
            yield PLACED
