"""One worker of three is stopped in the middle of its training: found, named, restarted, resumed.

Other jobs hang in other ways meanwhile. `RUNS=10` stops one in each of ten jobs.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from localcluster import Cluster
from tests.conftest import new_namespace
from tests.live.lab import Lab
from tests.live.operated import operator_that_reads_logs
from tests.live.stalls import Trainings

pytestmark = [pytest.mark.training]

IMAGE = "registry.baidubce.com/paddle-operator/paddle-ubuntu:2.6.2"


@pytest.fixture
def lab(unattended: Cluster) -> Iterator[Lab]:
    with new_namespace(unattended) as name, operator_that_reads_logs(unattended, name) as found:
        yield found


def test_hangs_are_found(lab: Lab, tmp_path: Path, record_property) -> None:
    Trainings(lab, IMAGE, tmp_path).check(record_property)
