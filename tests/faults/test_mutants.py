"""Each mutant keeps up with the source. `make mutants` shows that each is killed."""

from pathlib import Path

import pytest

from tests.faults.mutants import MUTANTS
from tests.faults.mutation import ROOT, Mutant, fingerprint, mutate


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


def test_place_is_found_by_function_however_the_source_is_laid_out() -> None:
    changed = mutate(a_mutant("Shop.price", "sum(self.prices, 1)"), SOURCE)
    assert changed.count("sum(self.prices, 1)") == 2
    assert "def price(self):\n        return 0\n" in changed


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


@pytest.mark.parametrize(
    "changed",
    [
        "shop.py",
        "tests/unit/test_shop.py",
        "tests/memory/world.py",
        "tests/memory/deep.py",
        "tests/conftest.py",
    ],
)
def test_mutant_is_judged_again_after_a_change(tmp_path: Path, changed: str) -> None:
    for name, text in PROJECT.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    mutant = Mutant("wrong idea", "shop.py", "price", "1", "0", "tests/unit/test_shop.py")
    before = fingerprint(mutant, tmp_path)
    (tmp_path / "tests/memory/other.py").write_text("x = 1\n")
    assert fingerprint(mutant, tmp_path) == before
    (tmp_path / changed).write_text(PROJECT[changed] + "# changed\n")
    assert fingerprint(mutant, tmp_path) != before


PROJECT = {
    "shop.py": "",
    "tests/conftest.py": "",
    "tests/unit/test_shop.py": "from tests.memory import world\n",
    "tests/memory/world.py": "from tests.memory.deep import x\n",
    "tests/memory/deep.py": "x = 0\n",
}
