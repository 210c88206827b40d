"""Tests run in two halves, one of which may have none of those that are wanted."""

import pytest

from tests.e2e.inside import exit_code

OK, FAILED, NONE, KILLED = 0, 1, 5, -9


@pytest.mark.parametrize(
    ("codes", "code"),
    [
        ([OK, NONE], OK),
        ([NONE, NONE], NONE),
        ([FAILED, OK], FAILED),
        ([NONE, FAILED], FAILED),
        ([KILLED, OK], KILLED),
    ],
)
def test_a_failure_of_either_half_fails_the_run_and_so_do_no_tests(codes, code):
    assert exit_code(codes) == code
