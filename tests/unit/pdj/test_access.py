"""The kubeconfig: read as kubectl reads it, and whatever is wrong with it is one line."""

import argparse
import base64
import json
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from kube.plugin import ask_plugin
from localcluster.client.pki import Authority
from pdj.access.connection import UserCredentials, connect, open_client
from pdj.access.credentials import Identity, read_identity
from pdj.access.kubeconfig import Target, load_target
from pdj.access.login import Login
from pdj.commands import ui
from pdj.errors import Problem
from pdj.session import Session
from pdj.ui.app import App
from tests.unit.controller.fakes import eventually

Raw = dict[str, Any]
Write = Callable[..., str]


@pytest.fixture(autouse=True)
def no_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither a kubeconfig of the user's nor a pod or a proxy around the tests."""
    proxies = ("HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy")
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", *proxies):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a kubeconfig of one user, and of one context or several, and returns its path."""

    def write(
        name: str = "one", user: Raw | None = None, others: Raw | None = None, **cluster: Any
    ) -> str:
        clusters = {name: {"server": "https://a:6443", **cluster}, **(others or {})}
        context = {each: {"cluster": each, "user": "me"} for each in clusters}
        config = {
            "current-context": name,
            "contexts": [{"name": each, "context": context[each]} for each in clusters],
            "clusters": [{"name": each, "cluster": clusters[each]} for each in clusters],
            "users": [{"name": "me", "user": user or {}}],
        }
        (tmp_path / name).write_text(yaml.safe_dump(config))
        return str(tmp_path / name)

    return write


def test_the_first_of_several_files_wins_and_all_are_known(write, monkeypatch):
    files = [write("one"), write("two", server="https://b")]
    monkeypatch.setenv("KUBECONFIG", ":".join(["/nowhere", *files]))
    assert load_target(None, None).context == "one"
    assert load_target(None, "two").cluster["server"] == "https://b"


@pytest.mark.parametrize(
    ("command", "seen"), [("bin/login", "{}/bin/login"), ("/login", "/login"), ("login", "login")]
)
def test_paths_are_seen_from_the_file(write, tmp_path, command, seen):
    (tmp_path / "token").write_text("secret\n")
    target = load_target(write(user={"tokenFile": "token", "exec": {"command": command}}), None)
    assert target.user["exec"]["command"] == seen.format(tmp_path)
    target.user.pop("exec")
    assert read_identity(target.user, target.cluster).authorization == "Bearer secret"


def test_a_pod_uses_its_service_account_unless_a_kubeconfig_is_there(write, monkeypatch):
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    target = load_target(None, None)
    assert target.is_inside
    assert target.cluster["server"] == "https://[fd00::1]:443"
    file = write()
    monkeypatch.setenv("KUBECONFIG", file)
    for given in (None, file):
        assert load_target(given, None).cluster["server"] == "https://a:6443"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("\t- a: b", "cannot read"),
        ("[1, 2]", "not a mapping"),
        ("a: [", "cannot read"),
        ("contexts: 5\ncurrent-context: x", "contexts is not a list"),
        ("contexts: [{name: x}]\ncurrent-context: x", "has no context"),
        ("current-context: x", "no context 'x'"),
        ("", "names no current context"),
        ("[" * 100_000, "nested deeper"),
        (bytes(range(256)), "cannot read"),
    ],
)
def test_a_broken_file_is_one_line(tmp_path, text, says):
    path = tmp_path / "config"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(Problem, match=says) as told:
        load_target(str(path), None)
    assert "\n" not in str(told.value)


def test_files_that_do_not_exist_are_named(monkeypatch):
    monkeypatch.setenv("KUBECONFIG", "/nowhere:/no/where")
    with pytest.raises(Problem, match="no cluster: there is no file /nowhere, /no/where"):
        load_target(None, None)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        *(
            ({"server": server}, "server")
            for server in ("", "ftp://x", "https://", "https://a:b", "a b")
        ),
        *(
            ({"insecure-skip-tls-verify": value}, "tls-verify is neither true nor false")
            for value in ("false", "true", 1)
        ),
        ({"certificate-authority-data": "%%%"}, "certificate"),
        ({"certificate-authority-data": base64.b64encode(b"no PEM").decode()}, "certificate"),
        ({"certificate-authority": "nowhere.crt"}, "certificate"),
        *(
            ({"user": {"exec": found}}, r"exec cannot be read|cannot be run")
            for found in (
                *("login", {"command": 7}, {"command": ["/a"]}, {"args": []}),
                {"command": "a", "args": 7},
                *({"command": "a", "env": env} for env in ([7], {"A": "b"}, [{"value": "b"}])),
            )
        ),
    ],
    ids=str,
)
def test_what_leads_to_no_cluster_is_said(write, fields, says):
    with pytest.raises(Problem, match=says):
        connect(load_target(write(**fields), None))


