"""Builds a client of an API server from the sections of a kubeconfig."""

import os
import ssl
from dataclasses import dataclass
from urllib.parse import urlsplit

from kube.client import Client, Connection
from kube.http import Endpoint, Timeouts
from pdj.access.credentials import PLUGIN_SECONDS, Identity, data_of, read_identity
from pdj.access.kubeconfig import Target
from pdj.errors import Problem

USER_AGENT = "kubectl-pdj"
TIMEOUTS = Timeouts(connect=5.0, read=30.0)
IDLE_CONNECTIONS = 8


@dataclass(slots=True)
class Login:
    """The user's credentials; implements `kube.client.Credentials`."""

    target: Target
    identity: Identity
    plugin_seconds: float

    def header(self) -> str | None:
        """The Authorization header; None with only a certificate, or without credentials."""
        return self.identity.authorization

    def renew(self, refused: str | None) -> None:
        """Read the credentials again, unless the request had no Authorization header."""
        if refused is not None:
            target = self.target
            self.identity = read_identity(target.user, target.cluster, self.plugin_seconds)


def open_client(target: Target) -> Client:
    """A client with the permissions of the kubeconfig's user. Raises Problem as `connect` does."""
    return Client(connect(target), IDLE_CONNECTIONS, USER_AGENT, TIMEOUTS)


def connect(target: Target, plugin_seconds: float = PLUGIN_SECONDS) -> Connection:
    """The connection to a target. Runs the login plugin; sends no request. Raises Problem."""
    server = str(target.cluster.get("server") or "")
    try:
        base = urlsplit(server)
        port = base.port or (443 if base.scheme == "https" else 80)
    except ValueError as error:
        raise Problem(f"the kubeconfig's server {server!r}: {error}") from error
    if base.scheme not in ("http", "https") or not base.hostname:
        raise Problem(f"the kubeconfig's server {server!r} is no URL of a server")
    identity = read_identity(target.user, target.cluster, plugin_seconds)
    endpoint = Endpoint(
        host=base.hostname,
        port=port,
        tls=_build_tls(target, identity) if base.scheme == "https" else None,
        tls_server_name=str(target.cluster.get("tls-server-name") or ""),
        proxy=_proxy(target, base.scheme, base.hostname),
    )
    login = Login(target, identity, plugin_seconds)
    return Connection(endpoint, login, base.path.rstrip("/"))


def _build_tls(target: Target, identity: Identity) -> ssl.SSLContext:
    # Not create_default_context: newer Pythons make it refuse authorities that kubeadm made.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        if target.cluster.get("insecure-skip-tls-verify"):
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        elif authority := data_of(target.cluster, "certificate-authority"):
            context.load_verify_locations(cadata=authority.decode())
        else:
            context.load_default_certs()
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


def _proxy(target: Target, scheme: str, host: str) -> str:
    proxy = str(target.cluster.get("proxy-url") or "")
    if not proxy and not target.is_inside:
        name = f"{scheme}_proxy"
        found = os.environ.get(name) or os.environ.get(name.upper()) or ""
        proxy = "" if found and _bypasses_proxies(host) else found
    if not proxy:
        return ""
    url = proxy if "://" in proxy else f"http://{proxy}"
    if urlsplit(url).scheme != "http":
        raise Problem("only proxies with http:// are supported")  # the URL can have a password
    return url


def _bypasses_proxies(host: str) -> bool:
    if host in ("localhost", "::1") or host.startswith("127."):
        return True
    listed = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    names = [each.strip().removeprefix("*").lstrip(".") for each in listed.split(",")]
    return any(
        host == name or host.endswith(f".{name}") or _is_within(host, name)
        for name in names
        if name
    ) or "*" in listed.split(",")


def _is_within(host: str, network: str) -> bool:
    import ipaddress  # takes time to import, and few environments have a proxy

    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False
