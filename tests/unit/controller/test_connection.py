"""Where the API server is and who we are: from a pod, a kubeconfig and the environment."""

import socket
import ssl
import threading
from pathlib import Path

import pytest
from kubernetes.client import Configuration
from kubernetes.config import incluster_config

from controller.client.connection import (
    STUCK_SECONDS,
    ConfigurationError,
    Credentials,
    build_connection,
    load_connection,
)
from kube.client import Connection
from kube.plugin import ask_plugin
from tests.live import patience
from tests.unit.controller.fakes import SteppedClock, eventually

# Credentials


@pytest.fixture
def pod(monkeypatch, tmp_path, certificate) -> Path:
    """The folder with a pod's token and authority; the environment says where the service is."""
    (tmp_path / "token").write_text("one\n")
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", certificate)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    return tmp_path


def test_a_token_file_that_is_empty_or_missing_for_a_moment_keeps_the_last(pod, clock):
    file = pod / "token"
    credentials = load_connection(None, clock).credentials
    assert credentials.header() == "Bearer one"
    for damage in (lambda: file.write_text(""), file.unlink):
        damage()
        clock.step(60)
        assert credentials.header() == "Bearer one"
    file.write_text("two")
    clock.step(59)
    assert credentials.header() == "Bearer one"
    clock.step(1)
    assert credentials.header() == "Bearer two"


def test_a_token_that_another_thread_has_renewed_is_not_read_again(clock):
    tokens = iter(["Bearer a", "Bearer b", "Bearer c"])
    credentials = Credentials(lambda: next(tokens), 60.0, clock)
    credentials.renew(refused="Bearer a")
    credentials.renew(refused="Bearer a")
    assert credentials.header() == "Bearer b"


def test_a_plugin_that_hangs_holds_up_one_caller_for_a_moment_only(monkeypatch, clock):
    monkeypatch.setattr("controller.client.connection.RENEW_SECONDS", 0.05)
    released, asked = threading.Event(), threading.Semaphore(0)

    def read() -> str:
        asked.release()
        if clock.monotonic():  # it answers at the start
            released.wait(patience.SECONDS)
        return f"Bearer {clock.monotonic():.0f}"

    credentials = Credentials(read, float("inf"), clock)
    clock.step(1)
    for _ in range(3):
        credentials.renew(refused="Bearer 0")
        assert credentials.header() == "Bearer 0"
    assert asked.acquire(timeout=0)
    assert asked.acquire(timeout=0)
    assert not asked.acquire(timeout=0)
    clock.step(STUCK_SECONDS)
    credentials.renew(refused="Bearer 0")
    assert asked.acquire(timeout=0)
    released.set()
    eventually(lambda: credentials.header() == "Bearer 61")


# Configuration


def test_in_a_cluster_no_proxy_is_used(monkeypatch, pod, clock):
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    endpoint = load_connection(None, clock).endpoint
    assert endpoint.authority == "10.96.0.1:443"
    assert endpoint.proxy == ""
    assert endpoint.tls is not None
    assert endpoint.tls.verify_mode == ssl.CERT_REQUIRED
    assert endpoint.tls.cert_store_stats()["x509"] == 2, "those of the file alone"
    assert endpoint.ca_file == incluster_config.SERVICE_CERT_FILENAME


def test_a_service_with_an_ipv6_address_is_understood(monkeypatch, pod, clock):
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    endpoint = load_connection(None, clock).endpoint
    assert (endpoint.host, endpoint.authority) == ("fd00::1", "[fd00::1]:443")


def test_without_a_service_account_there_is_no_connection(pod, clock):
    (pod / "token").unlink()
    with pytest.raises(ConfigurationError, match="the pod's service account"):
        load_connection(None, clock)


def build(host: str, **settings: object) -> Connection:
    configuration = Configuration(host=host)
    for name, value in settings.items():
        setattr(configuration, name, value)
    return build_connection(configuration, Credentials(lambda: None, 60.0, SteppedClock()))


@pytest.mark.parametrize(
    ("url", "authority", "prefix"),
    [
        ("https://a", "a:443", ""),
        ("http://a", "a:80", ""),
        ("https://a:6443/", "a:6443", ""),
        ("https://[fd00::1]:6443", "[fd00::1]:6443", ""),
        ("https://rancher/k8s/clusters/c/", "rancher:443", "/k8s/clusters/c"),
    ],
)
def test_a_url_says_where_the_server_is(url, authority, prefix):
    connection = build(url, verify_ssl=False)
    endpoint, tls = connection.endpoint, connection.endpoint.tls
    assert (endpoint.authority, connection.prefix) == (authority, prefix)
    assert (tls is not None) == url.startswith("https")
    assert tls is None or (tls.verify_mode, tls.check_hostname) == (ssl.CERT_NONE, False)
    assert (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1) in endpoint.socket_options


