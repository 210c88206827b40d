"""Each mutant keeps up with the source. `make mutants` shows that each is killed."""

import pytest

from tests.faults.mutants import MUTANTS
from tests.faults.mutation import ROOT, Mutant, mutate


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutant_has_its_place(mutant: Mutant) -> None:
    mutate(mutant, (ROOT / mutant.path).read_text())
