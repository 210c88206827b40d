"""Each mutant keeps up with the source. `make mutants` shows that each is killed."""

import pytest

from tests.faults.mutants import MUTANTS
from tests.faults.mutation import ROOT, Mutant, mutate


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutant_has_its_place(mutant: Mutant) -> None:
    mutate(mutant, (ROOT / mutant.path).read_text())


SOURCE = """
class Shop:
    def price(self):
        # the sum
        return sum(
            self.prices, 1
        )

    def other(self): return sum(self.prices, 1)

def price(self): return sum(self.prices, 1)
"""


@pytest.mark.parametrize(
    ("function", "right"),
    [
        pytest.param("Shop.cost", "self.prices", id="no-such-function"),
        pytest.param("Shop.price", "self.costs", id="no-such-place"),
        pytest.param("Twice.both", "self.prices", id="two-places"),
    ],
)
def test_place_that_is_not_there_once_is_refused(function: str, right: str) -> None:
    twice = "class Twice:\n    def both(self): return self.prices + self.prices\n"
    with pytest.raises(ValueError, match=r"^wrong idea: shop\.py.* has [02] "):
        mutate(a_mutant(function, right), SOURCE + twice)


def a_mutant(function: str, right: str) -> Mutant:
    return Mutant("wrong idea", "shop.py", function, right, "0", "test_shop.py")
