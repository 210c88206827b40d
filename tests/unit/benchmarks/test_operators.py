"""Which operators are measured: ours, another for the same CRD, one with a CRD of its own."""

from pathlib import Path

import pytest

from benchmarks.operators import other_operator, own_operator, peer_operator

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
        pytest.param("go=/bin/other -v", "go", ["/bin/other", "-v"], id="named"),
        pytest.param("go-1.8_x=other -v", "go-1.8_x", ["other", "-v"], id="named with signs"),
        pytest.param("other --a=b", "other", ["other", "--a=b"], id="bare with an equals sign"),
        pytest.param("/bin/a=b", "other", ["/bin/a=b"], id="path with an equals sign"),
        pytest.param("env A=1 other", "other", ["env", "A=1", "other"], id="variable"),
    ],
)
def test_another_operator_is_a_command_line(text: str, name: str, command: list[str]) -> None:
    operator = other_operator(text)
    assert (operator.name, operator.command) == (name, command)
    assert operator.adapter == own_operator().adapter


@pytest.mark.parametrize("text", ["", " ", "go=", "go= ", "''", "go='' -v", "other 'a"])
def test_an_empty_or_broken_command_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="command"):
        other_operator(text)


def test_a_peer_brings_its_own_kind_of_job(tmp_path: Path) -> None:
    (tmp_path / "peer.py").write_text(PEER)
    operator = peer_operator(tmp_path / "peer.py")
    assert operator.command == ("peer", "--now")
    assert operator.adapter.path("ns", "a") == "/apis/example.com/v1/namespaces/ns/trainjobs/a"
    assert operator.adapter.state({"status": {"state": "Succeeded"}}) == "Completed"


def test_a_file_without_an_adapter_is_refused(tmp_path: Path) -> None:
    (tmp_path / "peer.py").write_text("ADAPTER = 1\n")
    with pytest.raises(TypeError, match="no Adapter"):
        peer_operator(tmp_path / "peer.py")
