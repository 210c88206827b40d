"""What a job says to Python while it does not go on."""

import io
import sys
from pathlib import Path

import pytest

from api.objects import Raw
from paddlejob import NotInTime
from paddlejob import job as module
from tests.live import patience
from tests.unit.paddlejob.test_gone import a_job, found_as

MESSAGE = "train-worker-0 waits: ErrImagePull: no such image; correct it before 03:04"


@pytest.fixture
def raw() -> Raw:
    """A job whose image is not there."""
    waiting = {"cause": "no such image", "nextStep": "correct it", "grace": "--image-error-after"}
    status = {"phase": "Pending", "reason": "ImageError", "message": MESSAGE, "attempt": 1}
    return a_job("of-this") | {"status": status | {"waiting": waiting}}


def test_wait_says_once_why_the_job_waits(raw, tmp_path, monkeypatch):
    class Told(io.StringIO):
        def write(self, text: str) -> int:
            raw["status"]["phase"] = "Completed"
            return super().write(text)

    monkeypatch.setattr(module, "SAYS_WHY_SECONDS", 0.0)
    monkeypatch.setattr("pdj.gather.live.TICK_SECONDS", 0.01)
    monkeypatch.setattr(sys, "stderr", told := Told())
    with found_as(raw, tmp_path) as job:
        job.wait(timeout=patience.SECONDS)
    assert told.getvalue() == f"<b>one waits: ImageError: {MESSAGE}\n"


def test_a_wait_that_is_short_is_not_mentioned(raw, tmp_path: Path, capsys):
    with found_as(raw, tmp_path) as job, pytest.raises(NotInTime, match="no such image"):
        job.wait(timeout=0.2)
    assert capsys.readouterr().err == ""


def test_a_log_without_a_line_is_no_progress(raw, tmp_path):
    raw["status"] = {"phase": "Running", "attempt": 1}
    with found_as(raw, tmp_path) as job:
        assert job.progress is None
