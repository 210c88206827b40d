"""Every fault at every write of every story: `python -m tests.faults.explore`, or `make explore`.

A story is a job's life. At one of the operator's writes, the write is lost, refused, throttled or
not heard of, or the operator's process ends around it; or a single kind's watch falls behind: it is
so many seconds late, stops until it is listed anew, or is listed as of an earlier moment. The
leader stays, or ends there, and a standby with that watch leads after it. Each combination of
story, fault and write is a life of its own in memory. Whatever the fault, the invariants hold, and
the job ends as it did in the story without one, charged and restarted no more often than there.
"""

import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from itertools import product
from typing import NamedTuple

from api.objects import Raw, name_of
from controller.cache.store import Store
from controller.work.memory import AWAIT_SECONDS
from tests.faults.scenario import Scenario, Step
from tests.faults.stories import PAIR, STORIES, Story
from tests.memory.client import RESOURCES
from tests.memory.former import former_config_map, former_pods, former_status
from tests.memory.operator import WRITE_FAULTS, Killed, Operator
from tests.memory.world import World

BLIND = "stopped for longer"
STOPPED_SECONDS = {"stopped": 70.0, BLIND: AWAIT_SECONDS + 10}
"""A watch that is silent for 70 s is listed anew; a list may fail until no own write is awaited."""
NEW_LEADER_SECONDS = 35.0
"""How long a standby's watch has been stopped when it leads."""
OLD_SECONDS = 10.0
"""How old the moment is that a list shows again."""
BEHIND_SECONDS = {"3 s late": 3.0, "8 s late": 8.0, "30 s late": 30.0, "old list": OLD_SECONDS}
VIEWS = (*BEHIND_SECONDS, *STOPPED_SECONDS)
MAX_TICKS = 200
MAX_PASSES = 1000
"""In one moment, and shown changes among them; a story has a dozen."""
WATCHED_SECONDS = 30
"""After the last step; from then on ticks are longer."""
LONG_TICKS, LONG_TICK_SECONDS = 24, 5
"""Together longer than any watch stops."""
TOLD_EVERY = 1000


class Fault(NamedTuple):
    """Of the operator's write of this number, counted from 0, or of a watch from there on."""

    what: str
    write: int
    kind: str = ""
    """Of the watch; empty where the write itself fails."""
    has_new_leader: bool = False


class Case(NamedTuple):
    """A story, and what happens to its operator."""

    story: str
    fault: Fault


class LateOperator(Operator):
    """An operator whose watches keep up, until one of them falls behind."""

    def __init__(self, world: World, fault: Fault | None) -> None:
        self._fault = fault if fault and fault.kind else None
        self._began: datetime | None = None
        self._moments: list[tuple[datetime, int]] = []
        """Until when the world had how many changes."""
        self.writes = 0
        super().__init__(world)
        if fault and not fault.kind:
            self.faults += [*["ok"] * fault.write, fault.what]

    def note_write(self) -> None:
        """A write follows; the fault begins at one of them."""
        number, self.writes = self.writes, self.writes + 1
        if self._fault is None or number != self._fault.write:
            return
        self._began = self.world.now
        if self._fault.has_new_leader:
            raise Killed
        if self._fault.what == "old list":
            self.relist(self._fault.kind, self._position(OLD_SECONDS))

    def restart(self, is_warm: bool) -> None:
        """A standby leads, whose watches saw all but for the one that is behind, if one is."""
        if self._fault is None:
            super().restart(is_warm)
            return
        self._watch(Store(RESOURCES.values()))
        behind = BEHIND_SECONDS.get(self._fault.what, NEW_LEADER_SECONDS)
        for kind in RESOURCES:
            late = kind == self._fault.kind
            self.relist(kind, self._position(behind) if late else len(self.world.changes))
        self._begin(is_warm=True)

    def keep_up(self) -> None:
        """Each watch shows what it can by now, and passes follow until nothing is due."""
        for _ in range(MAX_PASSES):
            if not (self._show() or self.work()):
                break
        else:
            raise AssertionError("pass follows pass without end")
        self._moments.append((self.world.now, len(self.world.changes)))

    def _show(self) -> bool:
        late = self._fault.kind if self._fault and self._began else ""
        shown = [self.show(kind) for kind in RESOURCES if kind != late]
        return any([*shown, bool(late) and self._show_late()])

    def _show_late(self) -> bool:
        assert self._fault is not None and self._began is not None
        kind, before = self._fault.kind, self.seen[self._fault.kind]
        if self._fault.what not in BEHIND_SECONDS or self._fault.what == "old list":
            lasts = STOPPED_SECONDS.get(self._fault.what, OLD_SECONDS)
            if (self.world.now - self._began).total_seconds() >= lasts:
                self.relist(kind)
            return False
        return self.show(kind, until=max(before, self._position(BEHIND_SECONDS[self._fault.what])))

    def _position(self, seconds: float) -> int:
        then = self.world.now - timedelta(seconds=seconds)
        return max((count for moment, count in self._moments if moment <= then), default=0)


