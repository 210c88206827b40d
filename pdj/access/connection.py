"""Builds a client of an API server from the sections of a kubeconfig."""

import os
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

from kube.client import Client, Connection
from kube.endpoint import build_tls, choose_proxy
from kube.http import Endpoint, Timeouts
from pdj.access.credentials import Identity, data_of, read_identity
from pdj.access.kubeconfig import INSECURE, Target
from pdj.errors import Problem

USER_AGENT = "kubectl-pdj"
TIMEOUTS = Timeouts(connect=5.0, read=30.0)
IDLE_CONNECTIONS = 8


@dataclass(slots=True)
class UserCredentials:
    """The user's credentials; implements `kube.client.Credentials`. Any thread may use it."""

    load: Callable[[], Target]
    """Reads the kubeconfig again: a login can write into it."""
    identity: Identity
    tls: ssl.SSLContext | None
    lock: threading.Lock = field(default_factory=threading.Lock)
    """A thread that reads the credentials again holds it."""

    def header(self) -> str | None:
        """The Authorization header; None with only a certificate, or without credentials."""
        return self.identity.authorization

    def renew(self, refused: str | None) -> None:
        """Read the credentials again, unless another thread does or has done so: a plugin can open
        a browser. A new certificate is for connections that are opened from now on.
        """
        is_first = not self.lock.locked()
        with self.lock:
            if is_first and self.header() == refused:
                target = self.load()
                self.identity = read_identity(target.user, target.cluster)
                if self.tls:
                    _load_certificate(self.tls, self.identity)


def open_client(target: Target, load: Callable[[], Target] | None = None) -> Client:
    """A client with the permissions of the kubeconfig's user, whose credentials are those that
    `load` finds once the first ones are refused. Raises Problem as `connect` does.
    """
    return Client(connect(target, load), IDLE_CONNECTIONS, USER_AGENT, TIMEOUTS)


def connect(target: Target, load: Callable[[], Target] | None = None) -> Connection:
    """The connection to a target. Runs the login plugin; sends no request. Raises Problem."""
    server = str(target.cluster.get("server") or "")
    try:
        base = urlsplit(server)
        port = base.port or (443 if base.scheme == "https" else 80)
    except ValueError as error:
        raise Problem(f"the kubeconfig's server {server!r}: {error}") from error
    if base.scheme not in ("http", "https") or not base.hostname:
        raise Problem(f"the kubeconfig's server {server!r} is no URL of a server")
    identity = read_identity(target.user, target.cluster)
    tls = _build_tls(target, identity) if base.scheme == "https" else None
    endpoint = Endpoint(
        host=base.hostname,
        port=port,
        tls=tls,
        tls_server_name=str(target.cluster.get("tls-server-name") or ""),
        proxy=_proxy(target, base),
    )
    credentials = UserCredentials(load or (lambda: target), identity, tls)
    return Connection(endpoint, credentials, base.path.rstrip("/"))


def _build_tls(target: Target, identity: Identity) -> ssl.SSLContext:
    verifies = not target.cluster.get(INSECURE)
    with _used():
        authorities = data_of(target.cluster, "certificate-authority") if verifies else b""
        context = build_tls(verifies, ca_data=authorities.decode())
    _load_certificate(context, identity)
    return context


def _load_certificate(context: ssl.SSLContext, identity: Identity) -> None:
    """Load a certificate, if there is one, through a temporary private file, because OpenSSL reads
    only files.
    """
    if identity.certificate:
        import tempfile  # takes time to import; only certificates need it

        with _used(), tempfile.NamedTemporaryFile(prefix="pdj-") as file:
            file.write(identity.certificate.rstrip() + b"\n" + identity.key)
            file.flush()
            context.load_cert_chain(file.name)


@contextmanager
def _used() -> Iterator[None]:
    """Raise Problem for certificates that cannot be used."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise Problem(f"the kubeconfig's certificates cannot be used: {error}") from error


def _proxy(target: Target, base: SplitResult) -> str:
    named = str(target.cluster.get("proxy-url") or "")
    found, listed = (
        os.environ.get(name) or os.environ.get(name.upper()) or ""
        for name in (f"{base.scheme}_proxy", "no_proxy")
    )
    try:
        if named or target.is_inside:
            return choose_proxy(base, named, "", is_environments=False)
        return choose_proxy(base, found, listed, is_environments=True)
    except ValueError as error:
        raise Problem(str(error)) from error
