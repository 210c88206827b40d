"""`restart --submit-again`: a job that is lost with it is printed and kept in a file, no other."""

import json
import os
import signal
from argparse import Namespace
from types import SimpleNamespace
from typing import Any

import pytest

from api.objects import Raw
from kube.errors import Forbidden, Invalid
from pdj.commands.restart import replace
from pdj.session import Session
from tests.unit.pdj.cluster import JOBS, Cluster, placed


class Refusing(Cluster):
    """A cluster in which nobody may delete."""

    def delete(self, path: str, *_: Any, **__: Any) -> Raw:
        raise Forbidden(path)


class Choosy(Cluster):
    """A cluster that would refuse every new job."""

    def create(self, path: str, body: Raw, query: Raw | None = None) -> Raw:
        raise Invalid(path)


def closed(_text: str) -> None:
    """What a closed terminal, or a pipe that nobody reads, does with output."""
    raise BrokenPipeError


def ended_by(cluster: Cluster, error: type[BaseException], is_closed: bool = False) -> list[str]:
    """What the command prints that ends so; its output may be closed."""
    cluster.objects[f"{JOBS}/mine"] = placed(uid="1")
    printed: list[str] = []
    notes: Any = SimpleNamespace(write=printed.append)
    screen: Any = SimpleNamespace(write=closed) if is_closed else notes
    session = Session(Namespace(timeout=None), screen, notes)
    session.__dict__["client"] = cluster
    with pytest.raises(error):
        replace(session, cluster.get(f"{JOBS}/mine"), placed())
    return printed


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_job_is_printed_if_the_command_is_ended(number, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def wait(*_: Any) -> None:
        os.kill(os.getpid(), number)

    monkeypatch.setattr("pdj.act.submit.wait_until_gone", wait)
    before = signal.signal(number, signal.SIG_DFL)  # nohup has SIGHUP ignored
    try:
        job, note = ended_by(Cluster(), KeyboardInterrupt)
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, before)
    (file,) = tmp_path.iterdir()
    assert json.loads(job) == json.loads(file.read_text()) == placed()
    assert "is deleted" in note and str(file) in note


def test_a_job_that_may_not_be_deleted_is_not_said_to_be():
    assert ended_by(Refusing(), Forbidden) == []


def test_a_job_is_not_deleted_for_one_that_would_be_refused():
    cluster = Choosy()
    assert ended_by(cluster, Invalid) == []
    assert f"{JOBS}/mine" in cluster.objects


def test_a_job_is_printed_if_no_file_can_be_written(monkeypatch, tmp_path):
    def wait(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    monkeypatch.setattr("pdj.act.submit.wait_until_gone", wait)
    job, note = ended_by(Cluster(), KeyboardInterrupt)
    assert json.loads(job) == placed()
    assert "is deleted" in note and "no file of it could be written (No such file" in note


def test_a_job_is_kept_if_it_cannot_be_printed(monkeypatch, tmp_path):
    def wait(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("pdj.act.submit.wait_until_gone", wait)
    (note,) = ended_by(Cluster(), BrokenPipeError, is_closed=True)
    (file,) = tmp_path.iterdir()
    assert str(file) in note
    assert json.loads(file.read_text()) == placed()
