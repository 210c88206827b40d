"""Which Python and which PaddlePaddle train, and what is said where there are no servers."""

from pathlib import Path

import pytest

from examples.quickstart.__main__ import (
    COLLECTIVE_JOB,
    JOB,
    default_job,
    read_documents,
)
from localcluster.machine.errors import LocalClusterError
from localcluster.provision import training
from localcluster.provision.images import ImageTable, check_servers
from localcluster.provision.training import Interpreter, choose, found_on_path

ANSWER = 'echo \'["3.12.1", "/opt/python3.12", "/opt"]\'\n'


def python(*version: int) -> Interpreter:
    name = ".".join(map(str, version))
    return Interpreter(f"{name}.1", Path(f"/opt/bin/python{name}"), Path("/opt"))


CHOICES = [
    pytest.param((3, 11), [], "2.6.2", (3, 11), id="its own"),
    pytest.param((3, 12), [(3, 11)], "2.6.2", (3, 12), id="its own first"),
    pytest.param((3, 13), [(3, 11), (3, 12)], "2.6.2", (3, 12), id="the newest of the others"),
    pytest.param((3, 13), [], "3.3.1", (3, 13), id="without servers"),
    pytest.param((3, 14), [(3, 11)], "2.6.2", (3, 11), id="too new itself"),
    pytest.param((3, 14), [(3, 13)], "3.3.1", (3, 13), id="too new, others without servers"),
]


@pytest.mark.parametrize(("mine", "others", "paddle", "chosen"), CHOICES)
def test_the_first_that_has_servers_trains(mine, others, paddle, chosen):
    found = choose(python(*mine), {each: python(*each) for each in others})
    assert (found.paddle.version, found.python.version) == (paddle, chosen)


@pytest.mark.parametrize(
    ("wanted", "mine", "others", "paddle", "chosen"),
    [
        ("3", (3, 11), [], "3.3.1", (3, 11)),
        ("3", (3, 14), [(3, 12), (3, 13)], "3.3.1", (3, 13)),
        ("2", (3, 12), [], "2.6.2", (3, 12)),
        ("2", (3, 13), [(3, 12)], "2.6.2", (3, 12)),
        ("2", (3, 13), [], "3.3.1", (3, 13)),
        ("1", (3, 11), [], "2.6.2", (3, 11)),
    ],
)
def test_an_image_of_a_major_version_has_that_one_if_there_is_a_python_for_it(
    wanted, mine, others, paddle, chosen
):
    found = choose(python(*mine), {each: python(*each) for each in others}, wanted)
    assert (found.paddle.version, found.python.version) == (paddle, chosen)


def test_where_nothing_trains_it_says_what_to_install():
    with pytest.raises(LocalClusterError) as caught:
        choose(python(3, 14), {})
    assert str(caught.value) == (
        "no PaddlePaddle for Python 3.14: put Python 3.12 or Python 3.11 on PATH"
    )


def write_program(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}")
    (folder / name).chmod(0o755)


def test_others_are_asked_where_they_are(tmp_path, monkeypatch):
    """A stand-in of a version manager that has no such version is none."""
    stand_ins, programs = tmp_path / "stand-ins", tmp_path / "programs"
    for version in ("3.11", "3.12"):
        write_program(stand_ins, f"python{version}", "echo 'command not found'; exit 127")
    write_program(programs, "python3.12", ANSWER)
    monkeypatch.setenv("PATH", f"{stand_ins}:{programs}")
    monkeypatch.setattr(training, "find", training.find.__wrapped__)
    monkeypatch.setattr(training, "own", lambda: python(3, 13))
    assert found_on_path() == {
        (3, 12): Interpreter("3.12.1", Path("/opt/python3.12"), Path("/opt"))
    }


@pytest.fixture
def without_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine has Python 3.13 alone."""
    found = choose(python(3, 13), {})
    for module in ("examples.quickstart.__main__", "localcluster.provision.images"):
        monkeypatch.setattr(f"{module}.training", lambda *_: found)


def test_a_job_with_servers_is_refused_where_there_are_none(without_servers):
    with pytest.raises(LocalClusterError, match=r"PaddlePaddle 3\.3\.1.*put Python 3\.12"):
        check_servers(read_documents(JOB), ImageTable([]))
    check_servers(read_documents(COLLECTIVE_JOB), ImageTable([]))


def test_the_default_job_is_one_that_trains(without_servers, capsys):
    assert default_job() == COLLECTIVE_JOB
    assert "no parameter servers" in capsys.readouterr().out
