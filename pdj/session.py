"""The context of a command: the cluster, the namespace, the terminal."""

import argparse
import os
import sys
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, TextIO

from kube.clock import Clock
from pdj.text.terminal import is_obeyed, paint, plain

if TYPE_CHECKING:
    from kube.client import Client
    from pdj.access.login import Login
    from pdj.gather.jobs import Handle


COLUMNS, LINES = 80, 24
"""The size of a terminal that reports none, for example in a container."""


class Screen:
    """An output stream, with colours if it is a terminal."""

    def __init__(self, out: TextIO | None = None, has_colour: bool | None = None) -> None:
        self.out = out or sys.stdout
        self.is_terminal = is_obeyed(self.out)
        wanted = self.is_terminal and not os.environ.get("NO_COLOR")
        self.has_colour = wanted if has_colour is None else has_colour
        self._drawn = 0

    def paint(self, text: str, *styles: str) -> str:
        """The text in these colours."""
        return paint(text, *styles) if self.has_colour else text

    def write(self, *lines: str) -> None:
        """Print whole lines."""
        self.out.write("".join(f"{line}\n" for line in lines))
        self.out.flush()

    def redraw(self, lines: list[str]) -> None:
        """Print at most a screenful over the lines drawn last; all lines if this is no terminal."""
        if self.is_terminal and self._drawn:
            self.out.write(f"\033[{self._drawn}F\033[J")
        height = self.height() if self.is_terminal else len(lines)
        shown = lines[: max(1, height)]
        self._drawn = len(shown)
        self.write(*shown)

    def columns(self) -> int:
        """The width in columns; unlimited for a pipe."""
        return self._size().columns or COLUMNS if self.is_terminal else 1 << 20

    def height(self) -> int:
        """How many lines can be redrawn."""
        return (self._size().lines or LINES) - 1 if self.is_terminal else 1 << 20

    def _size(self) -> os.terminal_size:
        return os.get_terminal_size(self.out.fileno())


@dataclass
class Session:
    """One run of one command. `client` connects to the cluster when it is first used."""

    options: argparse.Namespace
    screen: Screen = field(default_factory=Screen)
    notes: Screen = field(default_factory=lambda: Screen(sys.stderr))
    """Messages for people, kept apart from output that programs read."""
    clock: Clock = field(default_factory=Clock)

    @cached_property
    def login(self) -> "Login":
        """What the kubeconfig of the options names, and the client of it."""
        from pdj.access.login import Login

        return Login(self.options.kubeconfig, self.options.context)

    @cached_property
    def client(self) -> "Client":
        """The client of the cluster. Raises Problem."""
        return self.login.client()

    @property
    def namespace(self) -> str:
        """The namespace in which the command works."""
        return str(self.options.namespace or self.login.open()[1].namespace)

    def handle(self, name: str, namespace: str = "") -> "Handle":
        """A job, for at most `--timeout`, which is for all jobs of the command together."""
        from pdj.gather.jobs import Handle

        where = namespace or self.namespace
        return Handle(self.client, where, name, self.clock, self.options.timeout, self._since)

    @cached_property
    def _since(self) -> float:
        return self.clock.monotonic()

    def note(self, text: str) -> None:
        """Print a message for people, on standard error."""
        self.notes.write(plain(text))

    @property
    def now(self) -> datetime:
        """The current time."""
        return self.clock.now()
