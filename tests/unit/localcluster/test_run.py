"""When an object has ended, as `run` sees it."""

from typing import Any

import pytest

from localcluster.commands.run import outcome


def condition(kind: str, status: str) -> dict[str, Any]:
    return {"status": {"conditions": [{"type": kind, "status": status}]}}


@pytest.mark.parametrize(
    ("thing", "succeeded"),
    [
        pytest.param({"status": {"phase": "Succeeded"}}, True, id="pod succeeded"),
        pytest.param({"status": {"phase": "Failed"}}, False, id="pod failed"),
        pytest.param({"status": {"phase": "Running"}}, None, id="pod runs"),
        pytest.param({}, None, id="no status yet"),
        pytest.param(condition("Complete", "True"), True, id="Job complete"),
        pytest.param(condition("Complete", "False"), None, id="Job not complete"),
        pytest.param(condition("Failed", "True"), False, id="Job failed"),
        pytest.param(condition("FailureTarget", "True"), None, id="Job about to fail"),
        pytest.param({"status": {"phase": "Completed"}}, True, id="training job completed"),
        pytest.param({"status": {"phase": "Restarting"}}, None, id="training job restarts"),
    ],
)
def test_outcome(thing, succeeded):
    assert outcome(thing) is succeeded