@dataclass
class Life(Scenario):
    """A story as it is lived, in ticks of a second."""

    fault: Fault | None = None
    _victims: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.operator: LateOperator = LateOperator(self.world, self.fault)
        self.world.before_write = self._note_write

    def live(self, story: Story) -> Raw:
        """The whole story; how the job ended, without a status where it is gone."""
        spec, *steps = deepcopy(story)
        self.do({"do": "inherit" if spec.pop("inherited", False) else "submit", "spec": spec})
        for step in (*steps, WATCHED_SECONDS):
            if isinstance(step, int):
                self._pass(step)
            else:
                self._await(step)
                self.do(step)
        for _ in range(LONG_TICKS):
            self._tick(LONG_TICK_SECONDS)
        if ("PaddleJob", "train") not in self.world.objects:
            return {}
        self.finish()
        return self.world.status()

    def do_inherit(self, spec: Raw) -> None:
        """A running job of the former operator."""
        self.do_submit(spec)
        for pod in former_pods(self.world.job()):
            self.world.put(pod)
            self.kubelet.bind(name_of(pod))
            self.kubelet.give_address(name_of(pod))
        pods = self.world.of_kind("Pod")
        addresses = {name_of(pod): pod["status"]["podIP"] for pod in pods}
        self.world.put(former_config_map(self.world.job(), addresses))
        status = former_status(self.world.job(), "Running", "running")
        self.world.change("PaddleJob", "train", lambda job: job.update(status=status))

    def _note_write(self, verb: str) -> None:
        self.operator.note_write()
        self.invariants.note_write(verb)

    def _pass(self, seconds: int) -> None:
        for _ in range(seconds):
            self._tick()

    def _tick(self, seconds: int = 1) -> None:
        self.operator.keep_up()
        self.invariants.check()
        if ("PaddleJob", "train") in self.world.objects:
            self._move_pods()
        self.world.advance(seconds)

    def _await(self, step: Step) -> None:
        """What ends a pod comes when it runs, and to no pod twice."""
        pod = step.get("pod") or (step.get("kind") == "Pod" and step["name"])
        for _ in range(MAX_TICKS):
            if not pod or self._is_new_and_runs(pod):
                return
            self._tick()
        raise AssertionError(f"{pod} never ran: {self.world.status()}")

    def _is_new_and_runs(self, pod: str) -> bool:
        if self._status(pod).get("phase") != "Running" or self.kubelet.uid(pod) in self._victims:
            return False
        self._victims.add(self.kubelet.uid(pod))
        return True


def cases(story: str) -> Iterator[Case]:
    """Every combination of a story, those of writes first.

    Without a list of jobs or Workloads older than one before: lists are read at the quorum, and an
    API server that is behind answers them late, or not. Nor are pods of a queued job left out for
    longer than own writes are awaited: it would give back the quota that they use.
    """
    calm = Life()
    calm.live(STORIES[story])
    for write, what in product(range(calm.operator.writes), WRITE_FAULTS):
        yield Case(story, Fault(what, write))
    for write, kind, what in product(range(calm.operator.writes), RESOURCES, VIEWS):
        for has_new_leader in (False, True):
            is_late_list = kind in ("PaddleJob", "Workload") and what == "old list"
            is_blind = "queue" in STORIES[story][0] and (kind, what) == ("Pod", BLIND)
            if not (is_late_list or is_blind):
                yield Case(story, Fault(what, write, kind, has_new_leader))


@cache
def calm_end(story: str) -> Raw:
    """How the story ends without a fault."""
    return Life().live(STORIES[story])


def violation(case: Case) -> str:
    """What does not hold in a case; empty where all does."""
    try:
        end, calm = Life(fault=case.fault).live(STORIES[case.story]), calm_end(case.story)
        assert end.get("phase") == calm.get("phase"), f"ended as {end.get('phase')}"
        # Who resumes on quota that was taken back unseen starts once more, uncharged.
        more = (case.fault.kind, case.fault.what) == ("Workload", BLIND)
        # So does a former operator's pod that began while its peer alone could be deleted.
        is_of_writes = not case.fault.kind and case.fault.write < PAIR["workers"]
        more |= is_of_writes and "inherited" in STORIES[case.story][0]
        for counter, spare in (("attempt", more), ("restartCount", more), ("failureCount", 0)):
            least, most = end.get(counter, 0), calm.get(counter, 0) + spare
            assert least <= most, f"{counter} is {least}, not {most}"
    except AssertionError as error:
        return str(error).partition("\n")[0]
    return ""


def explore(chosen: Sequence[Case]) -> Iterator[tuple[Case, str]]:
    """Each of these cases with its violation, as they are tried."""
    with ProcessPoolExecutor() as pool:
        yield from zip(chosen, pool.map(violation, chosen, chunksize=50), strict=True)


def main() -> int:
    """Try all; 1 where anything does not hold."""
    began, chosen = time.monotonic(), [case for story in STORIES for case in cases(story)]
    violations = 0
    for tried, (case, what) in enumerate(explore(chosen), 1):
        violations += bool(what)
        if what:
            sys.stdout.write(f"{case.story}: {case.fault}: {what}\n")
        if tried % TOLD_EVERY == 0 or tried == len(chosen):
            seconds = time.monotonic() - began
            sys.stdout.write(
                f"{tried:,} of {len(chosen):,} combinations in {seconds:.0f} s:"
                f" {violations} violations\n"
            )
        sys.stdout.flush()
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
