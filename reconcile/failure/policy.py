"""spec.podFailurePolicy, with the rules of batch/v1: the first that matches decides."""

from enum import StrEnum

from api.objects import Raw, condition_of, is_deleting
from reconcile.model.pods import container_statuses


class PolicyAction(StrEnum):
    """What a rule asks for. Ignore restarts the gang without charging it."""

    FAIL_JOB = "FailJob"
    IGNORE = "Ignore"
    COUNT = "Count"


def match_policy(policy: Raw | None, pod: Raw) -> PolicyAction | None:
    """The action of the first rule that matches the lost pod, or None.

    The exit codes of a pod that is being deleted do not count: it was told to end.
    """
    for rule in (policy or {}).get("rules") or ():
        if _matches_exit_codes(rule.get("onExitCodes"), pod) or _matches_conditions(
            rule.get("onPodConditions"), pod
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
        for name, code in _exit_codes(pod)
        if code != 0 and only in (None, name)
    )


def _exit_codes(pod: Raw) -> list[tuple[str, int]]:
    ended = []
    for container in container_statuses(pod):
        terminated = (container.get("state") or {}).get("terminated")
        if terminated:
            ended.append((container["name"], terminated.get("exitCode", 0)))
    return ended


def _matches_conditions(patterns: list[Raw] | None, pod: Raw) -> bool:
    return any(
        condition_of(pod, pattern["type"], pattern.get("status", "True"))
        for pattern in patterns or ()
    )
