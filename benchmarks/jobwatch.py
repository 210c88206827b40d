"""Watches all jobs, and notes when each was first seen in each state.

The informer's thread notes; any thread can call `wait`. Times are on the monotonic clock.
"""

import threading
from collections.abc import Iterable

from benchmarks.adapter import Adapter
from localcluster.client.informer import Informer
from localcluster.client.rest import Raw, ServerClient
from localcluster.machine import clock
from localcluster.machine.report import Report

TOUCHED = "any state"
"""Pass this to `wait` for the first state that an operator gives a job, whichever it is."""
REPORT_SECONDS = 5.0


class JobWatch(Informer):
    """Notes when each job was first in each state, from `start` to `stop`."""

    def __init__(self, client: ServerClient, adapter: Adapter) -> None:
        super().__init__(client, adapter.path, self.note_all, self.note)
        self._adapter = adapter
        self._changed = threading.Condition()
        """The condition's lock guards _seen."""
        self._seen: dict[str, dict[str, float]] = {}

    def wait(
        self, names: Iterable[str], state: str, timeout_seconds: float, report: Report
    ) -> list[float]:
        """Wait until all jobs were in the state; returns each one's time. Raises TimeoutError."""
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
        """Note all jobs of a list: the informer's first one, or one after a watch has ended."""
        for job in jobs:
            self.note("ADDED", job)

    def note(self, _: str, job: Raw) -> None:
        """Note the job's state if it is new. The first argument, the type of event, is not used."""
        now, state = clock.monotonic(), self._adapter.state(job)
        with self._changed:
            states = self._seen.setdefault(job["metadata"]["name"], {})
            if state and state not in states:
                states.setdefault(TOUCHED, now)
                states[state] = now
                self._changed.notify_all()
