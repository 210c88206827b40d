"""`python -m tests.e2e.inside [ARGUMENTS OF PYTEST]`: start a real node and run tests on it.

Tests that mostly wait run in several processes. Those that measure, that restart a program of the
node or change the node itself run afterwards, alone. Where files are named, all runs alone.
"""

import subprocess
import sys

import pytest

from tests.e2e.images import IMAGES, base_archive
from tests.e2e.node import real_node
from tests.e2e.shared import Owner, share
from tests.live.operated import start_operator

TESTS = ("tests/e2e", "tests/cluster/node")
ALONE = (
    "tests/e2e/test_starts.py",
    "tests/e2e/test_peer.py",
    "tests/e2e/test_disturbances.py",
    "tests/e2e/test_ends.py",
    "tests/e2e/test_code.py",
    "tests/e2e/test_stalled.py",
    "tests/cluster/node/test_registration.py",
)
PROCESSES = 3
FINE = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
"""What is picked by name may all be in one half."""
ELASTIC_TIMEOUT_SECONDS = 10


def main(arguments: list[str]) -> int:
    """The exit code of pytest: the first that tells of a failure."""
    has_files = any("tests/" in each for each in arguments)
    codes: list[int] = []
    sys.stdout.write("starting a node and loading its images, about 40 s ...\n")
    sys.stdout.flush()
    with real_node([base_archive(), *(image.archive() for image in IMAGES)]) as node:
        start_operator(
            node.cluster,
            f"--elastic-timeout={ELASTIC_TIMEOUT_SECONDS}",
            pod_security="restricted",
        )
        if not has_files:
            share(node)
            codes.append(run_side_by_side(arguments))
        alone = arguments if has_files else [*ALONE, *arguments]
        codes.append(pytest.main(alone, plugins=[Owner(node)]))
    return exit_code(codes)


def exit_code(codes: list[int]) -> int:
    """The first that tells of a failure; that of no tests where no half has any."""
    return next((int(code) for code in codes if code not in FINE), int(min(codes)))


def run_side_by_side(arguments: list[str]) -> int:
    """All but those that want to be alone, a file at a time in each process."""
    ignored = [f"--ignore={file}" for file in ALONE]
    distributed = [f"--numprocesses={PROCESSES}", "--dist=loadfile", "--no-loadscope-reorder"]
    command = [sys.executable, "-m", "pytest", *distributed, *ignored, *TESTS, *arguments]
    return subprocess.run(command).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
