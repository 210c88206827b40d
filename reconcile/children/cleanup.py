"""The children that are deleted when a job has ended, as cleanPodPolicy says."""

from api.constants import CleanPodPolicy, Phase
from api.objects import Raw
from reconcile.model.plan import Delete, deletes_of
from reconcile.model.pods import PodView
from reconcile.model.view import View

CLEANED_WHEN_COMPLETED = (CleanPodPolicy.ALWAYS, CleanPodPolicy.ON_COMPLETION)
CLEANED_WHEN_FAILED = (CleanPodPolicy.ALWAYS, CleanPodPolicy.ON_FAILURE)


def cleanup_deletes(view: View) -> tuple[Delete, ...]:
    """The children of an ended job that its policy does not keep."""
    services = view.observed.services if _cleans_all(view) else ()
    pods = (pod.raw for pod in _pods_to_go(view))
    return deletes_of((*pods, *services, *_pod_groups_to_go(view)))


def _pods_to_go(view: View) -> list[PodView]:
    if _cleans_all(view):
        return list(view.all_pods)
    policy = view.job.spec.clean_pod_policy
    if view.job.status.phase == Phase.FAILED and policy is not CleanPodPolicy.NEVER:
        return [pod for pod in view.all_pods if not _has_ended(pod)]
    # Pods of other attempts, left by an operator that died or whose cache lagged, always go.
    return [pod for pod in view.all_pods if pod.attempt != view.attempt]


def _pod_groups_to_go(view: View) -> tuple[Raw, ...]:
    """An ended job's PodGroup stays only while kept pods of it still run."""
    going = {pod.uid for pod in _pods_to_go(view)}
    if any(pod.uid not in going and not _has_ended(pod) for pod in view.all_pods):
        return ()
    return view.observed.pod_groups


def _cleans_all(view: View) -> bool:
    failed = view.job.status.phase == Phase.FAILED
    return view.job.spec.clean_pod_policy in (
        CLEANED_WHEN_FAILED if failed else CLEANED_WHEN_COMPLETED
    )


def _has_ended(pod: PodView) -> bool:
    """Whether all of its containers have ended: a sidecar that runs on still takes up resources."""
    return (pod.raw.get("status") or {}).get("phase") in ("Succeeded", "Failed")
