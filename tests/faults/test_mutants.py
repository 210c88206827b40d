"""Each mutant keeps up with the source, and is killed: a test of the suite fails on it."""

import pytest

from tests.faults.mutants import MUTANTS, ROOT, Mutant, Verdict, judge_all

pytestmark = pytest.mark.timeout(1200)


@pytest.fixture(scope="module")
def verdicts() -> dict[str, Verdict]:
    """What became of each, by name."""
    return {verdict.mutant.name: verdict for verdict in judge_all(MUTANTS)}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutant_has_its_place(mutant: Mutant) -> None:
    assert (ROOT / mutant.path).read_text().count(mutant.right) == 1


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutant_is_killed(verdicts: dict[str, Verdict], mutant: Mutant) -> None:
    assert verdicts[mutant.name].killer


def test_there_are_enough() -> None:
    assert len({mutant.name for mutant in MUTANTS}) >= 12
