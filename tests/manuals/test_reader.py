"""The reader finds every object that the manuals print, and mends no more than it must."""

import pytest

from tests.manuals.reader import ABSENT, CHECKOUT, MANUALS, Printed, printed

EXAMPLES = CHECKOUT / "examples"
PRINTED = printed()
MENDED = {"000": {"indentation", "quotes, and the value between them"}}
MENDED |= {"001": {"tabs"}, "002": set(), "003": set(), "004": {"indentation"}}
needs_manuals = pytest.mark.skipif(not MANUALS.is_dir(), reason=ABSENT)


@needs_manuals
@pytest.mark.parametrize("each", PRINTED, ids=str)
def test_is_mended_in_the_ways_of_its_manual(each: Printed) -> None:
    assert {mend.what for mend in each.mends} == MENDED[each.manual]


@needs_manuals
def test_nothing_that_is_printed_is_overlooked() -> None:
    text = [line for file in MANUALS.glob("*.txt") for line in file.read_text().splitlines()]
    kinds = [line for line in text if line.strip().startswith("kind: ")]
    assert len(PRINTED) == len(kinds)


@needs_manuals
def test_both_prints_of_the_same_job_are_mended_into_the_same() -> None:
    first, second = (each.thing for each in PRINTED if each.manual in ("000", "001"))
    assert first == second
