"""What must not run says so at once, and nothing of it is started."""

from typing import Any

import pytest

from tests.live.lab import CORE, PADDLE_JOBS, SERVER, Lab, environment_of, paddle_job, shell

Raw = dict[str, Any]
END = shell("exit 0")
PS_JOB = {"ps": (1, SERVER), "worker": (1, END)}


def refused(lab: Lab, name: str, roles: dict[str, tuple[int, Raw]], **spec: Any) -> str:
    """What kubectl says to the job; there is nothing of it."""
    told = lab.refusal(paddle_job(name, roles, **spec))
    assert lab.get(PADDLE_JOBS, f"paddlejobs/{name}") is None
    assert not lab.pods(name)
    assert lab.get(CORE, f"configmaps/{name}") is None
    return told


def with_scheduler(name: str) -> Raw:
    """A template that names a scheduler."""
    template = shell("exit 0")
    template["spec"]["schedulerName"] = name
    return template


def test_schedulers_that_differ_are_refused(module_lab: Lab) -> None:
    roles = {"ps": (1, with_scheduler("other")), "worker": (1, with_scheduler("volcano"))}
    assert "schedulerName must be" in refused(module_lab, "schedulers", roles)


def test_no_parameter_server_at_all_is_refused(module_lab: Lab) -> None:
    told = refused(module_lab, "no-servers", {"ps": (0, SERVER), "worker": (1, END)})
    assert "spec.ps.replicas" in told
    assert "greater than or equal to 1" in told


def test_two_clean_policies_are_refused(module_lab: Lab) -> None:
    told = refused(module_lab, "clean", PS_JOB, cleanPodPolicy="Never", cleanPolicy="Always")
    assert "must not differ" in told


def test_with_gloo_3_is_refused(module_lab: Lab) -> None:
    told = refused(module_lab, "gloo", PS_JOB, withGloo=3)
    assert "spec.withGloo" in told
    assert '"0", "1", "2"' in told


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
