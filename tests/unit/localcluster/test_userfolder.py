"""Where the user's folders are, and what is said where there is none to write to."""

import errno
import os
import pwd
import tempfile
from pathlib import Path

import pytest

from localcluster.machine.disk import explain
from localcluster.machine.errors import LocalClusterError
from localcluster.machine.statefolder import claim
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


@pytest.mark.parametrize("home", ["/proc/nope", "/proc/self", "/dev/null", "file"])
def test_a_home_that_cannot_be_written_to_is_one_line_with_what_to_set(home, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("HOME", str(tmp_path / home))
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(LocalClusterError, match=SAYS):
        writable(user_folder(VARIABLE, ".cache"), VARIABLE)


def test_a_folder_that_is_there_can_be_closed_too():
    with pytest.raises(LocalClusterError, match=SAYS):
        writable(Path("/proc/self"), VARIABLE)


def test_a_folder_that_is_not_there_is_made(tmp_path):
    assert writable(tmp_path / "not" / "made", VARIABLE).is_dir()


def test_a_user_without_a_home_gets_the_same_line(monkeypatch):
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", {}.__getitem__)
    with pytest.raises(LocalClusterError, match=SAYS):
        writable(user_folder(VARIABLE, ".cache"), VARIABLE)
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert explain(full).endswith("and do this again")


def test_a_temporary_folder_of_another_user_is_one_line_with_what_to_set(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / f"localcluster-{os.getuid()}").symlink_to(tmp_path)
    says = r"^\S+ is of another user: set TMPDIR to a folder of your own$"
    with pytest.raises(LocalClusterError, match=says):
        claim(None)
