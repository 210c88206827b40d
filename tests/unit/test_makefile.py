"""The set-up of `.venv` leaves another checkout's environment alone."""

import shutil
import subprocess
from pathlib import Path

MAKEFILE = Path(__file__).parents[2] / "Makefile"


def test_an_environment_behind_a_link_is_not_cleared(tmp_path):
    theirs, mine = tmp_path / "theirs", tmp_path / "mine"
    package = theirs / "lib" / "package.py"
    package.parent.mkdir(parents=True)
    package.touch()
    (mine / "requirements").mkdir(parents=True)
    (mine / "requirements" / "dev.txt").touch()
    (mine / ".venv").symlink_to(theirs)
    shutil.copy(MAKEFILE, mine)
    done = subprocess.run(["make", "setup"], cwd=mine, capture_output=True, text=True)
    assert done.returncode != 0
    assert package.exists()
    assert f".venv is a link to {theirs}" in done.stderr
