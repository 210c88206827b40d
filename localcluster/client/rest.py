"""Requests to a server of the local cluster by HTTPS or HTTP, with a token that never changes."""

import base64
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import yaml

from kube import client
from kube.endpoint import build_tls
from kube.errors import ApiError
from kube.http import Endpoint, Timeouts

Raw = dict[str, Any]

TIMEOUT_SECONDS = 30.0
IDLE_CONNECTIONS = 32
APPLY_PATCH = "application/apply-patch+yaml"


@dataclass(frozen=True, slots=True)
class Server:
    """A server's address, its certificate authority (in PEM), and the client's token, if any."""

    url: str
    authority: str | None = None
    token: str = ""

    @classmethod
    def from_kubeconfig(cls, path: Path) -> Self:
        """Read a kubeconfig of the local cluster, which has one server and one token."""
        config = yaml.safe_load(path.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        return cls(cluster["server"], authority, user["token"])

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        url = urlsplit(self.url)
        return url.hostname or "127.0.0.1", url.port or 443

    def header(self) -> str | None:
        """The Authorization header; None without a token."""
        return f"Bearer {self.token}" if self.token else None

    def renew(self, refused: str | None) -> None:
        """Do nothing: the token never changes."""


class ServerClient(client.Client):
    """A client of one server. Close it at the end, by `close` or as a context manager."""

    def __init__(self, server: Server, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        self.server = server
        is_plain = server.url.startswith("http:")
        tls = None if is_plain else build_tls(ca_data=server.authority)
        connection = client.Connection(Endpoint(*server.address, tls), server)
        timeouts = Timeouts(timeout_seconds, timeout_seconds)
        super().__init__(connection, IDLE_CONNECTIONS, "localcluster", timeouts)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def is_ok(self, path: str) -> bool:
        """Whether GET succeeds; False for any error, or without an answer."""
        try:
            self.text(path)
        except ApiError:
            return False
        return True


def has_condition(thing: Raw, kind: str) -> bool:
    """Whether an object's condition of this type is True."""
    conditions = (thing.get("status") or {}).get("conditions") or []
    return any(each["type"] == kind and each["status"] == "True" for each in conditions)
