"""Runs files of tests in one copy of the project, one after the other, each in a new process."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

LIMIT_SECONDS = 300
PATIENCE = "0.02"
"""Where a mutant makes a test wait in vain, it fails by itself before the limit."""
ARGUMENTS = (
    *("-x", "-q", "--no-header"),
    # Not needed here, and loading hypothesis takes longer than most of the files.
    *("-p", "no:cacheprovider", "-p", "no:hypothesispytest"),
)
PACKAGES = (
    *("pytest", "yaml", "orjson", "structlog", "prometheus_client", "kubernetes.config"),
    *("google.protobuf.descriptor_pb2", "cryptography.x509", "execnet", "http.server"),
)
"""What most tests import that is not of the project."""
FORK = """
import importlib, os, sys
output, *packages = sys.argv[1:]
for name in packages:
    importlib.import_module(name)
for line in sys.stdin:
    child = os.fork()
    if not child:
        file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, 1)
        os.dup2(file, 2)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.exit(sys.modules["pytest"].main(line.split()))
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Runner:
    """A process in a copy of the project that forks for each run, with the packages imported.

    A run imports the project itself, so that it is that of the copy as it is at that moment.
    """

    def __init__(self, root: Path) -> None:
        self._output = root / "output"
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        environment["TEST_PATIENCE"] = PATIENCE
        self._process = subprocess.Popen(
            [sys.executable, "-c", FORK, str(self._output), *PACKAGES],
            cwd=root,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def first_failure(self, path: str) -> str:
        """The first test of a file that fails, empty where none does.

        Raises RuntimeError where the tests could not run: that kills no mutant.
        """
        assert self._process.stdin and self._process.stdout
        self._output.write_text("")
        limit = threading.Timer(LIMIT_SECONDS, self._kill)
        limit.start()
        self._process.stdin.write(f"{' '.join(ARGUMENTS)} {path}\n")
        self._process.stdin.flush()
        code = self._process.stdout.readline().strip()
        limit.cancel()
        output = self._output.read_text()
        for line in output.splitlines():
            if line.startswith("FAILED "):
                return line.removeprefix("FAILED ").split(" - ")[0]
        if code != "0":
            raise RuntimeError(f"the tests did not run: {output[-500:]}")
        return ""

    def close(self) -> None:
        self._kill()
        self._process.communicate()

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