def plugin(script: str) -> Raw:
    """A user whose credentials a shell script prints."""
    return {"exec": {"command": "sh", "args": ["-c", script]}}


@pytest.mark.parametrize(("variable", "token"), [({"value": "b"}, "tb"), ({}, "t")])
def test_a_plugin_is_asked_for_the_token(variable, token):
    status = json.dumps({"status": {"token": "t$A"}}).replace('"', '\\"')
    user = plugin(f'test -n "$KUBERNETES_EXEC_INFO" && echo "{status}"')
    user["exec"]["env"] = [{"name": "A", **variable}]
    assert read_identity(user, {}) == Identity(f"Bearer {token}")


@pytest.mark.parametrize(
    ("user", "says"),
    [
        (plugin("exit 3"), "exit code 3"),
        (plugin("echo no"), "has not answered"),
        (plugin("echo []"), "has not answered"),
        (plugin("yes"), "prints more than 1 MiB"),
        (plugin("yes >&2"), "prints more than 1 MiB"),
        ({"exec": {"command": "/no/such/plugin"}}, "cannot be run"),
        (
            {"exec": {"command": "no-such", "installHint": "Get it\nhere"}},
            "directory.*: Get it here",
        ),
        *(({key: "somebody"}, f"has {key}, which is not") for key in ("as", "auth-provider")),
        *(({key: "/dev/zero"}, f"{key}: more than 1 MiB") for key in ("tokenFile", "client-key")),
    ],
)
def test_a_login_that_fails_is_one_line(user, says):
    with pytest.raises(Problem, match=says):
        read_identity(user, {})


class Guarded(BaseHTTPRequestHandler):
    """Lets in who has the certificate of this name."""

    protocol_version = "HTTP/1.1"
    wanted = ""

    def do_GET(self) -> None:
        names = self.connection.getpeercert()["subject"]
        self.send_response(200 if ((("commonName", self.wanted),),) == names else 401)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None: ...


def test_a_plugins_certificate_is_asked_for_again_once_it_is_refused(write, tmp_path, monkeypatch):
    authority = Authority()
    for name in ("one", "two"):
        pair = authority.issue(name, [], [])
        data = {"clientCertificateData": pair.certificate, "clientKeyData": pair.key}
        status = {key: value.decode() for key, value in data.items()}
        (tmp_path / f"{name}.json").write_text(json.dumps({"status": status}))
    tls, pair = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), authority.issue("a", [], ["127.0.0.1"])
    (tmp_path / "pair").write_bytes(pair.certificate + pair.key)
    tls.load_cert_chain(tmp_path / "pair")
    tls.load_verify_locations(cadata=authority.certificate.decode())
    tls.verify_mode = ssl.CERT_REQUIRED
    user = plugin(f"cd {tmp_path}; echo . >> asked; cat one.json; cp two.json one.json")
    with ThreadingHTTPServer(("127.0.0.1", 0), Guarded) as server:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
        serving = threading.Thread(target=server.serve_forever, args=(0.01,))
        serving.start()
        trusted = {"certificate-authority-data": base64.b64encode(authority.certificate).decode()}
        place = f"https://127.0.0.1:{server.server_port}"
        try:
            client = open_client(load_target(write("c", user, server=place, **trusted), None))
            for name in ("one", "two", "two"):
                monkeypatch.setattr(Guarded, "wanted", name)
                assert client.get("/version") == {}
            client.close()
        finally:
            server.shutdown()
            serving.join()
    assert (tmp_path / "asked").read_text() == ".\n" * 2


