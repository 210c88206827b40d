"""The temporary folder of a run of the tests: what is in it at the end, someone has forgotten.

All test processes, and all that they start, have this one. Folders of pytest's own, of which it
keeps those of the last runs, lie elsewhere.
"""

import os
import sys
import tempfile
from pathlib import Path

import pytest

from localcluster.machine.statefolder import StateFolder, claim

FOLDER = pytest.StashKey[StateFolder]()
LOCK = "lock"


def redirect(config: pytest.Config) -> None:
    """From now on, temporary files go to a folder that is gone at the end of the run.

    If the run is killed, the next one takes it away.
    """
    config.stash[FOLDER] = folder = claim(None)
    os.environ["PYTEST_DEBUG_TEMPROOT"] = tempfile.gettempdir()
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder.run)


def remove(session: pytest.Session) -> None:
    """Remove it, and tell of what is still there though all has gone well."""
    if loaded := sys.modules.get("kubernetes.config.kube_config"):
        loaded._cleanup_temp_files()  # which it does at the end of the process: too late for us
    folder = session.config.stash.get(FOLDER, None)
    if folder is None:  # another process has made it
        return
    left = leftovers(folder.run)
    folder.release()
    if left and session.exitstatus == pytest.ExitCode.OK:
        terminal = session.config.pluginmanager.getplugin("terminalreporter")
        terminal.ensure_newline()
        terminal.write_line(f"left behind in the temporary folder: {', '.join(left)}", yellow=True)


def leftovers(folder: Path) -> list[str]:
    """What is there, but for the place where local clusters make their folders, and its lock."""
    places = list(folder.glob("localcluster-*"))
    found = [path for path in folder.iterdir() if path not in places]
    found += [path for place in places for path in place.iterdir() if path.name != LOCK]
    return sorted(str(path.relative_to(folder)) for path in found)
