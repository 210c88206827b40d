"""Where the API server is and who we are. The only module that imports `kubernetes`.

That package reads the configuration: the server, TLS, proxies and credentials. It sends no request,
because its request layer takes three times the CPU, repeats writes and guesses content types.
"""

import base64
import os
import threading
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies

import yaml
from kubernetes.client.configuration import Configuration
from kubernetes.config import incluster_config, kube_config
from kubernetes.utils.keepalive import tcp_keepalive_socket_options

from api.objects import Raw
from kube.bounds import read_bounded, read_kubeconfig
from kube.client import Connection
from kube.clock import Clock
from kube.endpoint import build_tls, choose_proxy
from kube.http import Endpoint
from kube.plugin import ask_plugin

RENEW_SECONDS = 3.0
"""The longest wait for a read, because a plugin can hang and the lease must be renewed."""
STUCK_SECONDS = 60.0
"""After a read has hung for this long, another one begins beside it."""
TOKEN_PERIOD_SECONDS = 60.0
"""A mounted token is replaced by the kubelet long before it expires; read it this often."""
_FILES = {
    "certificate-authority": "certificate-authority-data",
    "client-certificate": "client-certificate-data",
    "client-key": "client-key-data",
    "tokenFile": "token",
}
"""Fields that name a file, and for each the field that replaces the file if it is set."""
_INSECURE = "insecure-skip-tls-verify"
"""The package takes any text for true, even `false`, and then verifies nothing."""
_ENVIRONMENT_HOST = incluster_config.SERVICE_HOST_ENV_NAME


class ConfigurationError(Exception):
    """No usable configuration of an API server."""


class Credentials:
    """The Authorization header, reloaded when it is old or was refused.

    If a read fails or hangs, the last header stays: the file can be empty for a moment while it is
    replaced. A read that hangs delays the callers of that moment, by RENEW_SECONDS at most.
    """

    def __init__(self, read: Callable[[], str | None], period_seconds: float, clock: Clock) -> None:
        self._read = read
        self._period = period_seconds
        self.clock = clock
        self._lock = threading.Lock()
        """Guards all that follows. But a reader that hung writes _header without the lock."""
        self._reader: threading.Thread | None = None
        self._header = read()
        self._read_at = clock.monotonic()

    def header(self) -> str | None:
        """The header's value; None if the connection itself authenticates us, by a certificate."""
        with self._lock:
            if self.clock.monotonic() - self._read_at >= self._period:
                self._read_again_locked()
            return self._header

    def renew(self, refused: str | None) -> None:
        """Reload the header, unless another thread has done so since `refused` was returned."""
        with self._lock:
            if self._header == refused:
                self._read_again_locked()

    def _read_again_locked(self) -> None:
        now = self.clock.monotonic()
        is_reading = self._reader is not None and self._reader.is_alive()
        if is_reading and now - self._read_at < STUCK_SECONDS:
            return
        self._read_at = now
        self._reader = threading.Thread(target=self._read_again, name="credentials", daemon=True)
        self._reader.start()
        self._reader.join(RENEW_SECONDS)

    def _read_again(self) -> None:
        try:
            self._header = self._read() or self._header
        except Exception:  # the loaders raise many types; the request fails and says why
            return


def load_connection(kubeconfig: str | None, clock: Clock) -> Connection:
    """The connection of a kubeconfig file, else of the pod's service account, else of the default.

    The default is $KUBECONFIG or ~/.kube/config. Nothing is sent yet. Raises ConfigurationError
    with one line that says what is wrong.
    """
    is_inside = not kubeconfig and bool(os.environ.get(_ENVIRONMENT_HOST))
    path = kubeconfig or kube_config.KUBE_CONFIG_DEFAULT_LOCATION
    try:
        return _load_in_cluster(clock) if is_inside else _load_kubeconfig(path, clock)
    except Exception as error:
        way = "the pod's service account" if is_inside else f"the kubeconfig {path}"
        why = " ".join(str(error).split()) or type(error).__name__
        raise ConfigurationError(f"no connection to a cluster by {way}: {why}") from error


def _load_in_cluster(clock: Clock) -> Connection:
    configuration = Configuration()
    incluster_config.load_incluster_config(  # type: ignore[no-untyped-call]
        configuration, try_refresh_token=False
    )
    # The environment's proxy is for addresses outside the cluster; the API server is inside.
    configuration.proxy = None

    def read() -> str | None:
        token = read_bounded(incluster_config.SERVICE_TOKEN_FILENAME).decode().strip()
        return f"Bearer {token}" if token else None

    return build_connection(configuration, Credentials(read, TOKEN_PERIOD_SECONDS, clock))


