"""Sequences of faults, drawn in memory from a seed each: whatever comes, every invariant holds.

Some can be played again elsewhere.
"""

import random
from collections.abc import Sequence
from itertools import product
from typing import Any

from tests.faults.scenario import Scenario, Step
from tests.memory.client import RESOURCES
from tests.memory.operator import WRITE_FAULTS

COUNT, LENGTH, CALM = 50, 24, 0.45
"""Of those to be played elsewhere; how often nothing goes wrong for a while."""
WILD_LENGTH, WILD_CALM = 40, 0.25
SPECS: tuple[dict[str, Any], ...] = (
    {"ps": 1, "workers": 2, "backoffLimit": 2},
    {"ps": 1, "workers": 2, "cleanPodPolicy": "Never", "backoffLimit": 1},
    {"ps": 1, "workers": 1, "intranet": "Service", "backoffLimit": 2},
    {"workers": 2, "backoffLimit": 3},
    {"workers": 2, "cleanPodPolicy": "OnFailure"},
    {"workers": 2, "intranet": "Host", "backoffLimit": 2},
    {"workers": 1, "onFailure": True},
    {"elastic": [2, 1, 3], "backoffLimit": 1},
    {"elastic": [2, 2, 3], "backoffLimit": 2},
)
FIELDS: dict[str, Sequence[Any]] = {
    "backoffLimit": (0, 1, 3),
    "intranet": ("Service", "Host"),
    "cleanPodPolicy": ("Always", "Never", "OnFailure"),
    "schedulingPolicy": ({},),
    "suspend": (True,),
    "activeDeadlineSeconds": (100, 5000),
    "startingDeadlineSeconds": (5000,),
    "queue": ("q",),
}
"""What a spec may have instead or besides; each is drawn one time in three."""
KINDS = sorted(RESOURCES)
NAMES = ("train-ps-0", "train-worker-0", "train-worker-1", "train-worker-2", "train")
THERE = ("",)
"""Stands for the name of a pod that there is, or of another object of the step's kind."""
POD: dict[str, Sequence[Any]] = {"pod": THERE}
WRITES = ("ok", *WRITE_FAULTS)
Draws = Sequence[tuple[str, dict[str, Sequence[Any]]]]
"""Steps that are equally likely, and what each of their arguments may be."""
ANYWHERE: Draws = (
    ("work", {"passes": (1, 2, 3, 4)}),
    ("show", {"kind": KINDS, "count": (1, 2, None)}),
    ("show", {"kind": ("Pod",), "count": (1,)}),
    ("end", POD | {"code": (0, 1, 15, 101, 102, 137, 139, 143)}),
    ("end", POD | {"code": (0, 1)}),
    ("reap", POD),
    ("readdress", POD),
    ("evict", POD),
    ("vanish", POD),
    ("restart-in-place", POD),
    ("intrude", {"kind": ("Service",), "name": ("train-worker-0",)}),
    ("intrude", {"kind": ("ConfigMap",), "name": ("train",)}),
    ("retreat", {}),
    ("edit", {"backoffLimit": (0, 1, 2, 3)}),
    ("edit", {"suspend": (True, False)}),
    ("scale", {"replicas": (1, 2, 3)}),
    ("recreate", {}),
    ("collect", {}),
    ("fault", {"writes": (["lost", "ok", "unheard"], ["ok", "killed-after"], ["killed-before"])}),
    ("restart", {"warm": (True, False)}),
    ("advance", {"seconds": (1, 10, 60, 400)}),
)
IN_MEMORY: Draws = (
    *ANYWHERE,
    ("catch-up-and-work", {}),
    ("place", POD),
    ("start", POD),
    ("remove", {"kind": ("Pod", "ConfigMap", "Service", "PodGroup"), "name": THERE}),
    ("intrude", {"kind": ("Pod", "ConfigMap", "Service"), "name": NAMES}),
    ("edit", {"cleanPodPolicy": ("Always", "Never", "OnFailure", "OnCompletion")}),
    ("refuse", {"kind": ("Pod", "ConfigMap")}),
    ("allow", {}),
    ("revoke", {}),
    ("fault", {"writes": [list(each) for each in product(WRITES, repeat=3)]}),
    ("pass-time", {"seconds": (60, 200)}),
    ("preempt", {}),
    ("kueue-leaves", {}),
    ("kueue-returns", {}),
    ("reshape", {"replicas": (1, 2, 3), "zone": ("a", "b")}),
    ("relabel", {"queue": ("other", "")}),
    ("evict", POD | {"code": (0,)}),
    ("reap", POD | {"code": (0,)}),
    ("reject", {"name": THERE}),
    ("lose", POD),
)


def draw(seed: int) -> dict[str, Any]:
    """The sequence of a seed: the steps, and how the job ended. Every invariant held."""
    return _draw(seed, random.Random(seed), [_submit(SPECS[seed % len(SPECS)])], ANYWHERE)


def draw_wildly(seed: int) -> None:
    """A longer one, with what is not found elsewhere and less calm; some steps never come."""
    rng = random.Random(seed)
    trouble = rng.choice(([], [], [{"do": "refuse", "kind": "Pod"}], [{"do": "revoke"}]))
    fields = {name: rng.choice(FIELDS[name]) for name in FIELDS if rng.random() < 1 / 3}
    first = [*trouble, _submit(rng.choice(SPECS) | fields)]
    draws = rng.sample(IN_MEMORY, rng.randint(len(IN_MEMORY) // 3, len(IN_MEMORY)))
    _draw(seed, rng, first, draws, WILD_LENGTH, WILD_CALM)


def play(recorded: dict[str, Any], scenario: Scenario) -> dict[str, Any]:
    """Play a sequence in a fresh scenario; its end."""
    for step in recorded["steps"]:
        scenario.do(step)
    scenario.finish()
    return end_of(scenario)


def end_of(scenario: Scenario) -> dict[str, Any]:
    status = scenario.world.status()
    counters = {key: status.get(key, 0) for key in ("attempt", "restartCount", "failureCount")}
    return {"phase": status["phase"], **counters}


RUN: Step = {"do": "run"}


def _submit(spec: dict[str, Any]) -> Step:
    return {"do": "submit", "spec": spec}


def _draw(
    seed: int,
    rng: random.Random,
    first: list[Step],
    draws: Draws,
    length: int = LENGTH,
    calm: float = CALM,
) -> dict[str, Any]:
    scenario, steps = Scenario(), list[Step]()
    try:
        while len(steps) < length:
            if first:
                step = first.pop(0)
            else:
                step = RUN if rng.random() < calm else _draw_step(rng, scenario, draws)
            steps.append(step)
            scenario.do(step)
        scenario.finish()
    except BaseException as error:
        error.add_note(f"seed {seed}: {steps}")
        raise
    return {"steps": steps, "end": end_of(scenario)}


def _draw_step(rng: random.Random, scenario: Scenario, draws: Draws) -> Step:
    verb, arguments = rng.choice(draws)
    step = {"do": verb, **{key: rng.choice(values) for key, values in arguments.items()}}
    names = scenario.world.names(step.get("kind", "Pod"))
    there = rng.choice(names or [""])
    return step | {key: there for key in ("pod", "name") if step.get(key) == ""}
