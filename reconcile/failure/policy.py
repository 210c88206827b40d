"""spec.podFailurePolicy, which works as in batch/v1: the first rule that matches decides."""

from enum import StrEnum

from api.objects import Raw, condition_of, is_deleting
from api.trainer import container_statuses, terminated_of


class PolicyAction(StrEnum):
    """The action of a rule. With Ignore, the failure does not count against backoffLimit."""

    FAIL_JOB = "FailJob"
    IGNORE = "Ignore"
    COUNT = "Count"


def match_policy(policy: Raw | None, pod: Raw) -> PolicyAction | None:
    """The action of the first rule that matches the lost pod, or None.

    The exit codes of a pod that is being deleted do not count, because it was asked to end.
    """
    for rule in (policy or {}).get("rules") or ():
        patterns = rule.get("onPodConditions") or ()
        if _matches_exit_codes(rule.get("onExitCodes"), pod) or any(
            condition_of(pod, each["type"], each.get("status", "True")) for each in patterns
        ):
            return PolicyAction(rule["action"])
    return None


def _matches_exit_codes(requirement: Raw | None, pod: Raw) -> bool:
    if requirement is None or is_deleting(pod):
        return False
    only = requirement.get("containerName")
    values = set(requirement.get("values") or ())
    wants_member = requirement.get("operator") == "In"
    return any(
        (code in values) == wants_member
        for container in container_statuses(pod)
        if (code := (terminated_of(container) or {}).get("exitCode", 0)) != 0
        and only in (None, container["name"])
    )
