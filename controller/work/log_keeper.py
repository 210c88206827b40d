"""Saves the end of a failed pod's log before the pod is deleted, if the job asks for that.

This needs --progress. Thread-safe. The reads are limited to a rate. If a read fails or would exceed
the limit, the job continues without the log.
"""

from dataclasses import dataclass, field
from threading import BoundedSemaphore

from api.objects import uid_of
from api.ownership import Owner
from controller.client.api import ApiClient
from controller.client.resources import CONFIG_MAP, POD
from controller.logs import Log
from controller.workqueue.rate_limiter import TokenBucket
from kube.errors import ApiError
from kube.logs import read_tail
from reconcile.model.plan import KeepLog

LINES = (200, 40, 1)
"""How many lines to request; the next number if they are too long together."""
RATE, BURST = 5.0, 20
"""Logs read per second, and in a burst: a limit for when thousands of jobs fail."""
MAX_AT_ONCE = 2
"""How many workers can read at once. Nodes that do not answer cannot block more workers."""


@dataclass(frozen=True, slots=True)
class LogKeeper:
    """Reads logs and writes them to ConfigMaps."""

    client: ApiClient
    pace: TokenBucket
    log: Log
    slots: BoundedSemaphore = field(default_factory=lambda: BoundedSemaphore(MAX_AT_ONCE))

    def keep(self, owner: Owner, item: KeepLog) -> None:
        """Save a log, and delete an older one (`item.former`). Does nothing beyond the limits."""
        if self.slots.acquire(blocking=False):
            try:
                if self.pace.try_take():
                    self._keep(owner, item)
            finally:
                self.slots.release()

    def _keep(self, owner: Owner, item: KeepLog) -> None:
        try:
            body = item.build(self._read(owner, item))
            self.client.create(CONFIG_MAP.path(owner.key.namespace), body)
            self._drop(owner, item.former)
        except ApiError as error:
            job = "/".join(owner.key)
            self.log.warning("log_not_kept", job=job, pod=item.pod, error=error.message)

    def _read(self, owner: Owner, item: KeepLog) -> bytes:
        """The last lines, without their times."""
        path = POD.path(owner.key.namespace, item.pod, "log")
        log = read_tail(self.client, path, item.container, LINES)
        return b"\n".join(line.partition(b" ")[2] for line in log.split(b"\n"))

    def _drop(self, owner: Owner, name: str) -> None:
        path = CONFIG_MAP.path(owner.key.namespace, name)
        there = self.client.find(path) if name else None
        if there and owner.controls(there):
            self.client.delete(path, uid_of(there))
