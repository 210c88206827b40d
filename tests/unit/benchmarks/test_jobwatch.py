"""No state is missed, whatever becomes of the watch."""

import http.client
import json
from collections.abc import Iterator
from typing import Any, cast

import pytest

from benchmarks.adapter import Adapter
from benchmarks.jobwatch import TOUCHED, JobWatch
from benchmarks.rest import Rest, RestError

Job = dict[str, Any]


def a_job(name: str, phase: str = "") -> Job:
    """A job in a phase."""
    return {"metadata": {"name": name}, "status": {"phase": phase}}


class Rounds:
    """A server's answers: in each round a list, then the events or the failure of a watch.

    After the last round the watch is told to stop, so that `run` returns.
    """

    def __init__(self, *rounds: tuple[list[Job], list[Job] | Exception]) -> None:
        self._rounds = list(rounds)
        self._watched: list[Job] | Exception = []
        self.versions: list[str] = []
        self.watch = JobWatch(cast(Rest, self), Adapter())

    def run(self) -> JobWatch:
        """Answer everything in this thread."""
        self.watch._run()
        return self.watch

    def get(self, path: str) -> Any:
        """The next round's list, or a page of it where no more is asked for."""
        items, self._watched = self._rounds.pop(0)
        shown = items[:1] if "limit=1" in path else items
        return {"metadata": {"resourceVersion": str(len(self._rounds))}, "items": shown}

    def lines(self, path: str, _: float) -> Iterator[bytes]:
        """The round's events, then the end of the watch."""
        self.versions.append(path.rpartition("=")[2])
        watched = self._watched
        if not isinstance(watched, Exception):
            for job in watched:
                yield json.dumps({"type": "MODIFIED", "object": job}).encode()
        if not self._rounds:
            self.watch.stop()
        if isinstance(watched, Exception):
            raise watched


def times(watch: JobWatch, state: str, *names: str) -> list[float]:
    """When the jobs were in the state, without any waiting."""
    return watch.wait(names, state, 0, lambda _: None)


@pytest.mark.parametrize(
    "failure",
    [
        pytest.param([], id="ended"),
        pytest.param(OSError("reset"), id="connection"),
        pytest.param(http.client.IncompleteRead(b""), id="broken answer"),
        pytest.param(RestError(410, "too old"), id="too old"),
        pytest.param(ValueError("half a line"), id="half a line"),
    ],
)
def test_what_happens_between_two_watches_is_noted(failure: list[Job] | Exception) -> None:
    gone_by = [a_job("a", "Running"), a_job("b", "Running"), a_job("c")]
    server = Rounds(([], failure), (gone_by, [a_job("c", "Running")]))
    a, b, c = times(server.run(), "Running", "a", "b", "c")
    assert a <= b <= c
    assert server.versions == ["1", "0"]


def test_a_list_does_not_make_a_state_later() -> None:
    running = a_job("a", "Running")
    server = Rounds(([], [running]), ([running], []))
    server.watch._note(running, 7.0)
    watch = server.run()
    assert times(watch, "Running", "a") == times(watch, TOUCHED, "a") == [7.0]
