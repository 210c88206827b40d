"""Authorizes readers of /metrics: the API server authenticates the token and checks permissions.

It works as in controller-runtime: a TokenReview, then a SubjectAccessReview of `get` on the path.
Nobody gets through without the API server's approval. Without a verdict (the API server does not
answer, or does not allow the reviews) the client gets 500. A verdict is valid for a minute, a
missing one for a second. The gate's own threads send the reviews, so the server's thread never
waits. Tokens that were allowed before have a cache and a priority of their own, so that a flood of
unknown tokens does not lock them out.
"""

import hashlib
import itertools
import threading
from dataclasses import dataclass, field
from http import HTTPStatus
from queue import PriorityQueue

from cachetools import LRUCache, TLRUCache

from api.objects import Raw
from controller.client.api import ApiClient
from controller.health import HttpAnswer, HttpRequest, Route
from controller.logs import Log
from kube.clock import Clock

TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
VERDICT_SECONDS = 60.0
FAILURE_SECONDS = 1.0
"""The pause before the same token is checked again after the API server gave no usable answer."""
ASK_SECONDS = 3.0
"""A client waits this long for its reviews, then gets 500. The HTTP server waits longer."""
MAX_VERDICTS = 256
"""The cache holds this many approvals, and as many refusals. More tokens cause more reviews."""
MAX_ASKED = 32
THREADS = 2
LOG_SECONDS = 10.0
"""The least time between two log lines about refusals, because anybody can send tokens."""
_MAX_WHY = 300


def _refusal(status: HTTPStatus, why: str) -> HttpAnswer:
    is_unknown = status is HTTPStatus.UNAUTHORIZED
    headers = ("WWW-Authenticate: Bearer",) if is_unknown else ()
    return HttpAnswer(status, f"{status.phrase}: {why}\n".encode(), headers=headers)


ALLOWED = HttpAnswer(HTTPStatus.OK, b"")
"""The verdict for clients that are allowed to read; any other verdict is sent as the answer."""
NO_TOKEN = _refusal(HTTPStatus.UNAUTHORIZED, "a bearer token is needed")
NOT_ASKED = _refusal(
    HTTPStatus.INTERNAL_SERVER_ERROR,
    "the API server could not check the token; the operator's log says why",
)
BUSY = _refusal(HTTPStatus.SERVICE_UNAVAILABLE, "too many tokens are being checked")
ENDING = _refusal(HTTPStatus.SERVICE_UNAVAILABLE, "the operator is shutting down")


@dataclass(frozen=True, slots=True)
class _Question:
    """Is the owner of this token allowed to get this path? `key` is the digest of both."""

    key: bytes
    token: str = field(repr=False)
    path: str


