"""The manuals' own text, where it is: beside the checkout, or where PADDLEJOB_MANUALS says."""

import os
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
MANUALS = Path(os.environ.get("PADDLEJOB_MANUALS") or CHECKOUT.parent / "shared" / "manuals")
needs_manuals = pytest.mark.skipif(
    not MANUALS.is_dir(),
    reason=f"the manuals are not here: {MANUALS} (PADDLEJOB_MANUALS names another folder)",
)


def text_of(manual: str) -> str:
    """A manual, by its number."""
    return next(MANUALS.glob(f"{manual}_*.txt")).read_text()
