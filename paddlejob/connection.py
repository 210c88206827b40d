"""The connection of a client to the cluster that kubectl would use, or to one on this machine."""

import contextlib
import sys
import weakref
from functools import cached_property
from pathlib import Path
from typing import Self

from kube.client import Client
from paddlejob.errors import NoCluster, translating
from pdj.access.login import Login
from pdj.text.terminal import plain


class Connection:
    """Connects on the first call. `nodes` are those of a local cluster; None for another."""

    def __init__(
        self,
        namespace: str | None,
        kubeconfig: str | Path | None,
        context: str | None,
        nodes: int | None,
    ) -> None:
        self._stack = contextlib.ExitStack()
        self.close = weakref.finalize(self, self._stack.close)
        """Close the connections, and end the local cluster, if there is one."""
        self._namespace = namespace
        if nodes is not None:
            from pdj.act.host import run_host

            order = {"objects": [], "namespace": "default", "nodes": nodes}
            with translating():
                _, ready = self._stack.enter_context(run_host(_say, order))
            kubeconfig, context = ready["kubeconfig"], None
        self._login = Login(str(kubeconfig) if kubeconfig else None, context)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Client of namespace {self._namespace or '(the default)'}>"

    @property
    def namespace(self) -> str:
        """The namespace of the client's jobs. Raises NoCluster if no cluster is found."""
        with translating(NoCluster):
            return self._namespace or self._login.open()[1].namespace

    @cached_property
    def api(self) -> Client:
        """The client of the API server. Raises NoCluster if no cluster is found."""
        with translating(NoCluster):
            client = self._login.client()
        self._stack.callback(client.close)
        return client


def _say(text: str) -> None:
    sys.stderr.write(f"{plain(text)}\n")
