"""Watches all jobs, and notes when each was first seen in each state.

One thread reads; any may ask. Times are on the monotonic clock.
"""

import http.client
import json
import threading
from collections.abc import Callable, Iterable

from benchmarks.adapter import Adapter
from benchmarks.rest import Raw, Rest, RestError
from localcluster import clock

READ_SECONDS = 3600.0
TOUCHED = "any state"
"""What `wait` takes for the first state that an operator gives a job, whatever it is."""
REPORT_SECONDS = 5.0
Report = Callable[[str], None]


class JobWatch:
    """From `start` on; `stop` ends it."""

    def __init__(self, rest: Rest, adapter: Adapter) -> None:
        self._rest = rest
        self._adapter = adapter
        self._changed = threading.Condition()
        """Its lock guards _seen."""
        self._seen: dict[str, dict[str, float]] = {}
        self._is_stopped = False

    def start(self) -> None:
        """Watch from now on, until the process ends."""
        threading.Thread(target=self._run, name="job-watch", daemon=True).start()

    def stop(self) -> None:
        """Take nothing more in."""
        self._is_stopped = True

    def wait(
        self, names: Iterable[str], state: str, timeout_seconds: float, report: Report
    ) -> list[float]:
        """When each of the jobs was first in the state, waiting for all; raises TimeoutError."""
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

    def _run(self) -> None:
        while not self._is_stopped:
            try:
                self._watch()
            except (OSError, http.client.HTTPException, RestError, ValueError):
                clock.sleep(0.2)

    def _watch(self) -> None:
        """Until the watch ends. What the list shows may have come after the end of the last one."""
        listed = self._rest.get(f"{self._adapter.collection}?resourceVersion=0")
        now = clock.monotonic()
        for job in listed["items"]:
            self._note(job, now)
        version = listed["metadata"]["resourceVersion"]
        path = f"{self._adapter.collection}?watch=true&resourceVersion={version}"
        for line in self._rest.lines(path, READ_SECONDS):
            event = json.loads(line)
            if self._is_stopped or event["type"] == "ERROR":
                return
            self._note(event["object"], clock.monotonic())

    def _note(self, job: Raw, now: float) -> None:
        state = self._adapter.state(job)
        with self._changed:
            states = self._seen.setdefault(job["metadata"]["name"], {})
            if state and state not in states:
                states.setdefault(TOUCHED, now)
                states[state] = now
                self._changed.notify_all()
