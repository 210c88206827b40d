"""Collective training through Services: the launcher meets its peers by their names.

Parameter servers do so in examples/wide_and_deep_service.yaml and in the manuals' own YAML.
"""

from typing import Any

import pytest
import yaml

from tests.examples.pods import EXAMPLES
from tests.manuals.conftest import Plant

pytestmark = [pytest.mark.training, pytest.mark.cluster, pytest.mark.timeout(700)]


def test_launcher_trains_through_services(plant: Plant) -> None:
    lab = plant.lab("collective-by-name")
    job: dict[str, Any] = yaml.safe_load((EXAMPLES / "resnet.yaml").read_text())
    job["spec"]["intranet"] = "Service"
    lab.submit(job)
    lab.wait_completed("resnet", timeout_seconds=400)
    log = lab.log("resnet-worker-0")
    assert "resnet-worker-0.collective-by-name:36000" in log
    assert "on 2 workers" in log
