"""`python -m tests.e2e [ARGUMENTS OF PYTEST]`: build what a real node needs, and run its tests.

`--check` says only whether that is possible here: exit code 0, or 3 and one line that says why not.
"""

import subprocess
import sys
from pathlib import Path

from localcluster.machine.errors import LocalClusterError
from localcluster.provision.binaries import ensure_binaries
from tests.e2e.cgroups import cgroup
from tests.e2e.images import ensure_images
from tests.e2e.programs import ensure_programs
from tests.e2e.world import command_line, obstacle

IMPOSSIBLE = 3
NO_SUCH_TESTS = 4
"""As pytest has it, which would say so when the node runs."""


def main() -> int:
    """Prepare, and run the tests in namespaces of their own; pytest's exit code."""
    if why := obstacle():
        print(why)
        return IMPOSSIBLE
    arguments = sys.argv[1:]
    if arguments == ["--check"]:
        return 0
    if unknown := [each for each in arguments if is_unknown(each)]:
        print(f"no such tests: {' '.join(unknown)}")
        return NO_SUCH_TESTS
    inside = [sys.executable, "-m", "tests.e2e.inside", *arguments]
    try:
        ensure_binaries()
        ensure_programs()
        with cgroup():  # beside no other run: older images go
            ensure_images()
            return subprocess.run(command_line(inside)).returncode
    except LocalClusterError as error:
        print(error)
        return 1
    except KeyboardInterrupt:
        print("stopped; nothing is left running")
        return 130


def is_unknown(argument: str) -> bool:
    """Whether this names a file of tests, or a test in one, that is not there."""
    return argument.startswith("tests/") and not Path(argument.partition("::")[0]).exists()


if __name__ == "__main__":
    sys.exit(main())