def _load_kubeconfig(path: str, clock: Clock) -> Connection:
    configuration = _read_kubeconfig(path)

    def read() -> str | None:
        header = _read_kubeconfig(path).get_api_key_with_prefix("BearerToken")
        return str(header) if header else None

    # Without a period: a login plugin can take seconds, so it runs only when a token is refused.
    return build_connection(configuration, Credentials(read, float("inf"), clock))


def _read_kubeconfig(path: str) -> Configuration:
    for each in map(Path, path.split(os.pathsep)):
        if each.expanduser().exists():
            read_kubeconfig(each.expanduser(), yaml.SafeLoader)
    merged = kube_config.KubeConfigMerger(path).config  # type: ignore[no-untyped-call]
    for entry in merged.value["clusters"] if merged else ():
        cluster = entry.value.get("cluster")
        if isinstance(cluster, dict) and not isinstance(cluster.get(_INSECURE) or False, bool):
            raise ConfigurationError(f"{_INSECURE} is neither true nor false")
    if merged:
        _replace_what_has_no_end(merged.value)
    configuration, loader = Configuration(), kube_config.KubeConfigLoader
    loader(config_dict=merged, config_base_path=None).load_and_set(configuration)  # type: ignore[no-untyped-call]
    return configuration


def _replace_what_has_no_end(config: Raw) -> None:
    """Check the size of the current context's files; put its login plugin's answer into `config`.

    The package has no limit on the size of a file, nor on the time of a plugin.
    """
    context, _ = _section(config, "context", config.get("current-context"))
    cluster, folder = _section(config, "cluster", context.get("cluster"))
    _bound_files(cluster, folder)
    user, folder = _section(config, "user", context.get("user"))
    _bound_files(user, folder)
    if "exec" in user and not (user.get("token") or user.get("tokenFile")):
        user |= _log_in(user.pop("exec"), cluster, folder)


def _section(config: Raw, kind: str, name: str | None) -> tuple[Raw, Path]:
    """The section of this name, empty if there is none, and the folder of its file."""
    for entry in config[f"{kind}s"]:
        if entry.value.get("name") == name and isinstance(entry.value.get(kind), dict):
            return entry.value[kind], Path(entry.path).absolute().parent
    return {}, Path()


def _bound_files(section: Raw, folder: Path) -> None:
    for name, instead in _FILES.items():
        if section.get(name) and not section.get(instead):
            try:
                read_bounded(folder / str(section[name]))
            except (OSError, ValueError) as error:
                raise ConfigurationError(f"{name}: {error}") from error


def _log_in(plugin: Raw, cluster: Raw, folder: Path) -> Raw:
    """The credentials from the login plugin, as fields of a user's section of the kubeconfig."""
    if isinstance(plugin, dict) and "/" in str(plugin.get("command")):
        plugin = {**plugin, "command": str(folder / str(plugin["command"]))}
    status = ask_plugin(plugin, cluster)
    if status.get("token"):
        return {"token": status["token"]}
    pair = {"client-certificate": "clientCertificateData", "client-key": "clientKeyData"}
    if not all(status.get(field) for field in pair.values()):
        raise ConfigurationError("the login plugin has returned neither a token nor a certificate")
    encode = base64.b64encode
    return {f"{name}-data": encode(status[f].encode()).decode() for name, f in pair.items()}


def build_connection(configuration: Configuration, credentials: Credentials) -> Connection:
    """The connection that a configuration of the package describes."""
    base, proxy = urlsplit(configuration.host), str(configuration.proxy or "")
    tls, no_proxy = None, configuration.no_proxy or ""
    if base.scheme == "https":
        authorities = configuration.ssl_ca_cert, configuration.ca_cert_data
        tls = build_tls(configuration.verify_ssl, *authorities)
        if configuration.cert_file:
            tls.load_cert_chain(configuration.cert_file, configuration.key_file)
    endpoint = Endpoint(
        host=base.hostname or "",
        port=base.port or (443 if tls else 80),
        tls=tls,
        tls_server_name=configuration.tls_server_name or "",
        proxy=choose_proxy(base, proxy, no_proxy, proxy in getproxies().values()),
        socket_options=tuple(tcp_keepalive_socket_options()),
        ca_file=configuration.ssl_ca_cert or "",
    )
    return Connection(endpoint, credentials, base.path.rstrip("/"), credentials.clock)
