"""Why pods are not placed or not started yet, gathered from the pods themselves."""

import re

from api.constants import Reason
from api.objects import Raw, condition_of, parse_time
from api.trainer import requests_of, too_many_devices, waiting_states
from reconcile.model.hold import MAX_CAUSE_CHARACTERS, Hold, clock_time, count
from reconcile.model.pods import PodState, PodView
from reconcile.model.view import View
from reconcile.model.workload import places_pods

INSUFFICIENT = re.compile(r"Insufficient ([\w./-]*\w)")
"""The scheduler's phrase for a resource that no node has enough of."""
CLAIM_MISSING = re.compile(r'persistentvolumeclaim "[^"]*" not found')
CLAIM_UNBOUND = "unbound immediate PersistentVolumeClaims"
GATED = "SchedulingGated"
DEFAULT_SCHEDULER = "default-scheduler"


def await_start(view: View) -> Hold | None:
    """Wait for pods that have no node yet, or whose containers have not started."""
    if view.all_run:
        return None
    hold = _gated(view) or _unscheduled(view) or _overlooked(view) or _without_sandbox(view)
    if hold is not None:
        return hold
    cause = f"waiting for {count(view.job.spec.total_replicas, 'pod')} to start"
    return Hold(Reason.WAITING_FOR_PODS, cause, _explain_start(view))


def _explain_start(view: View) -> str:
    if view.job.spec.is_elastic:
        return "nothing, nodes pull images and start containers"
    total = view.job.spec.total_replicas
    who, until = ("the pod shows", "it has") if total == 1 else ("pods show", f"all {total} have")
    return f"{who} CreateContainerConfigError until {until} an address; this is expected"


def _without_sandbox(view: View) -> Hold | None:
    """A hold if a node reports why it cannot start the pod yet, such as ports that are in use."""
    for pod in view.pods.values():
        for _, reason, text in waiting_states(pod.raw):
            if reason == "ContainerCreating" and text:
                cause = f"{pod.name}: {text}"[:MAX_CAUSE_CHARACTERS]
                return Hold(Reason.WAITING_FOR_PODS, cause, "nothing, its node tries again")
    return None


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
    since = parse_time(min(str(why.get("lastTransitionTime") or "") for _, why in refused))
    when = f" since {clock_time(since)}" if since else ""
    total = view.job.spec.total_replicas
    pod, why = refused[0]
    text = str(why.get("message") or "")
    cause = f"{len(refused)} of {total} pods unscheduled{when}: {text}"[:MAX_CAUSE_CHARACTERS]
    return Hold(Reason.UNSCHEDULABLE, cause, _make_room(view, pod, text))


def _overlooked(view: View) -> Hold | None:
    """A hold if a custom scheduler has not handled a pod: perhaps it is down or misspelt."""
    for role, wanted in view.job.spec.roles.items():
        scheduler = wanted.pod_spec.get("schedulerName") or DEFAULT_SCHEDULER
        pods = (pod for pod in view.pods.values() if pod.role == role)
        if scheduler != DEFAULT_SCHEDULER and any(map(_is_overlooked, pods)):
            cause = f"scheduler {scheduler} has not handled every pod of {role} yet"
            next_step = "if that lasts, check that it runs and that schedulerName is right"
            return Hold(Reason.WAITING_FOR_PODS, cause[:MAX_CAUSE_CHARACTERS], next_step)
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