def test_threads_that_are_refused_together_log_in_once(tmp_path):
    """A plugin can open a browser for each login."""
    script = f'echo . >> {tmp_path}/asked; sleep 0.5; echo \'{{"status": {{"token": "new"}}}}\''
    target, old = Target({}, plugin(script), "default"), Identity("Bearer old")
    credentials = UserCredentials(lambda: target, old, None)
    threads = [threading.Thread(target=credentials.renew, args=("Bearer old",)) for _ in range(9)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert credentials.header() == "Bearer new"
    assert (tmp_path / "asked").read_text() == ".\n"


def test_words_of_a_plugin_reach_the_terminal_without_what_it_would_obey(capfd, monkeypatch):
    monkeypatch.setattr("kube.plugin.PATIENCE_SECONDS", 0.5)
    words = r"printf 'open \033[2J https://a\r\ncode: ' >&2; sleep 1"
    read_identity(plugin(f"{words}; echo '{{\"status\": {{}}}}'"), {})
    said = "open \\x1b[2J https://a\ncode: waiting for the login plugin sh, 60 s at most\n"
    assert capfd.readouterr().err == said


def test_a_plugin_ends_with_the_tool(tmp_path):
    began, user = tmp_path / "began", plugin(f"echo $$ > {tmp_path}/began; sleep 60")
    program = f"from pdj.access.credentials import *; read_identity({user!r}, {{}})"
    with subprocess.Popen([sys.executable, "-c", program]) as tool:
        eventually(lambda: began.exists() and began.read_text().endswith("\n"))
        tool.terminate()
    eventually(lambda: not Path(f"/proc/{began.read_text().strip()}").exists())


def test_a_login_under_nohup_outlives_the_terminal():
    hang_up = 'sleep 0.5; kill -HUP $PPID; echo \'{"status": {"token": "t"}}\''
    program = f"from pdj.access.credentials import *; read_identity({plugin(hang_up)!r}, {{}})"
    done = subprocess.run(["nohup", sys.executable, "-c", program], capture_output=True)
    assert done.returncode == 0, done.stderr


def test_a_plugin_that_hangs_is_ended_with_its_children(tmp_path, monkeypatch):
    monkeypatch.setattr(ask_plugin, "__defaults__", (0.5,))
    witness = tmp_path / "alive"
    pid = tmp_path / "pid"
    with pytest.raises(Problem, match=r"within 0\.5 s"):
        read_identity(plugin(f"echo $$ > {pid}; (sleep 30; touch {witness}) & sleep 60"), {})
    assert not Path(f"/proc/{pid.read_text().strip()}").exists()
    assert not witness.exists()


def test_proxies_of_the_environment_are_for_others_than_this_machine(write, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    monkeypatch.setenv("NO_PROXY", "corp.example,10.0.0.0/8")
    through = {
        host: connect(load_target(write(server=f"https://{host}"), None)).endpoint.proxy
        for host in ("a.example", "127.0.0.1", "localhost", "api.corp.example", "10.1.2.3")
    }
    assert [host for host, proxy in through.items() if proxy] == ["a.example"]


@pytest.mark.parametrize("proxy", ["http://me:pa/secret@proxy:3128", "https://me:secret@proxy"])
def test_a_proxy_that_cannot_be_used_is_one_line_without_its_password(write, proxy):
    with pytest.raises(Problem, match="http://") as told:
        connect(load_target(write(**{"proxy-url": proxy}), None))
    assert "secret" not in str(told.value)


def write_both(write: Write, current: str, token: str, mine: str = "https://mine:1") -> str:
    """Write a kubeconfig of the contexts `mine` and `other`; returns its path."""
    servers = {"mine": {"server": mine}, "other": {"server": "https://other:1"}}
    written = Path(write(current, {"token": token}, servers))
    return str(written.rename(written.with_name("config")))


@pytest.fixture
def opened(write, monkeypatch) -> Any:
    """What a program has opened with the context `mine` and the token `old`."""
    monkeypatch.setattr("pdj.access.login.open_client", connect)
    return Login(write_both(write, "mine", "old"), None).client()


def test_a_program_stays_with_its_context_when_its_login_is_renewed(write, opened):
    write_both(write, "other", "new")
    opened.credentials.renew("Bearer old")
    assert (opened.endpoint.host, opened.credentials.header()) == ("mine", "Bearer new")


def test_a_program_refuses_another_server_under_its_context(write, opened):
    write_both(write, "mine", "new", "https://elsewhere:1")
    for _ in range(2):
        with pytest.raises(Problem, match="'mine' now has the server https://elsewhere:1"):
            opened.credentials.renew("Bearer old")
    write_both(write, "mine", "new")
    opened.credentials.renew("Bearer old")
    assert opened.credentials.header() == "Bearer new"


def test_a_page_logs_in_once(write, monkeypatch):
    """A plugin can open a browser for each login."""
    opened = []

    def open_once(target: Target, load: Callable[[], Target]) -> Any:
        opened.append(target.context)
        return connect(target, load)

    monkeypatch.setattr("pdj.access.login.open_client", open_once)
    monkeypatch.setattr("pdj.commands.ui.check_served", lambda _client: None)
    monkeypatch.setattr("pdj.ui.server.serve", App)
    options = {"kubeconfig": write_both(write, "mine", "old"), "context": None}
    assert ui.run(Session(argparse.Namespace(**options, namespace=None, all_namespaces=True))) == 0
    assert opened == ["mine"]
