"""How many test processes a machine is given."""

import pytest

from tests.live.processcount import NONE, available_mib, choose, in_group_mib

GIB = 1024
MACHINES = {
    "two cores": (2, 20 * GIB, 4),
    "two cores, others have taken memory": (2, 6 * GIB, 2),
    "two cores, hardly any memory": (2, 3 * GIB, NONE),
    "one core": (1, 20 * GIB, 2),
    "eight cores": (8, 60 * GIB, 16),
    "many cores": (128, 500 * GIB, 16),
    "many cores, little memory": (128, 16 * GIB, 9),
}


@pytest.mark.parametrize(("cores", "mib", "count"), MACHINES.values(), ids=MACHINES)
def test_as_many_as_the_machine_carries(cores, mib, count):
    assert choose(cores, mib) == count


def test_memory_is_what_can_be_had():
    assert available_mib("MemTotal: 9 kB\nMemAvailable:   4194304 kB\n") == 4 * GIB


@pytest.mark.parametrize(("limit", "mib"), [("max", None), (str(5 << 30), 4 * GIB)])
def test_a_container_s_limit_counts(tmp_path, limit, mib):
    (tmp_path / "memory.max").write_text(f"{limit}\n")
    (tmp_path / "memory.current").write_text(f"{2 << 30}\n")
    (tmp_path / "memory.stat").write_text(f"anon 9\ninactive_file {1 << 30}\n")
    assert in_group_mib(tmp_path) == mib


def test_a_kernel_without_groups_has_no_limit(tmp_path):
    assert in_group_mib(tmp_path) is None
