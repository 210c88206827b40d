"""Tests run in two halves, one of which may have none of those that are wanted."""

import pytest

from tests.e2e.inside import exit_code

OK, FAILED, USAGE, NONE = (
    pytest.ExitCode.OK,
    pytest.ExitCode.TESTS_FAILED,
    pytest.ExitCode.USAGE_ERROR,
    pytest.ExitCode.NO_TESTS_COLLECTED,
)
KILLED = -9


@pytest.mark.parametrize(
    ("codes", "code"),
    [
        ([OK, OK], OK),
        ([OK, NONE], OK),
        ([NONE, OK], OK),
        ([NONE, NONE], NONE),
        ([NONE], NONE),
        ([FAILED, OK], FAILED),
        ([NONE, FAILED], FAILED),
        ([OK, USAGE], USAGE),
        ([KILLED, OK], KILLED),
    ],
)
def test_a_failure_of_either_half_is_told_and_so_are_no_tests(codes, code):
    assert exit_code(codes) == code
