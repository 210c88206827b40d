"""Which refusals still matter.

A job may want less than when it was refused: it was scaled down, suspended or restarted, or it has
ended. Then it neither waits for that child nor should it say so.
"""

from collections.abc import Set as AbstractSet

from api.constants import TERMINAL_PHASES, Condition, Intranet
from api.job import config_map_name
from api.objects import name_of
from reconcile.build.gang import find_gang
from reconcile.model.plan import Child, Refusal
from reconcile.model.view import View

Names = dict[str, AbstractSet[str]]
"""The names of children, by their kind."""


def standing_refusals(view: View) -> tuple[Refusal, ...]:
    """Refusals of children that the job still lacks, or of deletes of some that are still there."""
    if not view.observed.refusals:
        return ()
    lacking, there = lacking_children(view), _there(view)
    return tuple(
        refusal
        for refusal in view.observed.refusals
        if refusal.name in (there if refusal.is_delete else lacking).get(refusal.kind, ())
    )


def moot_refusals(view: View) -> frozenset[Child]:
    """The children that no longer matter."""
    standing = standing_refusals(view)
    return frozenset(each.child for each in view.observed.refusals if each not in standing)


def lacking_children(view: View) -> Names:
    """Children that are to be created sooner or later, once the previous pods are gone."""
    has_ended = view.job.status.phase in TERMINAL_PHASES
    if has_ended or view.job.status.is_true(Condition.SUSPENDED) or view.previous_pods:
        return {}
    lacking: Names = {"Pod": frozenset(view.lacking)}
    if view.job.spec.intranet is Intranet.SERVICE:
        lacking["Service"] = view.wanted.keys() - {name_of(each) for each in view.observed.services}
    if view.config_map is None:
        lacking["ConfigMap"] = {config_map_name(view.job.name, view.attempt)}
    gang = find_gang(view)
    if gang and not (gang.is_users or gang.exists):
        lacking["PodGroup"] = {gang.name}
    return lacking


def _there(view: View) -> Names:
    observed = view.observed
    return {
        "Pod": {name_of(each) for each in observed.pods},
        "Service": {name_of(each) for each in observed.services},
        "ConfigMap": {name_of(each) for each in observed.config_maps},
        "PodGroup": {name_of(each) for each in observed.pod_groups},
    }
