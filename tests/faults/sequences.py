"""Sequences of faults, drawn in memory from a seed each, to be played again elsewhere."""

import random
from typing import Any

from tests.faults.scenario import Scenario, Step

COUNT = 50
LENGTH = 24
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
POD_STEPS: tuple[tuple[int, Step], ...] = (
    (3, {"do": "end", "code": 1}),
    (2, {"do": "end", "code": 0}),
    (1, {"do": "end", "code": 101}),
    (1, {"do": "end", "code": 137}),
    (2, {"do": "evict"}),
    (2, {"do": "vanish"}),
    (1, {"do": "readdress"}),
    (1, {"do": "restart-in-place"}),
    (1, {"do": "reap", "code": 15}),
)
JOB_STEPS: tuple[tuple[int, Step], ...] = (
    (1, {"do": "edit", "suspend": True}),
    (1, {"do": "edit", "suspend": False}),
    (1, {"do": "edit", "backoffLimit": 3}),
    (1, {"do": "scale", "replicas": 3}),
    (1, {"do": "scale", "replicas": 1}),
    (1, {"do": "recreate"}),
    (1, {"do": "collect"}),
    (1, {"do": "intrude", "kind": "Service", "name": "train-worker-0"}),
    (1, {"do": "intrude", "kind": "ConfigMap", "name": "train"}),
    (1, {"do": "retreat"}),
    (2, {"do": "restart"}),
    (1, {"do": "restart", "warm": True}),
    (1, {"do": "fault", "writes": ["lost", "ok", "unheard"]}),
    (1, {"do": "fault", "writes": ["ok", "killed-after"]}),
    (1, {"do": "fault", "writes": ["killed-before"]}),
    (2, {"do": "advance", "seconds": 10}),
    (1, {"do": "advance", "seconds": 400}),
    (2, {"do": "show", "kind": "Pod", "count": 1}),
    (1, {"do": "show", "kind": "PaddleJob"}),
    (2, {"do": "work", "passes": 2}),
)
CALM = 0.45
"""How often nothing goes wrong for a while."""


def draw(seed: int) -> dict[str, Any]:
    """The sequence of a seed: the steps, and how the job ended. Every invariant held."""
    rng = random.Random(seed)
    spec = SPECS[seed % len(SPECS)]
    scenario = Scenario()
    steps: list[Step] = []

    def do(step: Step) -> None:
        steps.append(step)
        scenario.do(step)

    do({"do": "submit", "spec": spec})
    while len(steps) < LENGTH:
        if rng.random() < CALM:
            do({"do": "run"})
        else:
            do(_draw_step(rng, scenario))
    scenario.finish()
    return {"steps": steps, "end": end_of(scenario)}


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


def _draw_step(rng: random.Random, scenario: Scenario) -> Step:
    names = scenario.world.names("Pod")
    table = POD_STEPS if names and rng.random() < 0.5 else JOB_STEPS
    step = dict(rng.choices([step for _, step in table], [weight for weight, _ in table])[0])
    return {"do": step.pop("do"), "pod": rng.choice(names), **step} if table is POD_STEPS else step
