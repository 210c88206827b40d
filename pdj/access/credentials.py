"""The user's credentials: a token, a password, a client certificate, or a login plugin's.

A plugin runs when the connection is prepared, and again when the API server refuses its token.
"""

import base64
from dataclasses import dataclass

from api.objects import Raw
from kube.bounds import read_bounded
from pdj.errors import Problem

_UNSUPPORTED = {
    "auth-provider": "use an exec plugin in its place",
    "as": "impersonation",
    "as-groups": "impersonation",
    "as-uid": "impersonation",
    "as-user-extra": "impersonation",
}


@dataclass(frozen=True, slots=True)
class Identity:
    """Credentials: an Authorization header, or a certificate with its key, in PEM."""

    authorization: str | None = None
    certificate: bytes = b""
    key: bytes = b""


def read_identity(user: Raw, cluster: Raw) -> Identity:
    """Read the credentials of a kubeconfig's user; runs the login plugin. Raises Problem."""
    for name, instead in _UNSUPPORTED.items():
        if user.get(name):
            raise Problem(f"the kubeconfig's user has {name}, which is not supported: {instead}")
    if user.get("exec"):
        return _ask_plugin(user["exec"], cluster)
    return Identity(
        _authorization(user),
        data_of(user, "client-certificate"),
        data_of(user, "client-key"),
    )


def data_of(section: Raw, name: str) -> bytes:
    """The content of `<name>-data` or of the file `<name>`; empty if neither is set."""
    try:
        if section.get(f"{name}-data"):
            return base64.b64decode(str(section[f"{name}-data"]), validate=True)
        return read_bounded(section[name]) if section.get(name) else b""
    except (OSError, ValueError) as error:
        raise Problem(f"the kubeconfig's {name}: {error}") from error


def _authorization(user: Raw) -> str | None:
    if user.get("tokenFile"):
        try:
            token = read_bounded(user["tokenFile"]).decode().strip()
        except (OSError, ValueError) as error:
            raise Problem(f"the kubeconfig's tokenFile: {error}") from error
        if token:
            return f"Bearer {token}"
    if user.get("token"):
        return f"Bearer {user['token']}"
    if user.get("username"):
        secret = f"{user['username']}:{user.get('password') or ''}".encode()
        return f"Basic {base64.b64encode(secret).decode()}"
    return None


def _ask_plugin(plugin: Raw, cluster: Raw) -> Identity:
    from kube.plugin import PluginError, ask_plugin  # takes time to import; few users need it

    try:
        status = ask_plugin(plugin, cluster)
    except PluginError as error:
        raise Problem(str(error)) from error
    token = status.get("token")
    return Identity(
        f"Bearer {token}" if token else None,
        status.get("clientCertificateData", "").encode(),
        status.get("clientKeyData", "").encode(),
    )
