"""Advice about jobs that would be accepted."""

from pathlib import Path

import pytest
import yaml

from api.objects import Raw
from pdj.documents.advice import find_advice
from pdj.documents.reader import read_documents
from tests.memory.builders import a_job


def advice(folder: Path, job: Raw, rule: str) -> list[str]:
    """The messages of one rule about a job."""
    file = folder / "job.yaml"
    file.write_text(yaml.safe_dump(job))
    (document,) = read_documents(str(file))
    return [each.message for each in find_advice(document) if each.rule == rule]


@pytest.mark.parametrize(
    ("workers", "number", "is_said"),
    [(2, 21, True), (2, 20, False), (1, 21, False)],
    ids=["too many", "as many as ports", "one worker"],
)
def test_processes_that_do_not_fit_the_ports_are_said(
    tmp_path: Path, workers: int, number: int, is_said: bool
) -> None:
    launch = ["python", "-m", "paddle.distributed.launch", f"--nproc_per_node={number}", "t.py"]
    template = {"spec": {"containers": [{"name": "paddle", "image": "a:1", "command": launch}]}}
    found = advice(tmp_path, a_job().with_workers(workers, template).build(), "processes")
    assert len(found) == is_said
    assert not is_said or found[0].startswith("21 processes do not fit the 20 ports")
