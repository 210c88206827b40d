"""A variable of the operator's in a template: its value wins, and an Event says so."""

from typing import Any

import pytest

from tests.live.lab import Lab, environment_of, paddle_job, shell

Raw = dict[str, Any]


@pytest.fixture(scope="module")
def owned(module_lab: Lab) -> Lab:
    """A completed job whose template sets a variable of the operator's."""
    env = [{"name": "PADDLE_TRAINERS_NUM", "value": "7"}, {"name": "OWN", "value": "mine"}]
    template = shell("env", env=env)
    module_lab.submit(paddle_job("owned", {"worker": (2, template)}, cleanPodPolicy="Never"))
    module_lab.wait_completed("owned")
    return module_lab


def test_operators_value_of_an_owned_variable_wins(owned: Lab) -> None:
    told = environment_of(owned.log("owned-worker-0"))
    assert (told["PADDLE_TRAINERS_NUM"], told["OWN"]) == ("2", "mine")


def test_an_event_names_the_owned_variable(owned: Lab) -> None:
    (message,) = owned.wait(lambda: owned.events("owned", "OwnedVariable"), "an Event")
    assert message.endswith(": PADDLE_TRAINERS_NUM")
