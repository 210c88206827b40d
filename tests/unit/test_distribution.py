"""Which of several test processes gets which file."""

import contextlib
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from tests.live.distribution import LONGEST, ROOT, choose, cluster_of
from tests.live.shared import SharedClusters

OPERATED = "tests/cluster/jobs/test_kubectl.py"
UNATTENDED = "tests/cluster/failures/test_nodes.py"
ANOTHER_UNATTENDED = "tests/cluster/operator/test_stalled.py"
PLAIN = "tests/cluster/admission/test_crd.py"
ALONE = "tests/cluster/operator/test_rbac.py"
TRAINING, ANOTHER_TRAINING = "tests/examples/test_resume.py", "tests/examples/test_launcher.py"
UNIT = "tests/unit/test_distribution.py"


@pytest.mark.parametrize(
    ("file", "shared"),
    [
        (OPERATED, "operated"),
        ("tests/examples/test_resume.py", "operated"),
        (UNATTENDED, "unattended"),
        ("tests/cluster/node/test_logs.py", "node"),
        (PLAIN, "cluster"),
        (ALONE, ""),
        (UNIT, ""),
    ],
)
def test_the_shared_cluster_of_a_file(file: str, shared: str) -> None:
    assert cluster_of(file) == shared


@pytest.mark.parametrize(
    ("mine", "others", "chosen"),
    [
        pytest.param(ANOTHER_UNATTENDED, [OPERATED], UNATTENDED, id="what it has"),
        pytest.param("", [OPERATED], UNATTENDED, id="what nobody has"),
        pytest.param(PLAIN, [OPERATED, UNATTENDED], ALONE, id="none at all"),
        pytest.param(PLAIN, [TRAINING, UNATTENDED], OPERATED, id="what a training has"),
    ],
)
def test_a_process_gets_what_starts_no_second_cluster(
    mine: str, others: list[str], chosen: str
) -> None:
    assert choose([OPERATED, UNATTENDED, ALONE, UNIT], mine, others) == chosen


def test_a_second_cluster_is_started_rather_than_left_to_the_end() -> None:
    assert choose([UNIT, OPERATED], "", [OPERATED]) == OPERATED


def test_one_process_at_a_time_trains() -> None:
    assert choose([OPERATED, TRAINING], "", []) == TRAINING
    assert choose([OPERATED, TRAINING], "", [ANOTHER_TRAINING]) == OPERATED
    assert choose([TRAINING], "", [ANOTHER_TRAINING]) == TRAINING


def test_the_longest_files_come_first() -> None:
    assert all((ROOT / file).exists() for file in LONGEST)
    assert choose([OPERATED, *LONGEST], OPERATED, []) in LONGEST


def test_clusters_that_a_file_does_not_use_are_stopped() -> None:
    clusters, running = SharedClusters(), list[str]()

    @contextlib.contextmanager
    def start(name: str) -> Iterator[Any]:
        running.append(name)
        yield name
        running.remove(name)

    for file in ({"cluster", "operated"}, {"operated"}):
        clusters.keep(file)
        for name in file:
            assert str(clusters.get(name, partial(start, name))) == name
        assert set(running) == file
    clusters.keep(set())
    assert not running
