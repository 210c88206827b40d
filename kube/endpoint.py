"""TLS and a proxy for the connection to an API server, as kubeconfigs and the environment say."""

import ssl
from contextlib import suppress
from urllib.parse import SplitResult, urlsplit


def build_tls(
    verifies: bool = True, ca_file: str | None = None, ca_data: str | bytes | None = None
) -> ssl.SSLContext:
    """A context that trusts these authorities, or the system's. Raises OSError and ValueError."""
    # Not create_default_context: newer Pythons make it refuse authorities that kubeadm made.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if not verifies:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif ca_file or ca_data:
        context.load_verify_locations(ca_file, cadata=ca_data)
    else:
        context.load_default_certs()
    return context


def choose_proxy(server: SplitResult, proxy: str, no_proxy: str, is_environments: bool) -> str:
    """The URL of the proxy for a server, empty if there is none or `no_proxy` lists the server.

    A proxy of the environment is not for servers of this machine. Raises ValueError for a proxy
    that cannot be used; the error does not repeat the URL, which can have a password.
    """
    if not proxy or _is_listed(server, no_proxy) or (is_environments and _is_local(server)):
        return ""
    url = proxy if "://" in proxy else f"http://{proxy}"
    if url.partition("://")[0].lower() != "http":
        raise ValueError("only proxies with http:// are supported")
    with suppress(ValueError):  # a port that is not a number
        parts = urlsplit(url)
        is_beyond = parts.path.strip("/") or parts.query or parts.fragment
        if parts.hostname and parts.port != 0 and not is_beyond:
            return url
    raise ValueError(
        "the proxy must be http://USER:PASSWORD@HOST:PORT; "
        "in the password, write / as %2F, ? as %3F, # as %23 and @ as %40"
    )


def _is_local(server: SplitResult) -> bool:
    host = server.hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")  # as in Go


def _is_listed(server: SplitResult, no_proxy: str) -> bool:
    """Whether a list names the server: its host, a domain above it, or a network it is in."""
    host, authority = server.hostname or "", server.netloc.rpartition("@")[2].lower()
    for entry in filter(None, map(str.strip, no_proxy.lower().split(","))):
        domain = "." + entry.removeprefix("*").removeprefix(".")
        is_above = f".{host}".endswith(domain) or f".{authority}".endswith(domain)
        if entry == "*" or is_above or _is_within(host, entry):
            return True
    return False


def _is_within(host: str, network: str) -> bool:
    import ipaddress  # takes time to import, and few environments have a proxy

    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False
