"""Trainings that hang on a real kubelet: found, the stopped worker named, restarted, resumed.

`RUNS=10 make e2e TESTS=tests/e2e/test_stalled.py` stops a worker in each of ten jobs. Only with
RUNS: it takes five minutes, and `make test` has the same trainings on the local cluster.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.images import EXAMPLES
from tests.live.lab import Lab
from tests.live.operated import DEPLOYMENT, NAMESPACE, READY_SECONDS, grant_logs
from tests.live.stalls import TIMEOUT_SECONDS, Trainings

pytestmark = [
    pytest.mark.training,
    pytest.mark.timeout(TIMEOUT_SECONDS),
    pytest.mark.skipif("RUNS" not in os.environ, reason="RUNS is not set"),
]

ARGUMENTS = "/spec/template/spec/containers/0/args/-"


@pytest.fixture
def reading(lab: Lab) -> Iterator[Lab]:
    """The operator of the node reads the logs of this namespace."""
    grant_logs(lab)
    flag = json.dumps([{"op": "add", "path": ARGUMENTS, "value": "--progress"}])
    roll(lab, "patch", f"deployment/{DEPLOYMENT}", "--type=json", "-p", flag)
    yield lab
    roll(lab, "rollout", "undo", f"deployment/{DEPLOYMENT}")


def roll(lab: Lab, *change: str) -> None:
    wait = ("rollout", "status", f"deployment/{DEPLOYMENT}", f"--timeout={READY_SECONDS}s")
    lab.cluster.kubectl("-n", NAMESPACE, *change)
    lab.cluster.kubectl("-n", NAMESPACE, *wait, timeout_seconds=READY_SECONDS + 10)


def test_hangs_are_found(reading: Lab, tmp_path: Path, record_property) -> None:
    Trainings(reading, EXAMPLES.name, tmp_path).check(record_property)
