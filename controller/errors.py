"""What can go wrong between the operator and the API server.

The client raises nothing else, whatever urllib3, ssl, the configuration or the server raise:

    ApiError
    ├── Invalid         400, 413, 415, 422: the object itself is refused
    ├── Unauthorized    401, also after the token was read again
    ├── Forbidden       403: RBAC, quota, pod security, a webhook, a namespace going away
    ├── NotFound        404
    ├── AlreadyExists   409 on create
    ├── Conflict        409 otherwise: a UID or version precondition does not hold
    ├── Gone            410: the resource version is too old to go on from
    ├── Throttled       429, 503 with Retry-After, a kind that admission does not know yet:
    │                   come back after `retry_after` seconds
    ├── Transient       no answer, or any other: the outcome of a write is not known
    └── NotLeader       the write was not sent, for this process may not write (any more)
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
    """No such object, or the server does not serve the kind."""


class AlreadyExists(ApiError):
    """The name is taken."""


class Conflict(ApiError):
    """A precondition does not hold."""


class Gone(ApiError):
    """The resource version is too old."""


class Throttled(ApiError):
    """Too many requests. `retry_after` is in seconds, None where the server did not say."""

    def __init__(self, message: str, *, retry_after: float | None, code: int = 429) -> None:
        super().__init__(message, code=code, reason="TooManyRequests")
        self.retry_after = retry_after


class Transient(ApiError):
    """May work when tried again; a write may have happened all the same."""


class NotLeader(ApiError):
    """Not sent: the lease does not cover the write."""


_YOUNG_KIND = "cannot find RESTMapping"
"""What admission says of the owner of a child whose CRD has just come.

The plugin OwnerReferencesPermissionEnforcement reads the kinds anew every 30 s only.
"""
_YOUNG_KIND_RETRY_SECONDS = 2.0
_YOUNG_NAMESPACE = "error looking up service account"
"""What admission says of a pod before a controller has made its namespace's ServiceAccount."""

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

    `status` is the API server's Status object, empty where the answer was something else.
    """
    message = str(status.get("message") or f"HTTP {code}")
    reason = str(status.get("reason") or "")
    throttled = code == HTTPStatus.TOO_MANY_REQUESTS
    if throttled or (code == HTTPStatus.SERVICE_UNAVAILABLE and retry_after is not None):
        return Throttled(message, retry_after=retry_after, code=code)
    if code == HTTPStatus.FORBIDDEN and _YOUNG_KIND in message:
        return Throttled(message, retry_after=_YOUNG_KIND_RETRY_SECONDS, code=code)
    if code == HTTPStatus.FORBIDDEN and _YOUNG_NAMESPACE in message:
        return Transient(message, code=code, reason=reason)
    kind = AlreadyExists if reason == "AlreadyExists" else _BY_CODE.get(code, Transient)
    details = status.get("details")
    return kind(
        message, code=code, reason=reason, details=details if isinstance(details, dict) else None
    )
