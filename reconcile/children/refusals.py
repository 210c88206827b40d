"""Which refusals still matter, and for how long creates pause because of them.

After a child was refused, its job can be scaled down, suspended or restarted, or end. A job that
then no longer needs the child must neither wait for it nor report such a wait.
"""

from collections.abc import Set as AbstractSet

from api.constants import TERMINAL_PHASES, Condition, Intranet
from api.objects import name_of
from reconcile.build.gang import find_gang
from reconcile.children.cleanup import wanted_deletes
from reconcile.children.terminating import force_deletes
from reconcile.children.workload import workload_creates, workload_deletes
from reconcile.model.plan import Child, Refusal
from reconcile.model.view import View

FIRST_PAUSE_SECONDS = 10.0
USUAL_PAUSE_SECONDS = 30.0
MAX_PAUSE_SECONDS = 300.0
"""Creates pause for 10 s, then 20 s, then 30 s each time; longer if many jobs pause."""
PAUSE_SECONDS_PER_JOB = 0.1
"""All paused jobs of a namespace together try at most ten creates a second."""
UNTRIED_PAUSE_SECONDS = 2.0
"""The pause of a job that reports another job's refusal as its own, before its first own try."""

Names = dict[str, AbstractSet[str]]
"""The names of children, by their kind."""


def standing_refusals(view: View) -> tuple[Refusal, ...]:
    """Refusals of children that the job still wants to create or delete."""
    if not view.observed.refusals:
        return ()
    lacking, leaving = lacking_children(view), _leaving_children(view)
    return tuple(
        refusal
        for refusal in view.observed.refusals
        if refusal.name in (leaving if refusal.is_delete else lacking).get(refusal.kind, ())
    )


def is_over_quota(refusal: Refusal) -> bool:
    """Whether the API server's message says that a ResourceQuota refuses the child."""
    return "exceeded quota" in refusal.message


def moot_refusals(view: View) -> frozenset[Child]:
    """The children whose refusals no longer matter."""
    standing = standing_refusals(view)
    return frozenset(each.child for each in view.observed.refusals if each not in standing)


def pause_seconds(view: View) -> float:
    """Seconds for which nothing is created because the API server refused a child; else 0.

    Rounded to milliseconds, because a tiny remainder of a float would cost one more pass.
    """
    seen = view.observed
    if not standing_refusals(view):
        return 0.0
    pause = pause_after(seen.refused_times, seen.paused_in_namespace)
    return max(0.0, round(pause - seen.refused_seconds, 3))


def pause_after(times: int, jobs: int) -> float:
    """The pause after this many refusals in a row, with this many paused jobs in the namespace."""
    if not times:
        return UNTRIED_PAUSE_SECONDS
    longest = min(MAX_PAUSE_SECONDS, max(USUAL_PAUSE_SECONDS, jobs * PAUSE_SECONDS_PER_JOB))
    return min(longest, FIRST_PAUSE_SECONDS * 2.0 ** min(times - 1, 30))


def lacking_children(view: View) -> Names:
    """Children still to be created; none while pods of an earlier attempt exist."""
    has_ended = view.job.status.phase in TERMINAL_PHASES
    if has_ended or view.job.status.is_true(Condition.SUSPENDED) or view.previous_pods:
        return {}
    lacking: Names = {"Pod": frozenset(view.lacking)}
    if view.job.spec.intranet is Intranet.SERVICE:
        lacking["Service"] = view.wanted.keys() - {name_of(each) for each in view.observed.services}
    if view.config_map is None:
        lacking["ConfigMap"] = {view.config_map_name}
    gang = find_gang(view)
    if gang and not (gang.is_users or gang.exists):
        lacking["PodGroup"] = {gang.name}
    lacking["Workload"] = {create.name for create in workload_creates(view)}
    return lacking


def _leaving_children(view: View) -> dict[str, set[str]]:
    leaving: dict[str, set[str]] = {}
    for delete in (*wanted_deletes(view), *workload_deletes(view), *force_deletes(view)):
        leaving.setdefault(delete.target.kind, set()).add(delete.target.name)
    return leaving
