"""Everything that can go wrong between the operator and the API server.

The client raises nothing else, whatever http.client, ssl or the server raise:

    ApiError
    ├── Invalid         400, 413, 415, 422: the object itself is refused
    ├── Unauthorized    401, also after the token was read again
    ├── Forbidden       403: RBAC, quota, pod security, a webhook, a namespace going away
    ├── NotFound        404: no such object, or a kind that the server does not serve
    ├── AlreadyExists   409 on create
    ├── Conflict        409 otherwise: a UID or version precondition does not hold
    ├── Gone            410: the resource version is too old to go on from
    ├── Throttled       429, 503 with Retry-After, a kind that admission does not know yet:
    │                   come back after `retry_after` seconds
    ├── TooLarge        the answer is longer than the caller takes
    ├── Transient       no answer, or any other: the outcome of a write is not known
    │   ├── Unreachable no connection, or one that ended without an answer
    │   └── Silent      a stream that has brought nothing for so long that it must be dead
    └── NotLeader       the write was not sent, for this process may not write (any more)

Only a Status object is the API server's word. A load balancer without a backend says 404 as well,
and it knows nothing of the object: such an answer is Transient whatever its code.
"""

from http import HTTPStatus
from typing import Any


class ApiError(Exception):
    """A request that did not do what was asked.

    `code` is the HTTP status, 0 without an answer; `reason` the API server's word for it;
    `details` is `details` of the Status object that the API server answered with.
    """

    def __init__(
        self,
        message: str,
        *,
        code: int = 0,
        reason: str = "",
        details: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.reason = reason or type(self).__name__
        self.details = details or {}

    def has_cause(self, reason: str) -> bool:
        """Whether the API server named this among the causes."""
        return any(cause.get("reason") == reason for cause in self.details.get("causes") or ())


class Invalid(ApiError):
    """The API server refuses the object."""


class Unauthorized(ApiError):
    """The token is not accepted."""


class Forbidden(ApiError):
    """Not allowed: by RBAC, a quota, pod security or a webhook."""


class NotFound(ApiError):
    """The API server itself says: no such object, or it does not serve the kind."""


class AlreadyExists(ApiError):
    """The name is taken."""


class Conflict(ApiError):
    """A precondition does not hold."""


class Gone(ApiError):
    """The resource version is too old."""


class TooLarge(ApiError):
    """The answer is longer than the caller takes."""


class Throttled(ApiError):
    """Too many requests. `retry_after` is in seconds, None where the server did not say."""

    def __init__(self, message: str, *, retry_after: float | None, code: int = 429) -> None:
        super().__init__(message, code=code, reason="TooManyRequests")
        self.retry_after = retry_after


class Transient(ApiError):
    """May work when tried again; a write may have happened all the same."""


class Unreachable(Transient):
    """Nobody answers: the API server is away, or what leads to it."""


class Silent(Transient):
    """A stream that brings nothing any more, not even a bookmark."""


class NotLeader(ApiError):
    """Not sent: the lease does not cover the write."""


_YOUNG_KIND = "cannot find RESTMapping"
"""Admission says this about a child's owner while the owner's CRD is new.

The plugin OwnerReferencesPermissionEnforcement learns of new kinds only every 30 s.
"""
_YOUNG_KIND_RETRY_SECONDS = 2.0
_YOUNG_NAMESPACE = "error looking up service account"
"""Admission says this about a pod while its namespace has no ServiceAccount yet."""

_BY_CODE: dict[int, type[ApiError]] = {
    HTTPStatus.BAD_REQUEST: Invalid,
    HTTPStatus.UNAUTHORIZED: Unauthorized,
    HTTPStatus.FORBIDDEN: Forbidden,
    HTTPStatus.NOT_FOUND: NotFound,
    HTTPStatus.METHOD_NOT_ALLOWED: Invalid,
    HTTPStatus.CONFLICT: Conflict,
    HTTPStatus.GONE: Gone,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: Invalid,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: Invalid,
    HTTPStatus.UNPROCESSABLE_ENTITY: Invalid,
}


def error_from_status(code: int, status: dict[str, Any], retry_after: float | None) -> ApiError:
    """The exception for an answer that is no success.

    `status` is the body of the answer, empty where that is no object.
    """
    is_told = status.get("kind") == "Status" and status.get("code") == code
    message = str(status.get("message") or f"HTTP {code}") if is_told else f"HTTP {code}, no Status"
    reason = str(status.get("reason") or "")
    throttled = code == HTTPStatus.TOO_MANY_REQUESTS
    if throttled or (code == HTTPStatus.SERVICE_UNAVAILABLE and retry_after is not None):
        return Throttled(message, retry_after=retry_after, code=code)
    if code == HTTPStatus.FORBIDDEN and _YOUNG_KIND in message:
        return Throttled(message, retry_after=_YOUNG_KIND_RETRY_SECONDS, code=code)
    if code == HTTPStatus.FORBIDDEN and _YOUNG_NAMESPACE in message:
        return Transient(message, code=code, reason=reason)
    if not is_told:
        return Transient(message, code=code)
    kind = AlreadyExists if reason == "AlreadyExists" else _BY_CODE.get(code, Transient)
    details = status.get("details")
    return kind(
        message, code=code, reason=reason, details=details if isinstance(details, dict) else None
    )
