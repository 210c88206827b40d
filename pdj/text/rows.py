"""Describes a job as a row of a list, for the page and for programs; texts that they share.

Every job gets a row, whatever its version.
"""

from typing import Any

from api.catalogue.meaning import Who
from api.catalogue.reasons import REASONS
from api.constants import ANNOTATION_SUBMITTED_BY, Role
from api.objects import Raw, dicts_in, moment_of, name_of, namespace_of, uid_of
from api.trainer import count_accelerators
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
        "cause": _cause(status, reason),
        "accelerators": _accelerators(raw.get("spec") or {}),
        "by": str((raw["metadata"].get("annotations") or {}).get(ANNOTATION_SUBMITTED_BY) or ""),
        **_progress(status),
        "warns": reason in REASONS and REASONS[reason].who in (Who.USER, Who.ADMIN),
    }


def _cause(status: Raw, reason: str) -> str:
    """The error of the last failure, if the reason's condition is about it: its message ends with
    the error, and the headline's message can be cut before that.
    """
    failures = dicts_in(status.get("failures"))
    first = str(failures[-1].get("message") or "").partition("\n")[0] if failures else ""
    told = (each for each in dicts_in(status.get("conditions")) if each.get("reason") == reason)
    return first if any(first in str(each.get("message")) for each in told) else ""


def _accelerators(spec: Raw) -> int:
    """The accelerators that the pods of all roles ask for."""
    roles = (spec.get(role) for role in Role)
    return sum(_of_role(role) for role in roles if isinstance(role, dict))


def _of_role(role: Raw) -> int:
    pod = (role.get("template") or {}).get("spec") or {}
    each = sum(map(count_accelerators, dicts_in(pod.get("containers"))))
    replicas = role.get("replicas")
    return each * (1 if replicas is None else int(replicas))


def _progress(status: Raw) -> dict[str, Any]:
    """Step, total and percentage that the status has of the present attempt; None if unknown."""
    known = status.get("progress") or {}
    known = known if known.get("attempt") == status.get("attempt") else {}
    return {name: known.get(name) for name in ("step", "totalSteps", "percent")}


def seconds(text: Any) -> float | None:
    """A time of Kubernetes in seconds since 1970; None if there is none or it is invalid."""
    moment = moment_of(text)
    return moment.timestamp() if moment else None


def _is_ready(status: Raw, role: Role) -> bool:
    return bool((status.get(role) or {}).get("ready"))
