"""Watches all jobs, and notes when each was first seen in each state.

One thread reads; any may ask. Times are on the monotonic clock.
"""

import threading
from collections.abc import Iterable

from benchmarks.adapter import Adapter
from localcluster.client.informer import Informer
from localcluster.client.rest import Client, Raw
from localcluster.machine import clock
from localcluster.machine.report import Report

TOUCHED = "any state"
"""What `wait` takes for the first state that an operator gives a job, whatever it is."""
REPORT_SECONDS = 5.0


class JobWatch(Informer):
    """Notes when each job was first in each state, from `start` to `stop`."""

    def __init__(self, client: Client, adapter: Adapter) -> None:
        super().__init__(client, adapter.path, self.note_all, self.note)
        self._adapter = adapter
        self._changed = threading.Condition()
        """Its lock guards _seen."""
        self._seen: dict[str, dict[str, float]] = {}

    def wait(
        self, names: Iterable[str], state: str, timeout_seconds: float, report: Report
    ) -> list[float]:
        """Wait until all jobs were in the state; returns when each first was. May time out."""
        deadline = clock.monotonic() + timeout_seconds
        wanted = left = list(names)
        reported = clock.monotonic()
        with self._changed:
            while left := [name for name in left if state not in self._seen.get(name, {})]:
                now = clock.monotonic()
                if now > deadline:
                    raise TimeoutError(f"{len(left)} jobs are not {state}, such as {left[0]}")
                if now - reported > REPORT_SECONDS:
                    reported = now
                    report(f"{len(wanted) - len(left)} of {len(wanted)} are {state}")
                self._changed.wait(0.5)
            return [self._seen[name][state] for name in wanted]

    def note_all(self, jobs: list[Raw]) -> None:
        """Take a list of the informer's, perhaps after its last watch ended."""
        for job in jobs:
            self.note("ADDED", job)

    def note(self, _: str, job: Raw) -> None:
        """Take a change that the informer has seen."""
        now, state = clock.monotonic(), self._adapter.state(job)
        with self._changed:
            states = self._seen.setdefault(job["metadata"]["name"], {})
            if state and state not in states:
                states.setdefault(TOUCHED, now)
                states[state] = now
                self._changed.notify_all()
