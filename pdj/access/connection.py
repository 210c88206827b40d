"""Builds a client of an API server from the sections of a kubeconfig."""

import os
import ssl
from dataclasses import dataclass
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
    """The user's credentials; implements `kube.client.Credentials`."""

    target: Target
    identity: Identity

    def header(self) -> str | None:
        """The Authorization header; None with only a certificate, or without credentials."""
        return self.identity.authorization

    def renew(self, refused: str | None) -> None:
        """Read the credentials again, unless the request had no Authorization header."""
        if refused is not None:
            self.identity = read_identity(self.target.user, self.target.cluster)


def open_client(target: Target) -> Client:
    """A client with the permissions of the kubeconfig's user. Raises Problem as `connect` does."""
    return Client(connect(target), IDLE_CONNECTIONS, USER_AGENT, TIMEOUTS)


def connect(target: Target) -> Connection:
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
    endpoint = Endpoint(
        host=base.hostname,
        port=port,
        tls=_build_tls(target, identity) if base.scheme == "https" else None,
        tls_server_name=str(target.cluster.get("tls-server-name") or ""),
        proxy=_proxy(target, base),
    )
    return Connection(endpoint, UserCredentials(target, identity), base.path.rstrip("/"))


def _build_tls(target: Target, identity: Identity) -> ssl.SSLContext:
    verifies = not target.cluster.get(INSECURE)
    try:
        authorities = data_of(target.cluster, "certificate-authority") if verifies else b""
        context = build_tls(verifies, ca_data=authorities.decode())
        if identity.certificate:
            _load_certificate(context, identity)
    except (OSError, ValueError) as error:
        raise Problem(f"the kubeconfig's certificates cannot be used: {error}") from error
    return context


def _load_certificate(context: ssl.SSLContext, identity: Identity) -> None:
    """Load a certificate through a temporary private file, because OpenSSL reads only files."""
    import tempfile  # takes time to import; only certificates need it

    with tempfile.NamedTemporaryFile(prefix="pdj-") as file:
        file.write(identity.certificate.rstrip() + b"\n" + identity.key)
        file.flush()
        context.load_cert_chain(file.name)


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
