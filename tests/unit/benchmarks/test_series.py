"""What becomes of a scenario that an operator fails."""

import pytest

from benchmarks.series import attempt
from kube.errors import ApiError
from localcluster.machine.errors import StartError


@pytest.mark.parametrize(
    "failure",
    [
        pytest.param(TimeoutError("no sign of life"), id="timeout"),
        pytest.param(StartError("operator died (137)"), id="crash"),
        pytest.param(ApiError("etcd is full", code=500), id="refused"),
    ],
)
def test_a_scenario_that_fails_leaves_the_rest(failure: Exception) -> None:
    def fail() -> int:
        raise failure

    told: list[str] = []
    assert attempt("crowd", fail, told.append) is None
    assert attempt("fairness", lambda: 7, told.append) == 7
    assert told == [f"crowd: {failure}"]
