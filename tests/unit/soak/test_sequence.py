"""Which jobs and faults a seed stands for."""

from itertools import islice

from tests.soak import faults, jobs
from tests.soak.sequence import Round, rounds

KINDS = {name: kind.most_seconds for name, kind in faults.KINDS.items()}


def first_rounds(seed: int, count: int = 20) -> list[Round]:
    return list(islice(rounds(seed, sorted(jobs.KINDS), KINDS), count))


def test_a_seed_always_stands_for_the_same() -> None:
    assert first_rounds(7) == first_rounds(7)


def test_another_seed_stands_for_something_else() -> None:
    assert first_rounds(7) != first_rounds(8)


def test_every_fault_comes_before_one_comes_twice() -> None:
    drawn = [fault for each in first_rounds(3) for fault in each.faults]
    assert sum(len(each.faults) for each in first_rounds(3)) >= len(KINDS)
    kinds = {fault.kind for each in first_rounds(3, 9) for fault in each.faults}
    assert len(kinds) == min(len(KINDS), sum(len(each.faults) for each in first_rounds(3, 9)))
    assert {fault.kind for fault in drawn} == set(KINDS)


def test_no_fault_lasts_longer_than_its_kind_may() -> None:
    for each in first_rounds(5):
        for fault in each.faults:
            assert fault.for_seconds <= (KINDS[fault.kind] or 14.0)
