"""What becomes of a scenario that an operator fails."""

from dataclasses import dataclass, field
from typing import cast

import pytest

from benchmarks.rest import RestError
from benchmarks.series import _Attempts
from benchmarks.site import Site
from localcluster.errors import StartError


@dataclass
class Told:
    """Of a site, what it is told."""

    lines: list[str] = field(default_factory=list)

    def report(self, text: str) -> None:
        """Keep it."""
        self.lines.append(text)


@pytest.mark.parametrize(
    "failure",
    [
        pytest.param(TimeoutError("no sign of life"), id="timeout"),
        pytest.param(StartError("operator died (137)"), id="crash"),
        pytest.param(RestError(500, "etcd is full"), id="refused"),
    ],
)
def test_a_scenario_that_fails_leaves_the_rest(failure: Exception) -> None:
    def fail() -> int:
        raise failure

    told = Told()
    attempts = _Attempts(cast(Site, told))
    assert attempts.make("crowd", fail) is None
    assert attempts.make("fairness", lambda: 7) == 7
    assert attempts.unfinished == [f"crowd: {failure}"]
    assert told.lines == [f"not finished: crowd: {failure}"]
