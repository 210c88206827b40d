"""The client of a program, which reads the kubeconfig again once its login is refused.

A program stays with the cluster that it was opened for. It keeps its context when the
kubeconfig's current context changes. If its context gets another server, it refuses that server.
"""

import threading

from kube.client import Client
from pdj.access.connection import open_client
from pdj.access.kubeconfig import Target, load_target
from pdj.errors import Problem


class Login:
    """Builds the client when it is needed. Any thread may use it."""

    def __init__(self, kubeconfig: str | None, context: str | None) -> None:
        self._kubeconfig = kubeconfig
        self._context = context
        self._lock = threading.Lock()
        """Guards all below."""
        self._target: Target | None = None
        self._client: Client | None = None

    def client(self) -> Client:
        """The client. Raises Problem if the kubeconfig is unusable or names another server."""
        return self.open()[0]

    def open(self) -> tuple[Client, Target]:
        """The client, and what the kubeconfig names. Raises Problem as `client` does."""
        with self._lock:
            if self._client is None or self._target is None:
                self._target = self._load()
                self._client = open_client(self._target, self._load)
            return self._client, self._target

    def _load(self) -> Target:
        """The same context of the same kubeconfig, with the credentials that it has now."""
        known = self._target
        target = load_target(self._kubeconfig, known.context or None if known else self._context)
        before, now = (each.cluster.get("server") for each in (known or target, target))
        if before != now:
            named = f"context {target.context!r}" if target.context else "default"
            raise Problem(
                f"the kubeconfig's {named} now has the server {now}, but this program uses "
                f"{before}: start it again"
            )
        return target
