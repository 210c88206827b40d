"""Describes a job as a row of a list, for the page and for programs; texts that they share.

Every job gets a row, whatever its version.
"""

from typing import Any

from api.catalogue.meaning import Who
from api.catalogue.reasons import REASONS
from api.constants import Role
from api.objects import Raw, name_of, namespace_of, parse_time, uid_of
from pdj.facts.picture import headline_of


def row_of(raw: Raw) -> dict[str, Any]:
    """The values of a job in a list; times are seconds since 1970."""
    status = raw.get("status") or {}
    reason, message = headline_of(status)
    return {
        "uid": uid_of(raw),
        "namespace": namespace_of(raw),
        "name": name_of(raw),
        "phase": str(status.get("phase") or ""),
        "mode": str(status.get("mode") or ""),
        "created": seconds(raw["metadata"].get("creationTimestamp")),
        "started": seconds(status.get("startTime")),
        "ended": seconds(status.get("completionTime")),
        "restarts": status.get("restartCount") or 0,
        "ready": {
            role.value: str(status[role]["ready"]) for role in Role if _is_ready(status, role)
        },
        "reason": reason,
        "message": message,
        "warns": reason in REASONS and REASONS[reason].who in (Who.USER, Who.ADMIN),
    }


def seconds(text: Any) -> float | None:
    """A time of Kubernetes in seconds since 1970; None if there is none or it is invalid."""
    try:
        moment = parse_time(text)
    except (TypeError, ValueError):
        return None
    return moment.timestamp() if moment else None


def _is_ready(status: Raw, role: Role) -> bool:
    return bool((status.get(role) or {}).get("ready"))
