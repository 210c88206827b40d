"""The operator's own applier, without threads, over a world in memory."""

import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from api.constants import ATTEMPT_ENDS, FAILURE_REASONS
from api.objects import Raw
from controller.work.applier import Applier
from controller.work.memory import JobMemory
from kube.clock import Clock
from reconcile.model.plan import EmitEvent, Outcome
from tests.memory.builders import NOW
from tests.memory.client import Client

if TYPE_CHECKING:
    from tests.memory.world import World


def an_applier(client: Client, memory: JobMemory, recorder: "Recorder", metrics: Any) -> Applier:
    """One that writes everything in the caller's thread, in order."""
    applier = Applier(client, memory, recorder, metrics)  # type: ignore[arg-type]
    applier.close()
    applier._helpers = Inline()  # type: ignore[assignment]
    return applier


class StepClock(Clock):
    """The world's time."""

    def __init__(self, world: "World") -> None:
        self._world = world

    def now(self) -> datetime:
        return self._world.now

    def monotonic(self) -> float:
        return (self._world.now - NOW).total_seconds() + self._world.set_back_seconds

    def wait(self, event: threading.Event, seconds: float) -> bool:
        raise AssertionError("nobody waits in a world that a test moves")


class Inline:
    """Helpers that leave everything to the worker."""

    def map(self, do: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        return [do(item) for item in items]


class Recorder:
    """Keeps the Events of a world."""

    def __init__(self, world: "World") -> None:
        self._world = world

    def record(self, _job: Raw, event: EmitEvent) -> None:
        self._world.told.append(event)


class Counter:
    """Keeps what metrics are told of the jobs of a world."""

    def __init__(self, world: "World") -> None:
        self._world = world

    def record_outcome(
        self, _namespace: str, outcome: tuple[str, str, str, float | None, int]
    ) -> None:
        kind, _, reason, *_ = outcome
        known = {"failed": FAILURE_REASONS, "lost": ATTEMPT_ENDS}
        assert reason in known.get(kind, (reason,)), "a series that starts at one"
        self._world.counted.append(Outcome(*outcome))
