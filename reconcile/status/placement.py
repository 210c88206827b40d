"""Why pods are not placed or not started yet, gathered from the pods themselves."""

import re
from collections.abc import Iterator

from api.constants import Reason
from api.objects import Raw, condition_of, condition_since, moment_of
from api.trainer import requests_of, too_many_devices
from reconcile.model.hold import Hold, and_more, clock_time, count, earliest
from reconcile.model.pods import PodState, PodView
from reconcile.model.view import View
from reconcile.model.waits import UNTRIED
from reconcile.model.workload import places_pods
from reconcile.objects.rendezvous import is_about_config_map

INSUFFICIENT = re.compile(r"Insufficient ([\w./-]*\w)")
"""The scheduler's phrase for a resource that no node has enough of."""
CLAIM_MISSING = re.compile(r'persistentvolumeclaim "[^"]*" not found')
CLAIM_UNBOUND = "unbound immediate PersistentVolumeClaims"
GATED = "SchedulingGated"
DEFAULT_SCHEDULER = "default-scheduler"
GATES_NOT_READY = "ReadinessGatesNotReady"
ADDRESS_SECONDS = 120.0
"""A pod that has had a node for this long and has no address yet is named."""


def await_start(view: View) -> Hold | None:
    """Wait for pods that have no node yet, whose containers have not started, or that are lost."""
    if (silent := _silent(view)) or view.all_run:
        return silent
    hold = _gated(view) or _unscheduled(view) or _overlooked(view)
    hold = hold or _waiting(view) or _without_address(view)
    if hold is not None:
        return hold
    left = earliest(*(left for _, left in _lacking_address(view)))
    cause = f"waiting for {count(view.job.spec.total_replicas, 'pod')} to start"
    return Hold(Reason.WAITING_FOR_PODS, cause, _explain_start(view), seconds=left)


def _explain_start(view: View) -> str:
    waits = (wait for pod in view.pods.values() for wait in pod.waits)
    if not any(is_about_config_map(view, wait.text) for wait in waits):
        return "nothing, nodes pull images and start containers"
    total = view.job.spec.total_replicas
    who, until = ("the pod shows", "it has") if total == 1 else ("pods show", f"all {total} have")
    return f"{who} CreateContainerConfigError until {until} an address; this is expected"


def _silent(view: View) -> Hold | None:
    """A hold if nodes of live pods do not answer.

    A pod that tolerates every taint is not evicted from a dead node, so it seems to run for ever.
    """
    silent = [pod for pod in view.pods.values() if _is_silent(pod.raw) and pod.is_live]
    if not silent:
        return None
    pod, since = silent[0], condition_since(silent[0].raw, "Ready", "False")
    when = f" since {clock_time(since)}" if since else ""
    cause = f"{pod.node} with {pod.name} has not answered{when}{and_more(len(silent) - 1)}"
    next_step = f"kubectl get node {pod.node}; if it is lost: kubectl delete pod {pod.name}"
    return Hold(Reason.NODE_LOST, cause, next_step, warns=True)


def _is_silent(pod: Raw) -> bool:
    """Whether the cluster, and not the kubelet, says that the pod is not ready or unknown."""
    if (pod.get("status") or {}).get("phase") == "Unknown":
        return True
    ready = condition_of(pod, "Ready", "False")
    is_kubelets = condition_of(pod, "ContainersReady", "False") is not None
    return ready is not None and not is_kubelets and ready.get("reason") != GATES_NOT_READY


def _waiting(view: View) -> Hold | None:
    """A hold if a kubelet says why a container has not started, such as ports that are in use."""
    for pod in view.pods.values():
        for wait in pod.waits:
            is_told = pod.is_live and (wait.text or wait.state not in UNTRIED)
            if is_told and not (view.config_map is None and is_about_config_map(view, wait.text)):
                cause = wait.describe(pod.name)
                return Hold(Reason.WAITING_FOR_PODS, cause, "nothing, its node tries again")
    return None


def _without_address(view: View) -> Hold | None:
    """A hold if a pod has had a node for long, and no address: a volume or its network lacks."""
    late = [pod for pod, left in _lacking_address(view) if left <= 0]
    if not late:
        return None
    pod, more = late[0], and_more(len(late) - 1)
    volumes = view.job.spec.roles[pod.role].pod_spec.get("volumes") or () if pod.role else ()
    names = ", ".join(str(each.get("name")) for each in volumes if "emptyDir" not in each)
    lacks = f"its network or a volume ({names})" if names else "its network"
    cause = f"{pod.name} on {pod.node} still has no address: {lacks} is not ready"
    next_step = f"see why: kubectl describe pod {pod.name} -n {view.job.namespace}"
    return Hold(Reason.WAITING_FOR_PODS, cause, next_step, more=more)


