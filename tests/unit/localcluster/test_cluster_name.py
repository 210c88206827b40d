"""Which cluster a command is about: the option, else the variable, else the usual one."""

import pytest

from localcluster.__main__ import main
from localcluster.commands import background
from localcluster.machine.statefolder import DEFAULT_NAME


@pytest.mark.parametrize(
    ("variable", "words", "name"),
    [
        ("", (), DEFAULT_NAME),
        ("mine", (), "mine"),
        ("mine", ("--name", "other"), "other"),
    ],
)
def test_cluster_is_named(monkeypatch, variable, words, name):
    stopped: list[str] = []
    monkeypatch.setenv("LOCALCLUSTER_NAME", variable)
    monkeypatch.setattr(background, "stop", lambda each, _tell: stopped.append(each))
    main(["down", *words])
    assert stopped == [name]


def test_a_variable_that_is_no_name_is_refused(monkeypatch):
    monkeypatch.setenv("LOCALCLUSTER_NAME", "../other")
    with pytest.raises(SystemExit):
        main(["down"])
