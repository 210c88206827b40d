"""Runs `kubectl pdj` as a user does: as a process, with a kubeconfig."""

import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tests.live.lab import Lab

CHECKOUT = Path(__file__).parents[2]
SECONDS = 200.0


@dataclass(frozen=True, slots=True)
class Done:
    """How a command has ended, and what it has cost."""

    code: int
    out: str
    notes: str
    cpu_seconds: float = 0.0
    seconds: float = 0.0


def environment(kubeconfig: str = "", **more: str) -> dict[str, str]:
    """A user's environment, in which only this kubeconfig is found."""
    kept = {k: v for k, v in os.environ.items() if k not in ("KUBECONFIG", "LANG", "LC_ALL")}
    return {**kept, "KUBECONFIG": kubeconfig, "PYTHONPATH": str(CHECKOUT), **more}


def command(*arguments: str) -> list[str]:
    """The command line of the tool."""
    return [sys.executable, "-m", "pdj", *arguments]


def run_pdj(*arguments: str, kubeconfig: str = "", stdin: bytes | None = None, **more: str) -> Done:
    """Run the tool to its end."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(
        command(*arguments),
        env=environment(kubeconfig, **more),
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    seconds, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    out, notes = done.stdout.decode(), done.stderr.decode()
    assert "Traceback" not in out + notes, out + notes
    return Done(done.returncode, out, notes, cpu, seconds)


class Tool:
    """The tool in a lab's namespace."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self.kubeconfig = lab.cluster.kubectl_environment()["KUBECONFIG"]

    def run(self, *arguments: str, stdin: bytes | None = None, **more: str) -> Done:
        """Run it to its end."""
        return run_pdj(
            "-n", self._lab.namespace, *arguments, kubeconfig=self.kubeconfig, stdin=stdin, **more
        )

    def ok(self, *arguments: str, stdin: bytes | None = None) -> str:
        """What it prints; fails where it does."""
        done = self.run(*arguments, stdin=stdin)
        assert done.code == 0, done
        return done.out

    def start(self, *arguments: str) -> "subprocess.Popen[bytes]":
        """Start it; the caller waits for its end."""
        return subprocess.Popen(
            command("-n", self._lab.namespace, *arguments),
            env=environment(self.kubeconfig),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