class Gate:
    """Checks tokens. The server's thread calls guarded routes; the gate's threads send reviews."""

    def __init__(self, client: ApiClient, clock: Clock, log: Log) -> None:
        self._client = client
        self._clock = clock
        self._log = log
        self._logged_at = float("-inf")
        self._lock = threading.Lock()
        """Guards all below except _questions. The keys are digests, so no token is cached."""
        self._refused: TLRUCache[bytes, HttpAnswer] = TLRUCache(MAX_VERDICTS, _end, clock.monotonic)
        self._readers: LRUCache[bytes, float] = LRUCache(MAX_VERDICTS)
        """Readers whose latest verdict is ALLOWED, and until when it is valid."""
        self._asked_at: dict[bytes, float] = {}
        self._is_closed = False
        self._numbers = itertools.count()
        self._questions: PriorityQueue[tuple[bool, int, _Question | None]] = PriorityQueue()
        """The questions, each with its priority and a number that keeps the order."""

    def guard(self, path: str, route: Route) -> Route:
        """The same route, only for clients that are allowed to `get` its path."""

        def answer(request: HttpRequest) -> HttpAnswer | None:
            scheme, _, token = request.header("authorization").partition(" ")
            has_token = scheme.lower() == "bearer" and token.strip()
            verdict = self._judge(token.strip(), path) if has_token else NO_TOKEN
            return route(request) if verdict is ALLOWED else verdict

        return answer

    def start(self) -> None:
        """Start the threads that send reviews. The process does not wait for their end."""
        for number in range(THREADS):
            threading.Thread(target=self._answer_all, name=f"review_{number}", daemon=True).start()

    def close(self) -> None:
        """Stop the threads without waiting for them, because the API server can hang."""
        with self._lock:
            self._is_closed = True
        for _ in range(THREADS):
            self._questions.put((False, next(self._numbers), None))

    def _judge(self, token: str, path: str) -> HttpAnswer | None:
        """The verdict, or None while the API server is asked for it."""
        key, now = hashlib.sha256(f"{path} {token}".encode()).digest(), self._clock.monotonic()
        with self._lock:
            if now < self._readers.get(key, now):
                return ALLOWED
            if (verdict := self._refused.get(key)) is not None:
                return verdict
            if key in self._asked_at:
                return NOT_ASKED if now - self._asked_at[key] > ASK_SECONDS else None
            if self._is_closed:
                return ENDING
            is_reader = key in self._readers
            if not is_reader and len(self._asked_at) >= MAX_ASKED:
                return BUSY
            self._asked_at[key] = now
        self._questions.put((not is_reader, next(self._numbers), _Question(key, token, path)))
        return None

    def _answer_all(self) -> None:
        while (question := self._questions.get()[2]) is not None and not self._is_closed:
            verdict = self._ask(question)
            with self._lock:
                self._note_locked(question.key, verdict)

    def _note_locked(self, key: bytes, verdict: HttpAnswer) -> None:
        del self._asked_at[key]
        if verdict is ALLOWED:
            self._readers[key] = self._clock.monotonic() + VERDICT_SECONDS
            return
        self._refused[key] = verdict
        if verdict is not NOT_ASKED:
            self._readers.pop(key, None)

    def _ask(self, question: _Question) -> HttpAnswer:
        try:
            return self._review(question.token, question.path)
        except Exception as error:  # no answer, or a malformed one; the thread must continue
            self._tell("metrics_reader_not_judged", error=str(error))
            return NOT_ASKED

    def _review(self, token: str, path: str) -> HttpAnswer:
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview"}
        known = self._client.ask(TOKEN_REVIEWS, {**body, "spec": {"token": token}})["status"]
        if known.get("authenticated") is not True:
            why = str(known.get("error") or "the API server does not know the token")[:_MAX_WHY]
            self._tell("metrics_reader_refused", status=HTTPStatus.UNAUTHORIZED.value, error=why)
            return _refusal(HTTPStatus.UNAUTHORIZED, why)
        user = known["user"]
        may = self._client.ask(ACCESS_REVIEWS, _access_review(user, path))["status"]
        if may.get("allowed") is not True:
            why = f"{user['username']} is not allowed to get {path}"[:_MAX_WHY]
            self._tell("metrics_reader_refused", status=HTTPStatus.FORBIDDEN.value, error=why)
            return _refusal(HTTPStatus.FORBIDDEN, why)
        return ALLOWED

    def _tell(self, event: str, **values: object) -> None:
        """Log a warning, unless one was logged less than LOG_SECONDS ago."""
        now = self._clock.monotonic()
        if now - self._logged_at >= LOG_SECONDS:
            self._logged_at = now
            self._log.warning(event, **values)


def _access_review(user: Raw, path: str) -> Raw:
    who = {key: user[key] for key in ("groups", "uid", "extra") if user.get(key)}
    asked = {"path": path, "verb": "get"}
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": user["username"], **who, "nonResourceAttributes": asked},
    }


def _end(_key: bytes, verdict: HttpAnswer, now: float) -> float:
    """When a refusal expires."""
    return now + (FAILURE_SECONDS if verdict is NOT_ASKED else VERDICT_SECONDS)
