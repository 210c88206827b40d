"""`restart --submit-again`: a job that is deleted and not created again is printed, no other."""

import os
import signal
from types import SimpleNamespace
from typing import Any

import pytest

from api.objects import Raw
from kube.errors import Forbidden
from pdj.commands.restart import replace_job
from tests.unit.pdj.test_code import JOBS, Cluster, placed


class Refusing(Cluster):
    """A cluster in which nobody may delete."""

    def delete(self, path: str, *_: Any, **__: Any) -> Raw:
        raise Forbidden(path)


def ended_by(cluster: Cluster, error: type[BaseException]) -> list[str]:
    """What the command prints that ends so."""
    cluster.create = lambda path, body, *_: body  # type: ignore[method-assign]
    cluster.objects[f"{JOBS}/mine"] = {**placed(), "kind": "PaddleJob"}
    cluster.objects[f"{JOBS}/mine"]["metadata"]["uid"] = "1"
    printed: list[str] = []
    out = SimpleNamespace(write=printed.append)
    session = SimpleNamespace(client=cluster, note=print, screen=out, notes=out)
    with pytest.raises(error):
        replace_job(session, cluster.get(f"{JOBS}/mine"), placed())  # type: ignore[arg-type]
    return printed


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_job_is_printed_if_the_command_is_ended(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wait(*_: Any) -> None:
        os.kill(os.getpid(), number)

    monkeypatch.setattr("pdj.commands.restart.wait_until_gone", wait)
    before = signal.signal(number, signal.SIG_DFL)  # nohup has SIGHUP ignored
    try:
        job, note = ended_by(Cluster(), KeyboardInterrupt)
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, before)
    assert '"name": "mine"' in job
    assert "is deleted" in note


def test_a_job_that_may_not_be_deleted_is_not_said_to_be() -> None:
    assert ended_by(Refusing(), Forbidden) == []
