"""Sets of indexes as compact text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconcile.model.indexes import format_indexes, parse_indexes


@pytest.mark.parametrize(
    ("indexes", "text"),
    [
        pytest.param((), "", id="none"),
        pytest.param((3,), "3", id="one"),
        pytest.param((0, 1, 2, 5), "0-2,5", id="a-run-and-one"),
        pytest.param((1, 0), "0-1", id="any-order"),
        pytest.param((0, 2, 4), "0,2,4", id="no-run"),
    ],
)
def test_indexes_are_written_as_runs(indexes, text):
    assert format_indexes(indexes) == text


@given(st.frozensets(st.integers(0, 200)))
def test_what_is_written_reads_the_same(indexes):
    assert parse_indexes(format_indexes(indexes)) == indexes


@pytest.mark.parametrize("text", ["a", "1-x", "1-2-3"])
def test_other_text_is_refused(text):
    with pytest.raises(ValueError, match="invalid literal"):
        parse_indexes(text)


@pytest.mark.parametrize(
    "text",
    [
        "0-99999999999999999999",
        ",".join(f"{first}-{first + 9_999}" for first in range(0, 100_000, 10_000)),
        "0-9999," * 20_000,
        "9999-0,0-9999," * 20_000,
    ],
    ids=["one-run", "many-runs", "a-run-again-and-again", "and-a-backward-one"],
)
def test_more_indexes_than_a_job_has_are_refused(text):
    with pytest.raises(ValueError, match="more pods than"):
        parse_indexes(text)
