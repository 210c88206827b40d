"""Which of several test processes gets which file."""

import pytest

from tests.live.distribution import LONGEST, ROOT, choose, cluster_of

OPERATED = "tests/cluster/jobs/test_modes.py"
UNATTENDED = "tests/cluster/failures/test_nodes.py"
PLAIN = "tests/cluster/admission/test_crd.py"
ALONE = "tests/cluster/operator/test_rbac.py"
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
        pytest.param({"unattended"}, {"operated"}, UNATTENDED, id="what it has"),
        pytest.param(set(), {"operated"}, UNATTENDED, id="what nobody has"),
        pytest.param({"cluster"}, {"operated", "unattended"}, ALONE, id="none at all"),
    ],
)
def test_a_process_gets_what_starts_no_second_cluster(
    mine: set[str], others: set[str], chosen: str
) -> None:
    assert choose([OPERATED, UNATTENDED, ALONE, UNIT], mine, others) == chosen


def test_a_second_cluster_is_started_rather_than_left_to_the_end() -> None:
    assert choose([UNIT, OPERATED], set(), {"operated"}) == OPERATED


def test_one_process_at_a_time_trains() -> None:
    training = "tests/examples/test_resume.py"
    assert choose([OPERATED, training], set(), set()) == training
    assert choose([OPERATED, training], set(), set(), is_training=True) == OPERATED
    assert choose([training], set(), set(), is_training=True) == training


def test_the_longest_files_come_first() -> None:
    assert all((ROOT / file).exists() for file in LONGEST)
    assert choose([OPERATED, *LONGEST], {"operated"}, set()) in LONGEST
