"""The children to delete: unwanted ones of a live job, and those that cleanPodPolicy names."""

from api.constants import LABEL_ATTEMPT, CleanPodPolicy, Condition, Phase
from api.objects import labels_of, name_of
from reconcile.attempt.adoption import take_over
from reconcile.attempt.deadlines import is_time_up
from reconcile.attempt.elastic import is_recorded
from reconcile.model.plan import Delete, deletes_of
from reconcile.model.pods import PodState, PodView
from reconcile.model.view import View
from reconcile.objects.gang import find_gang
from reconcile.objects.workload import is_queued

CLEANED_WHEN_COMPLETED = (CleanPodPolicy.ALWAYS, CleanPodPolicy.ON_COMPLETION)
CLEANED_WHEN_FAILED = (CleanPodPolicy.ALWAYS, CleanPodPolicy.ON_FAILURE)


def wanted_deletes(view: View) -> tuple[Delete, ...]:
    """The children to delete now, without those that are being deleted already."""
    if view.job.is_deleting:
        return ()  # the garbage collector deletes them
    if view.job.status.is_terminal:
        return _cleanup_deletes(view)
    if view.is_inherited:
        return take_over(view).deletes
    deletes = _obsolete_deletes(view)
    if view.job.status.is_true(Condition.SUSPENDED):  # such a job holds no resources
        return deletes + deletes_of(view.observed.pod_groups)
    if view.is_adopted:
        return deletes
    gang = find_gang(view)
    if gang and gang.is_users and not view.previous_pods:
        deletes += deletes_of(view.observed.pod_groups)
    return deletes + _replaced_deletes(view)


def _obsolete_deletes(view: View) -> tuple[Delete, ...]:
    pods = view.all_pods if view.job.status.is_true(Condition.SUSPENDED) else view.obsolete
    services = (each for each in view.observed.services if name_of(each) not in view.wanted)
    attempt = str(view.attempt)
    maps = (m for m in view.observed.config_maps if labels_of(m).get(LABEL_ATTEMPT) != attempt)
    return deletes_of((*(pod.raw for pod in pods), *services, *maps))


def _replaced_deletes(view: View) -> tuple[Delete, ...]:
    """Failed workers of an elastic job whose failure is recorded in status."""
    if not view.job.spec.is_elastic:
        return ()
    failed = (pod for pod in view.pods.values() if pod.state is PodState.FAILED)
    return deletes_of(pod.raw for pod in failed if is_recorded(view, pod))


def _cleanup_deletes(view: View) -> tuple[Delete, ...]:
    """The children of an ended job that its policy does not keep; never its ConfigMaps."""
    services = view.observed.services if _cleans_all(view) else ()
    pods = _pods_to_go(view)
    going = {pod.uid for pod in pods}
    # An ended job keeps its PodGroups only while kept pods still run.
    still_run = any(pod.uid not in going and not has_ended(pod) for pod in view.all_pods)
    groups = () if still_run else view.observed.pod_groups
    return deletes_of((*(pod.raw for pod in pods), *services, *groups))


def _pods_to_go(view: View) -> list[PodView]:
    if _cleans_all(view):
        return list(view.all_pods)
    has_failed, policy = view.job.status.phase == Phase.FAILED, view.clean_pod_policy
    stops = has_failed and policy is not CleanPodPolicy.NEVER
    stops |= view.observed.workloads_served and is_queued(view)  # its quota was taken back
    # Pods of other attempts always go. An operator that died, or whose cache lagged, left them.
    return [
        pod
        for pod in view.all_pods
        if pod.attempt != view.attempt or (stops and not has_ended(pod))
    ]


def _cleans_all(view: View) -> bool:
    if is_time_up(view):
        return True  # the job goes when its pods have gone and their quota is given back
    failed = view.job.status.phase == Phase.FAILED
    return view.clean_pod_policy in (CLEANED_WHEN_FAILED if failed else CLEANED_WHEN_COMPLETED)


def has_ended(pod: PodView) -> bool:
    """Whether all containers have ended, not only the trainer: a sidecar takes resources, too."""
    return (pod.raw.get("status") or {}).get("phase") in ("Succeeded", "Failed")
