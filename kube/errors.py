"""Everything that can go wrong between the operator and the API server.

The client turns every exception of http.client and ssl, and every error answer, into one of these.
Each class lists the answers that it covers.

Only an answer with a Status object is known to come from the API server. A load balancer without a
backend returns 404 as well, which says nothing about the object. So an error answer without a
Status is Transient or Throttled, whatever its code.
"""

import re
from http import HTTPStatus
from typing import Any


class ApiError(Exception):
    """A request that failed.

    `code` is the HTTP status, 0 without an answer. `reason` and `details` come from the answer's
    Status object; without a reason, `reason` is the name of the class. `retry_after` is in seconds,
    None if the server gave none. If `is_final`, no retry helps, because the object is invalid.
    """

    is_final = False

    def __init__(
        self,
        message: str,
        *,
        code: int = 0,
        reason: str = "",
        details: dict[str, Any] | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.reason = reason or type(self).__name__
        self.details = details or {}
        self.retry_after = retry_after

    @property
    def causes(self) -> frozenset[str]:
        """The reasons of the causes that the API server gives."""
        return frozenset(str(each.get("reason")) for each in self.details.get("causes") or ())


class Invalid(ApiError):
    """400, 405, 413, 415, 422: something in the request is wrong, such as its object or method."""


class Unauthorized(ApiError):
    """401, even after the token was reloaded."""


class Forbidden(ApiError):
    """403: RBAC, a quota, pod security, a webhook, a namespace being deleted."""


class NoRight(Forbidden):
    """403 from an authorizer, such as RBAC, for a request that names one object."""


class NotFound(ApiError):
    """404: no such object, or a kind that the API server does not serve."""


class AlreadyExists(ApiError):
    """409 on create: the name is taken."""


class Conflict(ApiError):
    """Any other 409, such as for an object whose UID or version is not the expected one."""


class Gone(ApiError):
    """410: the resource version is too old to resume from."""


class TooLarge(ApiError):
    """The answer is longer than the caller accepts."""


class Throttled(ApiError):
    """429, or 503 with Retry-After: try later."""


class YoungKind(Throttled):
    """403 for a child, because admission does not know its owner's kind yet: try again soon."""


class Transient(ApiError):
    """No answer, or any other error: a retry can succeed, and a write can have happened anyway."""


class Unreachable(Transient):
    """No connection, or one that ended without an answer."""


class Silent(Transient):
    """A stream sent nothing in time, not even a bookmark, or a log took too long to read."""


_FORBIDDEN = r'\S+ "[^"]*" is forbidden: '
"""The start of the API server's own refusals. The rest can repeat anything that a tenant wrote."""
_NO_RIGHT = re.compile(_FORBIDDEN + 'User "')
"""The words of an authorizer's refusal. Quotas, webhooks and policies use other words."""
_YOUNG_KIND = re.compile(_FORBIDDEN + "cannot set blockOwnerDeletion .* cannot find RESTMapping")
"""Admission says this about a child's owner while the owner's CRD is new: the plugin
OwnerReferencesPermissionEnforcement learns of new kinds only every 30 s."""
_YOUNG_KIND_RETRY_SECONDS = 2.0
_YOUNG_NAMESPACE = re.compile(
    f"{_FORBIDDEN}(?:error looking up service account|status unknown for quota)"
)
"""Admission says this about a pod while its namespace has no ServiceAccount yet, or while nobody
has counted yet what a ResourceQuota is about (Kubernetes 1.36)."""

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
    """The exception for an error answer. `status` is the body; {} if that is no JSON object."""
    is_told = status.get("kind") == "Status" and status.get("code") == code
    message = str(status.get("message") or f"HTTP {code}") if is_told else f"HTTP {code}, no Status"
    reason = str(status.get("reason") or "")
    throttled = code == HTTPStatus.TOO_MANY_REQUESTS
    if throttled or (code == HTTPStatus.SERVICE_UNAVAILABLE and retry_after is not None):
        return Throttled(message, code=code, reason="TooManyRequests", retry_after=retry_after)
    if code == HTTPStatus.FORBIDDEN and _YOUNG_KIND.match(message):
        return YoungKind(message, code=code, retry_after=_YOUNG_KIND_RETRY_SECONDS)
    if code == HTTPStatus.FORBIDDEN and _YOUNG_NAMESPACE.match(message):
        return Transient(message, code=code, reason=reason)
    if not is_told:
        return Transient(message, code=code)
    kind = AlreadyExists if reason == "AlreadyExists" else _BY_CODE.get(code, Transient)
    if reason == "Forbidden" and _NO_RIGHT.match(message):
        kind = NoRight
    details = status.get("details")
    return kind(
        message, code=code, reason=reason, details=details if isinstance(details, dict) else None
    )
