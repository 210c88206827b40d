"""A status written by the release before is taken on with the same deadlines and next steps."""

import json
from pathlib import Path

import pytest

from tests.memory import recorded

STATES = json.loads(Path(recorded.__file__).with_suffix(".json").read_text())


@pytest.mark.parametrize("name", STATES)
def test_status_of_the_release_before_is_taken_on(name: str) -> None:
    assert recorded.follow(recorded.load(STATES[name])) == STATES[name]["steps"]
