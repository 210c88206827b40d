"""Who may ask `kubectl pdj ui` for something: one browser, and only from the page itself."""

import http.client
from collections.abc import Iterator

import pytest

from tests.live import patience
from tests.live.browser import Served, served
from tests.live.lab import Lab

API = "/api/jobs"
DELETE = f"{API}/default/x/delete"
HEADERS = {
    "content-security-policy": "default-src 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


@pytest.fixture(scope="module")
def site(module_lab: Lab) -> Iterator[Served]:
    """The command; nobody has come yet."""
    kubeconfig = module_lab.cluster.kubectl_environment()["KUBECONFIG"]
    with served(kubeconfig, "-n", module_lab.namespace) as running:
        yield running


@pytest.fixture(scope="module")
def session(site: Served) -> dict[str, str]:
    """What the printed address gives to the first who opens it, as headers."""
    code, headers, _ = ask(site, "GET", site.url.removeprefix(site.base))
    assert code == 200
    given, *attributes = headers["set-cookie"].split("; ")
    assert {"HttpOnly", "Path=/", "SameSite=strict"} <= set(attributes)
    assert site.url.partition("token=")[2] not in headers["set-cookie"]
    key = headers["refresh"].partition("#key=")[2]
    return {"cookie": given, "x_pdj_key": key}


def ask(
    site: Served, method: str, path: str, body: bytes | None = None, /, **headers: str
) -> tuple[int, dict[str, str], str]:
    """Code, headers and text of an answer; a stream's first line."""
    connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=patience.SECONDS)
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body, names)
    response = connection.getresponse()
    is_stream = "ndjson" in response.headers.get("content-type", "")
    text = (response.readline() if is_stream else response.read()).decode()
    found = {name.lower(): value for name, value in response.headers.items()}
    connection.close()
    return response.status, found, text


def test_the_session_reads(site: Served, session: dict[str, str]) -> None:
    code, headers, text = ask(site, "GET", "/", **session)
    assert (code, "<!doctype html>" in text) == (200, True)
    assert {name: headers[name][: len(start)] for name, start in HEADERS.items()} == HEADERS
    assert "unsafe" not in headers["content-security-policy"]
    assert "server" not in headers
    assert ask(site, "GET", API, **session)[0] == 200


@pytest.mark.parametrize(
    "path", ["/", "/assets/main.js", API, "/api/about", "/?token=x", "/?token="]
)
def test_nothing_is_for_who_has_no_session(site, session, path):
    for given in (dict[str, str](), session | {"cookie": session["cookie"][:-3] + "xyz"}):
        code, headers, text = ask(site, "GET", path, None, **given)
        assert (code, text.startswith("refused: ")) == (403, True)
        assert "set-cookie" not in headers


def test_the_cookie_that_other_ports_get_opens_the_page_alone(site, session):
    cookie = session["cookie"]
    assert ask(site, "GET", "/", cookie=cookie)[0] == 200
    for path in (API, "/api/about", f"{API}/default/x/log"):
        assert ask(site, "GET", path, cookie=cookie)[0] == 403
        assert ask(site, "GET", path, cookie=cookie, x_pdj_key="x")[0] == 403
    assert "#key" not in ask(site, "GET", "/?token=x", cookie=cookie)[1]["refresh"]
    assert ask(site, "POST", DELETE, b"{}", cookie=cookie, origin=site.base)[0] == 403


def test_the_address_is_good_once(site: Served, session: dict[str, str]) -> None:
    path = site.url.removeprefix(site.base)
    assert ask(site, "GET", path)[0] == 403
    code, headers, _ = ask(site, "GET", path, **session)
    assert (code, "set-cookie" in headers) == (200, False)


UPGRADE = {"connection": "Upgrade", "upgrade": "websocket", "sec-websocket-version": "13",
           "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA=="}  # fmt: skip
EVIL = "http://evil.example"
HOSTS = ("evil.example", "127.0.0.1", "127.0.0.1:1", "evil.example:{port}", "0.0.0.0:{port}", "")
ORIGINS = (
    EVIL,
    "http://127.0.0.1:1",
    "http://localhost:{port}",
    "null",
    "https://127.0.0.1:{port}",
)
FOREIGN: list[tuple[str, str, dict[str, str]]] = [
    *(("GET", path, {"host": host}) for host in HOSTS for path in ("/", API)),
    *(("GET", API, {"origin": origin}) for origin in ORIGINS),
    *(("POST", DELETE, {"origin": origin}) for origin in ORIGINS),
    *(("GET", API, {"sec-fetch-site": site}) for site in ("cross-site", "same-site")),
    ("POST", DELETE, {}),  # a change needs an origin
    ("GET", API, UPGRADE | {"origin": EVIL}),
]
"""What another site, or a page of it in the same browser, may ask for."""


@pytest.mark.parametrize(("method", "path", "headers"), FOREIGN, ids=str)
def test_what_is_not_from_the_page_itself_is_refused(site, session, method, path, headers):
    given = {name: value.format(port=site.port) for name, value in headers.items()}
    assert (
        ask(site, method, path, b"{}" if method == "POST" else None, **session, **given)[0] == 403
    )


def test_a_change_from_the_page_is_tried(site: Served, session: dict[str, str]) -> None:
    path = f"{API}/default/none/delete"
    code, _, text = ask(site, "POST", path, b"{}", **session, origin=site.base)
    assert (code, "there is no job none" in text) == (409, True)


@pytest.mark.parametrize(
    ("body", "code"),
    [(b"", 409), (b"[]", 409), (b"[" * 60000, 409), (b"\xff", 409), (b" " * 70000, 413)],
)
def test_a_body_that_is_none_is_refused(site, session, body, code):
    assert ask(site, "POST", DELETE, body, **session, origin=site.base)[0] == code


@pytest.mark.parametrize(
    "path", ["/assets/..%2f__init__.py", "/assets/%2e%2e/guard.py", "/nothing"]
)
def test_only_the_page_is_served(site: Served, session: dict[str, str], path: str) -> None:
    assert ask(site, "GET", path, **session)[0] == 404