@pytest.mark.parametrize(
    ("proxy", "no_proxy", "used"),
    [
        ("http://proxy:3128", "", "http://proxy:3128"),
        ("http://proxy:3128", "a", ""),
        ("http://proxy:3128", "b", "http://proxy:3128"),
        ("proxy:3128", "", "http://proxy:3128"),
        ("http://me:p%2Fss@proxy:3128/", "", "http://me:p%2Fss@proxy:3128/"),
        ("http://[::1]:3128", "", "http://[::1]:3128"),
    ],
)
def test_a_proxy_is_used_where_it_is_not_bypassed(proxy, no_proxy, used):
    assert build("http://a", proxy=proxy, no_proxy=no_proxy).endpoint.proxy == used


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.1.2.3", "[::1]"])
def test_a_server_of_this_machine_is_not_asked_through_a_proxy_of_the_environment(
    monkeypatch, host
):
    monkeypatch.setenv("https_proxy", "http://proxy:3128")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    assert build(f"https://{host}:6443", verify_ssl=False).endpoint.proxy == ""
    elsewhere = "http://other:3128"  # which a kubeconfig names
    assert build(f"https://{host}", verify_ssl=False, proxy=elsewhere).endpoint.proxy == elsewhere
    assert build("https://a", verify_ssl=False).endpoint.proxy == "http://proxy:3128"


@pytest.mark.parametrize(
    ("proxy", "why"),
    [
        ("https://me:secret@proxy", "only proxies with http"),
        ("http://me:pa/secret@proxy:3128", "write / as %2F"),
        ("http://me:12/secret@proxy:3128", "write / as %2F"),
        ("http://me:12#secret@proxy:3128", "write / as %2F"),
        ("http://me:12?secret@proxy:3128", "write / as %2F"),
        ("me:secret/@proxy:3128", "write / as %2F"),
        ("http://me:secret@proxy:port", "write / as %2F"),
        ("http://me:secret@:3128", "write / as %2F"),
        ("http://me:se[cret@proxy:3128", "write / as %2F"),
    ],
)
def test_a_proxy_that_cannot_be_used_is_refused_and_its_password_not_told(proxy, why):
    with pytest.raises(ValueError, match=why) as caught:
        build("http://a", proxy=proxy, no_proxy="")
    assert "secret" not in str(caught.value)


KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: k, user: u}}]
clusters: [{name: k, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {tokenFile: TOKEN}}]
"""


def test_a_kubeconfigs_token_file_is_read_again_when_refused(tmp_path: Path, clock):
    token, file = tmp_path / "token", tmp_path / "config"
    token.write_text("one")
    file.write_text(KUBECONFIG.replace("TOKEN", str(token)))
    credentials = load_connection(str(file), clock).credentials
    assert credentials.header() == "Bearer one"
    token.write_text("two")
    credentials.renew(refused="Bearer one")
    assert credentials.header() == "Bearer two"


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("{tokenFile: TOKEN}", "{tokenFile: /dev/zero}", "tokenFile: more than 1 MiB"),
        ("server:", "certificate-authority: /dev/zero, server:", "authority: more than 1 MiB"),
        ("server:", 'insecure-skip-tls-verify: "false", server:', "is neither true nor .*"),
        ("{tokenFile: TOKEN}", "{exec: {command: 7}}", "plugin 7 cannot be run: .*"),
        ("{tokenFile: TOKEN}", "{exec: {command: 'yes'}}", "yes prints more than 1 MiB"),
        ("{tokenFile: TOKEN}", "{exec: {command: echo}}", "has not answered with credentials"),
        ("{tokenFile: TOKEN}", "{exec: {command: sleep, args: [60]}}", "not answered within 0.5 s"),
    ],
)
def test_a_kubeconfig_without_end_is_one_line(tmp_path, clock, monkeypatch, old, new, why):
    monkeypatch.setattr(ask_plugin, "__defaults__", (0.5,))
    file = tmp_path / "config"
    assert old in KUBECONFIG
    file.write_text(KUBECONFIG.replace(old, new))
    with pytest.raises(ConfigurationError, match=f"^no connection .*{why}$"):
        load_connection(str(file), clock)


@pytest.mark.parametrize(
    ("file", "why"), [("/dev/zero", "/dev/zero: more than 16 MiB"), ("/none", ".*/none.*")]
)
def test_a_kubeconfig_that_is_a_device_or_missing_is_one_line(clock, file, why):
    with pytest.raises(ConfigurationError, match=rf"\A.*{why}\Z"):
        load_connection(file, clock)


def test_a_plugin_beside_the_kubeconfig_logs_in(tmp_path, clock):
    plugin, file = tmp_path / "login", tmp_path / "config"
    plugin.write_text('#!/bin/sh\necho \'{"status": {"token": "one"}}\'\n')
    plugin.chmod(0o755)
    file.write_text(KUBECONFIG.replace("{tokenFile: TOKEN}", "{exec: {command: ./login}}"))
    assert load_connection(str(file), clock).credentials.header() == "Bearer one"
