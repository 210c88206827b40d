"""The context of a command: the cluster, the namespace, the terminal."""

import argparse
import sys
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from kube.clock import Clock
from pdj.text.terminal import Screen, plain

if TYPE_CHECKING:
    from kube.client import Client
    from pdj.access.kubeconfig import Target


@dataclass
class Session:
    """One run of one command. `client` connects to the cluster when it is first used."""

    options: argparse.Namespace
    screen: Screen = field(default_factory=Screen)
    notes: Screen = field(default_factory=lambda: Screen(sys.stderr))
    """Messages for people, kept apart from output that programs read."""
    clock: Clock = field(default_factory=Clock)

    @cached_property
    def target(self) -> "Target":
        """The cluster, user and namespace of the kubeconfig. Raises Problem."""
        from pdj.access.kubeconfig import load_target

        return load_target(self.options.kubeconfig, self.options.context)

    @cached_property
    def client(self) -> "Client":
        """The client of the cluster."""
        from pdj.access.connection import open_client

        return open_client(self.target)

    @property
    def namespace(self) -> str:
        """The namespace in which the command works."""
        return str(self.options.namespace or self.target.namespace)

    def note(self, text: str) -> None:
        """Print a message for people, on standard error."""
        self.notes.write(plain(text))

    @property
    def now(self) -> datetime:
        """The current time."""
        return self.clock.now()
