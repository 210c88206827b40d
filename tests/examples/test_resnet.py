"""ResNet without the launcher, and with a fault that its workers have to see by themselves.

Under the launcher, from its checkpoints and to a low loss: test_elastic_job.py.
"""

import re
from typing import Any

import pytest

from tests.examples.files import example
from tests.live.lab import Lab

pytestmark = [pytest.mark.training]

SABOTAGED = (
    "import peers, train_fleet; peers.reduce_gradients = lambda model: None; train_fleet.main()"
)


def run(lab: Lab, name: str, phase: str, *arguments: str) -> dict[str, Any]:
    """The status of a job of two workers, for which Python has these arguments, at its end."""
    job = example("resnet.yaml", SAMPLES="256", EPOCHS="1")
    job["metadata"]["name"] = name
    (container,) = job["spec"]["worker"]["template"]["spec"]["containers"]
    container["args"] = list(arguments)
    lab.submit(job)
    return lab.wait_phase(name, phase)


def test_without_the_launcher_workers_train_as_one(lab: Lab) -> None:
    run(lab, "plain", "Completed", "train_fleet.py")
    logs = [lab.log(f"plain-worker-{index}") for index in (0, 1)]
    found = [re.findall(r"rank (\d): weights (\w+), \d+ images (\w+)", log)[0] for log in logs]
    (first, weights, images), (second, other_weights, other_images) = found
    assert (first, second, weights) == ("0", "1", other_weights)
    assert images != other_images
    assert ["model saved in" in log for log in logs] == [True, False]


def test_gradients_that_are_not_reduced_fail_the_job(lab: Lab) -> None:
    (failure, *_) = run(lab, "sabotaged", "Failed", "-c", SABOTAGED)["failures"]
    assert "WorkersDisagree: the workers' weights differ" in failure["message"]
