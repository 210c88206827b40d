"""Whatever happens to a job, in whatever order: it comes to an end, and every invariant holds.

The state machine draws steps; `finish` then lets the faults stop and sees the job to its end. Most
sequences are the same in every run; some are drawn anew, by a seed that a failure names.
"""

import os
import random
from typing import Any

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.faults.scenario import Scenario
from tests.memory.client import RESOURCES

SEED = "FAULTS_SEED"
"""The environment variable that draws the same sequences again."""
CODES = (0, 1, 15, 101, 102, 137, 139, 143)
FAULTS = ("ok", "lost", "unheard", "not-leader", "throttled", "killed-before", "killed-after")
NAMES = ("train-ps-0", "train-worker-0", "train-worker-1", "train-worker-2", "train")
SHAPES: tuple[dict[str, Any], ...] = (
    {"ps": 1, "workers": 2},
    {"workers": 2},
    {"workers": 1},
    {"workers": 2, "onFailure": True},
    {"elastic": [2, 2, 3]},
    {"elastic": [2, 1, 3]},
)

specs = st.builds(
    lambda shape, **fields: {**shape, **{k: v for k, v in fields.items() if v is not None}},
    st.sampled_from(SHAPES),
    backoffLimit=st.sampled_from((None, 0, 1, 3)),
    intranet=st.sampled_from((None, "Service", "Host")),
    cleanPodPolicy=st.sampled_from((None, "Always", "Never", "OnFailure")),
    schedulingPolicy=st.sampled_from((None, None, {})),
    suspend=st.sampled_from((None, None, True)),
    activeDeadlineSeconds=st.sampled_from((None, None, 100, 5000)),
    startingDeadlineSeconds=st.sampled_from((None, None, 5000)),
)
troubles = st.sampled_from((None, {"verb": "refuse", "kind": "Pod"}, {"verb": "revoke"}))
"""What there is before the job."""
pods = st.integers(0, 3)
kinds = st.sampled_from(sorted(RESOURCES))


class Faults(RuleBasedStateMachine):
    """Random steps, the likely ones listed more than once by weight of their rules."""

    def __init__(self) -> None:
        super().__init__()
        self.scenario = Scenario()

    @initialize(spec=specs, trouble=troubles)
    def submit(self, spec: dict[str, Any], trouble: dict[str, Any] | None) -> None:
        if trouble:
            self._do(**trouble)
        self._do("submit", spec=spec)

    def teardown(self) -> None:
        if "PaddleJob" in {kind for kind, _ in self.scenario.world.objects}:
            self.scenario.finish()

    @rule(passes=st.integers(1, 4))
    def work(self, passes: int) -> None:
        self._do("work", passes=passes)

    @rule(kind=kinds, count=st.sampled_from((1, 2, None)))
    def show(self, kind: str, count: int | None) -> None:
        self._do("show", kind=kind, count=count)

    @rule()
    def catch_up_and_work(self) -> None:
        for kind in RESOURCES:
            self._do("show", kind=kind)
        self._do("work", passes=3)

    @rule()
    def run(self) -> None:
        self._do("run")

    @rule(index=pods, code=st.sampled_from(CODES))
    def end(self, index: int, code: int) -> None:
        self._do_to_pod("end", index, code=code)

    @rule(index=pods, verb=st.sampled_from(("place", "start", "reap", "readdress")))
    def move(self, index: int, verb: str) -> None:
        self._do_to_pod(verb, index)

    @rule(index=pods, verb=st.sampled_from(("evict", "vanish", "restart-in-place")))
    def disturb(self, index: int, verb: str) -> None:
        self._do_to_pod(verb, index)

    @rule(kind=st.sampled_from(("Pod", "ConfigMap", "Service", "PodGroup")), index=pods)
    def remove(self, kind: str, index: int) -> None:
        names = self.scenario.world.names(kind)
        if names:
            self._do("remove", kind=kind, name=names[index % len(names)])

    @rule(kind=st.sampled_from(("Pod", "ConfigMap", "Service")), name=st.sampled_from(NAMES))
    def intrude(self, kind: str, name: str) -> None:
        self._do("intrude", kind=kind, name=name)

    @rule()
    def retreat(self) -> None:
        self._do("retreat")

    @rule(limit=st.integers(0, 3))
    def edit_limit(self, limit: int) -> None:
        self._do("edit", backoffLimit=limit)

    @rule(suspend=st.booleans())
    def edit_suspend(self, suspend: bool) -> None:
        self._do("edit", suspend=suspend)

    @rule(policy=st.sampled_from(("Always", "Never", "OnFailure", "OnCompletion")))
    def edit_policy(self, policy: str) -> None:
        self._do("edit", cleanPodPolicy=policy)

    @precondition(lambda self: "elastic" in self.scenario.spec)
    @rule(replicas=st.integers(1, 3))
    def scale(self, replicas: int) -> None:
        self._do("scale", replicas=replicas)

    @rule()
    def recreate(self) -> None:
        self._do("recreate")

    @rule()
    def collect(self) -> None:
        self._do("collect")

    @rule(kind=st.sampled_from(("Pod", "ConfigMap")), refused=st.booleans())
    def set_quota(self, kind: str, refused: bool) -> None:
        self._do("refuse", kind=kind) if refused else self._do("allow")

    @rule()
    def revoke(self) -> None:
        self._do("revoke")

    @rule(writes=st.lists(st.sampled_from(FAULTS), min_size=1, max_size=4))
    def fault(self, writes: list[str]) -> None:
        self._do("fault", writes=writes)

    @rule(warm=st.booleans())
    def restart(self, warm: bool) -> None:
        self._do("restart", warm=warm)

    @rule(seconds=st.sampled_from((1, 10, 60, 400)))
    def advance(self, seconds: int) -> None:
        self._do("advance", seconds=seconds)

    @rule(seconds=st.sampled_from((60, 200)))
    def pass_time(self, seconds: int) -> None:
        self._do("pass-time", seconds=seconds)

    def _do_to_pod(self, verb: str, index: int, **arguments: Any) -> None:
        names = self.scenario.world.names("Pod")
        if names:
            self._do(verb, pod=names[index % len(names)], **arguments)

    def _do(self, verb: str, **arguments: Any) -> None:
        self.scenario.do({"do": verb, **arguments})


FIXED = settings(
    max_examples=150,
    stateful_step_count=40,
    derandomize=True,
    phases=(Phase.generate,),  # to shrink takes longer than to read the steps
    report_multiple_bugs=False,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
FRESH = settings(FIXED, max_examples=15, derandomize=False, database=None)


class Fresh(Faults):
    """The same; a seed is put on it."""


TestRandomFaults = Faults.TestCase
TestRandomFaults.settings = FIXED


def test_faults_that_nobody_has_drawn_before() -> None:
    number = int(os.environ.get(SEED) or random.SystemRandom().getrandbits(32))
    try:
        run_state_machine_as_test(seed(number)(Fresh), settings=FRESH)
    except BaseException as error:
        error.add_note(f"the same again: {SEED}={number} .venv/bin/pytest {__file__}")
        raise
