"""`python -m tests.e2e [ARGUMENTS OF PYTEST]`: build what a real node needs, and run its tests.

`--check` says only whether that is possible here: exit code 0, or 3 and one line that says why not.
"""

import subprocess
import sys

from localcluster.build import ensure_binaries
from localcluster.errors import LocalClusterError
from tests.e2e.images import ensure_images
from tests.e2e.programs import ensure_programs
from tests.e2e.world import command_line, obstacle

IMPOSSIBLE = 3
TESTS = ("tests/e2e", "tests/cluster/node")


def main() -> int:
    """Prepare, and run pytest in namespaces of its own; its exit code."""
    if why := obstacle():
        print(why)
        return IMPOSSIBLE
    arguments = sys.argv[1:]
    if arguments == ["--check"]:
        return 0
    try:
        ensure_binaries()
        ensure_programs()
        ensure_images()
    except LocalClusterError as error:
        print(error)
        return 1
    given = any("tests/" in each for each in arguments)
    pytest = [sys.executable, "-m", "pytest", *(() if given else TESTS), *arguments]
    return subprocess.run(command_line(pytest)).returncode


if __name__ == "__main__":
    sys.exit(main())
