"""The mutants keep up with the source. `make mutants` shows that each is killed."""

import os

import pytest

from tests.faults.mutants import MUTANTS, ROOT, Mutant


@pytest.mark.skipif("IS_MUTANT" in os.environ, reason="the source is a mutant already")
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutant_has_its_place(mutant: Mutant) -> None:
    assert (ROOT / mutant.path).read_text().count(mutant.right) == 1


def test_there_are_enough() -> None:
    assert len({mutant.name for mutant in MUTANTS}) >= 12
