"""`restore`: what a backup cannot hold is one line, before anything is created."""

import json
from typing import Any

import pytest

from api.constants import LABEL_CODE_OF
from pdj.commands.restore import read
from pdj.errors import Usage
from tests.memory.builders import a_job

CODE = {"apiVersion": "v1", "kind": "ConfigMap"}
NAMES = {"name": "a", "namespace": "b"}


def a_job_with(metadata: Any = None, **fields: Any) -> Any:
    job = a_job().with_workers(1).build()
    return {**job, "metadata": {**job["metadata"], **(metadata or {})}, **fields}


@pytest.mark.parametrize(
    "item",
    [
        a_job_with(status="Completed"),
        a_job_with(spec=None),
        a_job_with({"annotations": "x"}),
        a_job_with({"name": 7}),
        a_job_with({"namespace": {"a": 1}}),
        {**CODE, "metadata": {**NAMES, "labels": [LABEL_CODE_OF]}},
        {**CODE, "kind": "Secret", "metadata": NAMES},
        None,
    ],
)
def test_another_object_is_refused(item, tmp_path):
    file = tmp_path / "backup.json"
    file.write_text(json.dumps({"items": [a_job_with(), item]}))
    with pytest.raises(Usage, match="kubectl pdj backup"):
        read(str(file))
