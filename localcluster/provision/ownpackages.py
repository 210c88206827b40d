"""The Python that runs a cluster for `kubectl pdj run --local` and for the Python client.

That is the user's, if it has the locked versions of all packages that the cluster and the operator
need. Otherwise an environment in the user's cache has them, because a user's programs can need
other versions of the same packages.
"""

import hashlib
import platform
import re
import sys
from importlib import metadata
from pathlib import Path

from localcluster.machine.project import PROJECT
from localcluster.machine.report import Report
from localcluster.provision.environments import WHEELS, Recipe, cache_folder, ensure_installed
from localcluster.provision.requirements import plain_lines
from localcluster.provision.training import own

LOCKS = [PROJECT / "requirements" / name for name in ("operator.txt", "localcluster.txt")]
PINNED = re.compile(r"([\w.-]+)==(\S+)")


def ensure_python(report: Report) -> Path:
    """A Python with the locked packages. Raises LocalClusterError."""
    return Path(sys.executable) if all(map(is_installed, locked())) else ensure_apart(report)


def ensure_apart(report: Report) -> Path:
    """The Python of an environment of its own, built if needed. Raises LocalClusterError."""
    mine, lines = own(), locked()
    key = hashlib.sha256(repr([*lines, mine.release, mine.prefix, platform.machine()]).encode())
    path = cache_folder() / f"localcluster-{key.hexdigest()[:12]}"
    wanted = [*WHEELS, "--require-hashes", *(f"--requirement={lock}" for lock in LOCKS)]
    recipe = Recipe("the packages of the local cluster", wanted, python=mine, lines=lines)
    return ensure_installed(path, recipe, report) / "bin" / "python"


def locked() -> list[str]:
    """The packages with their versions and hashes, one a line."""
    return [line for lock in LOCKS for line in plain_lines(lock)]


def is_installed(line: str) -> bool:
    """Whether this Python has the package of a line of a lock file, in that version."""
    pinned = PINNED.match(line)
    try:
        return pinned is not None and metadata.version(pinned[1]) == pinned[2]
    except metadata.PackageNotFoundError:
        return False
