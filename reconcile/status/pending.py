"""Why a job waits, in one sentence: gathered from its pods, its PodGroup and refused writes."""

import re
from datetime import timedelta

from api.constants import Reason
from api.objects import Raw, condition_of, parse_time
from reconcile.attempt.restart import back_off_seconds, restart_delay, restarting_since
from reconcile.build.gang import find_gang, find_hold, own_pod_group, users_pod_group
from reconcile.children.host_ports import explain_shortage, lacks_ports
from reconcile.model.pods import PodState, PodView, waiting_states
from reconcile.model.view import View
from reconcile.model.wait import MAX_CAUSE_CHARACTERS, Wait, clock_time, count
from reconcile.status.refused import explain_refusals
from reconcile.status.startup_errors import explain_startup
from reconcile.status.terminating import explain_previous

INSUFFICIENT = re.compile(r"Insufficient ([\w./-]*\w)")
"""The scheduler's word for a resource of which no node has enough left."""
CLAIM_MISSING = re.compile(r'persistentvolumeclaim "[^"]*" not found')
CLAIM_UNBOUND = "unbound immediate PersistentVolumeClaims"
DEFAULT_SCHEDULER = "default-scheduler"


def explain_wait(view: View) -> Wait:
    """The most telling reason for which the job waits."""
    waits = (
        explain_refusals(view),
        explain_previous(view),
        explain_startup(view),  # before the PodGroup's: what it says may be of long ago
        _backing_off(view),
        _held(view),
        _ports(view),
        _unscheduled(view),
        _overlooked(view),
        _without_sandbox(view),
    )
    for wait in waits:
        if wait is not None:
            return wait
    total = view.job.spec.total_replicas
    cause = f"waiting for {count(total, 'pod')} to start"
    return Wait(Reason.WAITING_FOR_PODS, cause, _explain_start(view))


def _explain_start(view: View) -> str:
    if view.job.spec.is_elastic:
        return "nothing, nodes pull images and start containers"
    total = view.job.spec.total_replicas
    if total == 1:
        return "held until it has an address: CreateContainerConfigError is how it waits"
    return (
        f"held until all {total} pods have an address: CreateContainerConfigError is how they wait"
    )


def _backing_off(view: View) -> Wait | None:
    since = restarting_since(view.job.status)
    if since is None or not back_off_seconds(view):
        return None
    restart = view.job.status.restart_count
    cause = f"backing off before attempt {view.attempt}, restart {restart}"
    due = since + timedelta(seconds=restart_delay(view.job.status.quick_restarts))
    return Wait(Reason.BACK_OFF, cause, f"attempt {view.attempt} at {clock_time(due)}")


def _held(view: View) -> Wait | None:
    gang = find_gang(view)
    if gang is None:
        return None
    hold = find_hold(view, gang)
    if hold is not None:
        return hold
    group = users_pod_group(view) if gang.is_users else own_pod_group(view)
    text = _group_message(group or {})
    # Volcano leaves the condition true when it has found nodes after all.
    if not text or view.is_placed:
        return None
    return Wait(Reason.POD_GROUP_PENDING, text, "wait for room in the queue, or ask for less")


def _group_message(group: Raw) -> str:
    """What the batch scheduler says of a PodGroup that it has not let in, or not placed."""
    status: Raw = group.get("status") or {}
    is_out = status.get("phase") == "Pending"
    what = "enqueued" if is_out else "scheduled"
    volcanos = condition_of(group, "Unschedulable")
    condition = volcanos or condition_of(group, "PodGroupScheduled", "False") or {}
    if said := condition.get("message") or condition.get("reason"):
        return f"PodGroup not {what}: {said}"[:MAX_CAUSE_CHARACTERS]
    return "PodGroup not enqueued: its queue has not let it in" if is_out else ""


def _ports(view: View) -> Wait | None:
    if not lacks_ports(view):
        return None
    next_step = "wait for other jobs to end, or use intranet: PodIP"
    return Wait(Reason.NO_FREE_PORTS, explain_shortage(view), next_step)


def _without_sandbox(view: View) -> Wait | None:
    """A node says why it makes no container yet, as one does that waits for the ports of others."""
    for pod in view.pods.values():
        for _, reason, text in waiting_states(pod.raw):
            if reason == "ContainerCreating" and text:
                cause = f"{pod.name}: {text}"[:MAX_CAUSE_CHARACTERS]
                return Wait(Reason.WAITING_FOR_PODS, cause, "nothing, its node tries again")
    return None


def _unscheduled(view: View) -> Wait | None:
    refused = [(pod, why) for pod in view.pods.values() if (why := _unschedulable(pod))]
    if not refused:
        return None
    oldest = min(str(why.get("lastTransitionTime") or "") for _, why in refused)
    since = parse_time(oldest)
    when = f" since {clock_time(since)}" if since else ""
    total = view.job.spec.total_replicas
    pod, why = refused[0]
    text = str(why.get("message") or "")
    cause = f"{len(refused)} of {total} pods unscheduled{when}: {text}"[:MAX_CAUSE_CHARACTERS]
    return Wait(Reason.UNSCHEDULABLE, cause, _make_room(view, pod, text))


def _overlooked(view: View) -> Wait | None:
    """A scheduler that is not there, or whose name is misspelt, says nothing of any pod."""
    for role, wanted in view.job.spec.roles.items():
        scheduler = wanted.pod_spec.get("schedulerName") or DEFAULT_SCHEDULER
        pods = (pod for pod in view.pods.values() if pod.role == role)
        if scheduler != DEFAULT_SCHEDULER and any(map(_is_overlooked, pods)):
            cause = f"scheduler {scheduler} has not looked at every pod of {role} yet"
            next_step = "if it stays so, check that it runs and that schedulerName is right"
            return Wait(Reason.WAITING_FOR_PODS, cause[:MAX_CAUSE_CHARACTERS], next_step)
    return None


def _is_overlooked(pod: PodView) -> bool:
    is_told = any(condition_of(pod.raw, "PodScheduled", each) for each in ("True", "False"))
    return pod.state is PodState.PENDING and not pod.node and not is_told


def _make_room(view: View, pod: PodView, text: str) -> str:
    """What a pod asks for of the resources of which too little is left, or how its claim binds."""
    if CLAIM_MISSING.search(text):
        return "create the claim, or correct claimName and submit again"
    if CLAIM_UNBOUND in text:
        return "see why the claim is not bound: kubectl describe pvc"
    pod_spec = view.job.spec.roles[pod.role].pod_spec if pod.role else {}
    wanted = dict.fromkeys(INSUFFICIENT.findall(text))
    asked = [f"{each} {amount}" for each in wanted if (amount := _asked(pod_spec, each))]
    if not asked:
        return "compare selectors, affinity and tolerations with the nodes, or wait for one"
    return f"each pod asks for {', '.join(asked)}: ask for less, or wait for room"


def _asked(pod_spec: Raw, resource: str) -> str:
    """How much of a resource a pod's containers ask for: `4`, or `4 + 1`."""
    amounts = []
    for container in pod_spec.get("containers") or ():
        resources = container.get("resources") or {}
        requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
        amounts.append(requests.get(resource, limits.get(resource)))
    return " + ".join(str(amount) for amount in amounts if amount is not None)


def _unschedulable(pod: PodView) -> Raw | None:
    is_pending = pod.state is PodState.PENDING
    return condition_of(pod.raw, "PodScheduled", "False") if is_pending else None
