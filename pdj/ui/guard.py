"""Lets in only the browser that opened the printed address, and only requests of this server's
page.

The address contains a token that works once, and is exchanged for a cookie and a key. A
browser sends the cookie to every port of this machine, so the cookie alone loads the page's files,
but no data. The page's requests also need the key, which no page of another port can read.
Requests with another Host (a name that somebody has pointed at this machine) or another Origin
(another site, or another port of this machine) are refused.
"""

import hmac
import secrets
from collections.abc import Callable
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY_BYTES = 64 << 10
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_ENTER = (
    '<!doctype html><html lang="en"><title>kubectl pdj</title>'
    '<link rel="icon" href="/assets/icon.svg"><a href="{url}">kubectl pdj</a>'
)
KEY_HEADER = "x-pdj-key"
_READS = ("GET", "HEAD")
_OWN_SITES = (None, "same-origin", "none")


class Guard:
    """Wraps the application. `token` is the one in the printed address.

    `on_enter` is called when a browser first opens the address.
    """

    def __init__(self, app: ASGIApp, port: int, on_enter: Callable[[], None]) -> None:
        self._app = app
        self._on_enter = on_enter
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self._cookie = f"pdj-{port}"
        self._secret, self._key = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        self._is_entered = False
        self.token = secrets.token_urlsafe(32)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request, or pass it to the application."""
        if scope["type"] != "http":
            raise RuntimeError(f"not served: {scope['type']}")
        answer = self._answer(Request(scope))
        await (answer or self._app)(scope, receive, _with_headers(send))

    def _answer(self, request: Request) -> Response | None:
        """The answer to a refused request; None if the request is fine."""
        headers = request.headers
        if headers.get("host") not in self._hosts:
            known = " or ".join(sorted(self._hosts))
            return _refuse(f"the page is at {known}, also through a tunnel")
        is_session = self._is_session(request)
        token = request.query_params.get("token")
        if request.url.path == "/" and request.method == "GET" and token is not None:
            return self._enter(token, is_session)
        if not _is_own(headers, request.method):
            return _refuse("the Origin header is not this page's")
        if not is_session or not self._has_key(request):
            return _refuse("no session: open the address that `kubectl pdj ui` has printed")
        if request.method not in _READS and _is_large(headers):
            return _refuse("the request is too large", HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        return None

    def _is_session(self, request: Request) -> bool:
        given = request.cookies.get(self._cookie, "")
        return hmac.compare_digest(given.encode(), self._secret.encode())

    def _has_key(self, request: Request) -> bool:
        """Whether the request has the key, or is for a file of the page, which has no secrets."""
        given = request.headers.get(KEY_HEADER, "")
        is_page = not request.url.path.startswith("/api/")
        return is_page or hmac.compare_digest(given.encode(), self._key.encode())

    def _enter(self, token: str, is_session: bool) -> Response:
        """Exchange the token for the cookie and the key: once, or again for a browser that has the
        cookie. The key is after `#`, because browsers do not send that part to any server.
        """
        is_right = hmac.compare_digest(token.encode(), self.token.encode())
        if not is_session and (self._is_entered or not is_right):
            return _refuse("this address is no longer good: start `kubectl pdj ui` again")
        # Not a redirect: a browser that comes from another page would not send the strict cookie.
        url = f"/#key={self._key}" if is_right else "/"
        answer = HTMLResponse(_ENTER.format(url=url), headers={"refresh": f"0; url={url}"})
        if not is_session:
            self._is_entered = True
            self._on_enter()
            answer.set_cookie(self._cookie, self._secret, httponly=True, samesite="strict")
        return answer


def _is_own(headers: Headers, method: str) -> bool:
    origin = headers.get("origin")
    if origin is None and method not in _READS:
        return False
    return origin in (None, f"http://{headers['host']}") and (
        headers.get("sec-fetch-site") in _OWN_SITES
    )


def _is_large(headers: Headers) -> bool:
    length = headers.get("content-length", "")
    return not length.isdecimal() or int(length) > MAX_BODY_BYTES


def _refuse(why: str, code: int = HTTPStatus.FORBIDDEN) -> Response:
    return PlainTextResponse(f"refused: {why}\n", code)


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            more = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            message = {**message, "headers": [*message["headers"], *more]}
        await send(message)

    return send_with_headers
