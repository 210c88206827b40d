"""When an object has ended, as `run` sees it."""

import json
from typing import Any

import pytest

from localcluster.commands.manifests import parse_stream
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
def test_outcome(thing: dict[str, Any], succeeded: bool | None) -> None:
    assert outcome(thing) is succeeded


@pytest.mark.parametrize("count", [0, 1, 3])
def test_objects_one_after_the_other_are_all_read(count: int) -> None:
    objects = [{"kind": "Pod", "number": number} for number in range(count)]
    text = "\n".join(json.dumps(each, indent=4) for each in objects)
    assert parse_stream(text) == objects
    assert parse_stream(json.dumps({"kind": "List", "items": objects})) == objects
