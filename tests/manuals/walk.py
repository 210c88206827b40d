"""Commands run as the reader of a document runs them: in order, each printed with its output.

A reader who sees that something is not there yet asks again: so does a step with `until`. What a
pattern names can stand in later commands, as `{name}`.
"""

import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from localcluster import Cluster
from localcluster.machine import clock
from tests.live import patience

POLL_SECONDS = 1.0


@dataclass(frozen=True)
class Step:
    """A shell command; `until` is a regular expression that its output comes to match."""

    command: str
    until: str = ""


Sections = Sequence[tuple[str, *tuple[Step, ...]]]
"""Headings, each with its steps."""


class WalkError(Exception):
    """A command failed, or did not show in time what it has to show."""


@dataclass
class Walk:
    """One reader, who stands in `folder` and works on one cluster; `said` is what was printed."""

    cluster: Cluster
    folder: Path
    show: Callable[[str], object]
    said: list[tuple[str, str]] = field(default_factory=list)
    _found: dict[str, str] = field(default_factory=dict)

    def take(self, sections: Sections) -> None:
        """Every step of every section. Raises WalkError."""
        for title, *steps in sections:
            self.show(f"\n## {title}\n")
            for step in steps:
                self.step(step)

    def step(self, step: Step) -> str:
        """Run one command; what it printed. Raises WalkError."""
        command = re.sub(r"\{(\w+)\}", lambda m: self._found.get(m[1], m[0]), step.command)
        self.show(f"$ {command}")
        output = self._repeat(command, step.until)
        self.show(output)
        self.said.append((command, output))
        return output

    def last(self, command: str) -> str:
        """What the last command that begins like this has printed."""
        return next(output for said, output in reversed(self.said) if said.startswith(command))

    def _repeat(self, command: str, until: str) -> str:
        deadline = clock.monotonic() + patience.SECONDS
        while True:
            output, is_done = self._run(command)
            found = re.search(until, output)
            if is_done and found:
                self._found.update(found.groupdict())
                return output
            if not until or clock.monotonic() > deadline:
                wanted = f"not {until!r} within {patience.SECONDS:.0f} s" if until else "failed"
                raise WalkError(f"$ {command}\n{output}\n{wanted}")
            clock.sleep(POLL_SECONDS)

    def _run(self, command: str) -> tuple[str, bool]:
        try:
            done = subprocess.run(
                ["bash", "-c", command],
                env=self.cluster.kubectl_environment(),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=patience.SECONDS,
            )
        except subprocess.TimeoutExpired:
            return f"no end within {patience.SECONDS:.0f} s", False
        return done.stdout.rstrip("\n"), done.returncode == 0
