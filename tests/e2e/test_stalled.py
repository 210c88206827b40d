"""Trainings that hang on a real kubelet: found, the stopped worker named, restarted, resumed.

`RUNS=10 make e2e TESTS=tests/e2e/test_stalled.py` stops a worker in each of ten jobs. Only with
RUNS: it takes five minutes, and `make test` has the same trainings on the local cluster.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.images import EXAMPLES
from tests.live.lab import Lab
from tests.live.operated import grant_logs, with_flag
from tests.live.stalls import Trainings

pytestmark = [
    pytest.mark.training,
    pytest.mark.skipif("RUNS" not in os.environ, reason="RUNS is not set"),
]


@pytest.fixture
def reading(lab: Lab) -> Iterator[Lab]:
    """The operator of the node reads the logs of this namespace."""
    grant_logs(lab)
    with with_flag(lab.cluster, "--progress"):
        yield lab


def test_hangs_are_found(reading: Lab, tmp_path: Path, record_property) -> None:
    Trainings(reading, EXAMPLES.name, tmp_path).check(record_property)
