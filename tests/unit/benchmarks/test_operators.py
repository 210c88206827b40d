"""Which operators are measured: ours, another for the same CRD, one with a CRD of its own."""

from argparse import ArgumentTypeError
from pathlib import Path

import pytest

from benchmarks.adapter import Adapter
from benchmarks.operators import (
    RunningOperator,
    other_operator,
    peer_operator,
)
from localcluster.machine import clock

PEER = """
from dataclasses import dataclass
from benchmarks.adapter import Adapter

@dataclass(frozen=True)
class Peer(Adapter):
    def state(self, job):
        return {"Succeeded": "Completed"}.get(job["status"]["state"], job["status"]["state"])

ADAPTER = Peer(name="peer", group="example.com", resource="trainjobs", command=("peer", "--now"))
"""


@pytest.mark.parametrize(
    ("text", "name", "command"),
    [
        pytest.param("/bin/other --threads=8", "other", ["/bin/other", "--threads=8"], id="bare"),
        pytest.param("go-1.8_x=other -v", "go-1.8_x", ["other", "-v"], id="named with signs"),
        pytest.param("other --a=b", "other", ["other", "--a=b"], id="bare with an equals sign"),
        pytest.param("env A=1 other", "other", ["env", "A=1", "other"], id="variable"),
    ],
)
def test_another_operator_is_a_command_line(text: str, name: str, command: list[str]) -> None:
    operator = other_operator(text)
    assert (operator.name, operator.command) == (name, command)
    assert operator.adapter == Adapter()


@pytest.mark.parametrize("text", ["", " ", "go=", "go= ", "''", "go='' -v", "other 'a"])
def test_an_empty_or_broken_command_is_refused(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="command"):
        other_operator(text)


def test_a_peer_brings_its_own_kind_of_job(tmp_path: Path) -> None:
    (tmp_path / "peer.py").write_text(PEER)
    operator = peer_operator(tmp_path / "peer.py")
    assert operator.command == ("peer", "--now")
    assert operator.adapter.path == "/apis/example.com/v1/namespaces/default/trainjobs"
    assert operator.adapter.state({"status": {"state": "Succeeded"}}) == "Completed"


def test_a_peer_may_postpone_its_annotations(tmp_path: Path) -> None:
    field = "class Peer(Adapter):\n    queue: str = 'default'\n"
    text = PEER.replace("class Peer(Adapter):\n", field)
    (tmp_path / "late.py").write_text(f"from __future__ import annotations\n{text}")
    assert peer_operator(tmp_path / "late.py").name == "peer"


def test_an_operator_reaches_this_machine_without_a_proxy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "a")
    monkeypatch.setenv("no_proxy", "b,a")
    log = tmp_path / "log"
    with RunningOperator(other_operator("env"), tmp_path / "kubeconfig", log) as running:
        assert clock.wait_until(lambda: not running.is_running, 60)
    seen = dict(line.split("=", 1) for line in log.read_text().splitlines() if "=" in line)
    assert seen["NO_PROXY"] == seen["no_proxy"] == "a,b,127.0.0.1"
    assert seen["KUBECONFIG"] == str(tmp_path / "kubeconfig")
