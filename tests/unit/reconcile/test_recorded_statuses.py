"""A status written by the release before is taken on with the same deadlines and next steps."""

import json
from pathlib import Path

import pytest

from tests.memory import recorded

STATES = json.loads(Path(recorded.__file__).with_suffix(".json").read_text())
FUTURE = {"newer": {"since": 1}}


@pytest.mark.parametrize("name", STATES)
def test_status_of_the_release_before_is_taken_on(name):
    assert recorded.follow(recorded.load(STATES[name])) == STATES[name]["steps"]


@pytest.mark.parametrize("name", STATES)
def test_fields_of_a_later_release_change_no_step(name):
    world = recorded.load(STATES[name])
    status = world.status()
    conditions = [each | FUTURE for each in status["conditions"]]
    worker = status.get("worker", {}) | FUTURE
    world.put(
        {**world.job(), "status": status | FUTURE | {"worker": worker, "conditions": conditions}}
    )
    assert recorded.follow(world) == STATES[name]["steps"]