def _lacking_address(view: View) -> Iterator[tuple[PodView, float]]:
    """The pods that have a node and no address, and the seconds until they are named."""
    for pod in view.pods.values():
        if pod.node and not pod.address and pod.is_live:
            since = condition_since(pod.raw, "PodScheduled") or view.job.created_at
            yield pod, ADDRESS_SECONDS - (view.now - since).total_seconds()


def _gated(view: View) -> Hold | None:
    """A hold until Kueue has chosen nodes and removed its scheduling gate from the pods."""
    told = filter(None, map(_unschedulable, view.pods.values()))
    gated = [each for each in told if each.get("reason") == GATED]
    if not gated or not any(places_pods(view.workload, role) for role in view.job.spec.roles):
        return None
    cause = f"Kueue has yet to choose nodes for {count(len(gated), 'pod')}"
    return Hold(Reason.QUEUED, cause, "nothing; if this lasts, check that Kueue runs")


def _unscheduled(view: View) -> Hold | None:
    refused = [(pod, why) for pod in view.pods.values() if (why := _unschedulable(pod))]
    if not refused:
        return None
    since = moment_of(min(str(why.get("lastTransitionTime") or "") for _, why in refused))
    when = f" since {clock_time(since)}" if since else ""
    total = view.job.spec.total_replicas
    pod, why = refused[0]
    text = str(why.get("message") or "")
    cause = f"{len(refused)} of {total} pods unscheduled{when}: {text}"
    gated = "remove their schedulingGates, or wait for whoever set them"
    next_step = gated if why.get("reason") == GATED else _make_room(view, pod, text)
    return Hold(Reason.UNSCHEDULABLE, cause, next_step)


def _overlooked(view: View) -> Hold | None:
    """A hold if a custom scheduler has not handled a pod: perhaps it is down or misspelt."""
    for role, wanted in view.job.spec.roles.items():
        scheduler = wanted.pod_spec.get("schedulerName") or DEFAULT_SCHEDULER
        pods = (pod for pod in view.pods.values() if pod.role == role)
        if scheduler != DEFAULT_SCHEDULER and any(map(_is_overlooked, pods)):
            cause = f"scheduler {scheduler} has not handled every pod of {role} yet"
            next_step = "if that lasts, check that it runs and that schedulerName is right"
            return Hold(Reason.WAITING_FOR_PODS, cause, next_step)
    return None


def _is_overlooked(pod: PodView) -> bool:
    is_told = any(condition_of(pod.raw, "PodScheduled", each) for each in ("True", "False"))
    return pod.state is PodState.PENDING and not pod.node and not is_told


def _make_room(view: View, pod: PodView, text: str) -> str:
    """A hint for the user: about the pod's volume, its request for a scarce resource, or else the
    rules by which it is placed.
    """
    if CLAIM_MISSING.search(text):
        return "create the claim, or correct claimName and submit again"
    if CLAIM_UNBOUND in text:
        return "see why the claim is not bound: kubectl describe pvc"
    pod_spec = view.job.spec.roles[pod.role].pod_spec if pod.role else {}
    wanted = dict.fromkeys(INSUFFICIENT.findall(text))
    asked = [f"{each} {amount}" for each in wanted if (amount := _asked(pod_spec, each))]
    if not asked:
        return "compare selectors, affinity and tolerations with the nodes, or wait for a node"
    asks = f"each {pod.role} pod asks for"
    for device, number, most in too_many_devices(pod_spec, view.observed.most_devices):
        if device in wanted:
            return (
                f"{asks} {device} {number}, but no node of the cluster has more than {most}: "
                "ask for less, or add larger nodes"
            )
    return f"{asks} {', '.join(asked)}: ask for less, or wait for room"


def _asked(pod_spec: Raw, resource: str) -> str:
    """How much of a resource a pod's containers ask for: `4`, or `4 + 1`."""
    containers = pod_spec.get("containers") or ()
    amounts = [requests_of(container).get(resource) for container in containers]
    return " + ".join(str(amount) for amount in amounts if amount is not None)


def _unschedulable(pod: PodView) -> Raw | None:
    is_pending = pod.state is PodState.PENDING
    return condition_of(pod.raw, "PodScheduled", "False") if is_pending else None
