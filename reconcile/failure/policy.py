"""spec.podFailurePolicy, which works as in batch/v1: the first rule that matches decides."""

from enum import StrEnum

from api.objects import Raw, condition_of
from api.trainer import container_status, terminated_of
from reconcile.model.end import Author
from reconcile.model.pods import PodView


class PolicyAction(StrEnum):
    """The action of a rule. With Ignore, the failure does not count against backoffLimit."""

    FAIL_JOB = "FailJob"
    IGNORE = "Ignore"
    COUNT = "Count"


def match_policy(policy: Raw | None, pod: PodView) -> PolicyAction | None:
    """The action of the first rule that matches the lost pod, or None.

    Exit codes count only if the program ended by itself: nobody chose the code of a container that
    was told to end, or that its node lost.
    """
    for rule in (policy or {}).get("rules") or ():
        patterns = rule.get("onPodConditions") or ()
        if _matches_exit_codes(rule.get("onExitCodes"), pod) or any(
            condition_of(pod.raw, each["type"], each.get("status", "True")) for each in patterns
        ):
            return PolicyAction(rule["action"])
    return None


def _matches_exit_codes(requirement: Raw | None, pod: PodView) -> bool:
    """Without containerName, the container that decided the end counts, not whichever ends later.

    The code 0 never matches.
    """
    if requirement is None or pod.ending.author is not Author.PROGRAM:
        return False
    if only := requirement.get("containerName"):
        code = (terminated_of(container_status(pod.raw, only)) or {}).get("exitCode")
    else:
        code = pod.end.exit_code if pod.end else None
    is_listed = code in (requirement.get("values") or ())
    return bool(code) and is_listed == (requirement.get("operator") == "In")
