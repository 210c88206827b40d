"""Where the user's folders are, and what is said where there is none to write to."""

import os
from pathlib import Path

import pytest

from localcluster.machine.errors import LocalClusterError
from localcluster.machine.userfolder import user_folder, writable

VARIABLE = "XDG_CACHE_HOME"
SAYS = r"^cannot write to [^\n]*: set XDG_CACHE_HOME to a folder that you can write to$"


@pytest.mark.parametrize("value", ["", None], ids=["empty", "unset"])
def test_it_lies_below_the_home_unless_one_is_named(value, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv(VARIABLE, raising=False)
    if value is not None:
        monkeypatch.setenv(VARIABLE, value)
    assert user_folder(VARIABLE, ".cache") == tmp_path / ".cache/paddlejob-operator"
    monkeypatch.setenv(VARIABLE, str(tmp_path / "ö x"))
    assert user_folder(VARIABLE, ".cache") == tmp_path / "ö x/paddlejob-operator"


def test_a_home_that_cannot_be_written_to_is_one_line_with_what_to_set(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, _: path != tmp_path)
    with pytest.raises(LocalClusterError, match=SAYS):
        writable(tmp_path / "not" / "made", VARIABLE)


def test_a_user_without_a_home_is_told_the_same(monkeypatch):
    def home() -> Path:
        raise RuntimeError

    monkeypatch.setattr(Path, "home", home)
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(LocalClusterError, match=SAYS):
        writable(user_folder(VARIABLE, ".cache"), VARIABLE)


def test_a_file_lies_in_the_folder_that_counts(tmp_path):
    file = tmp_path / ".lock"
    file.touch()
    assert writable(file, VARIABLE) == file
