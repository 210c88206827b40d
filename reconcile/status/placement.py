"""Why pods are not placed or not started yet, gathered from the pods themselves."""

import re
from collections.abc import Iterator
from datetime import datetime

from api.constants import Reason
from api.objects import Raw, condition_of, condition_since, dicts_in, moment_of
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
NO_NODE_FITS = "Unschedulable"
"""With another reason, no node is at fault: a volume cannot be bound, or a gang is not ready."""
DEFAULT_SCHEDULER = "default-scheduler"
LATE_SECONDS = 120.0
"""A pod is named that has waited this long for a scheduler, an address or an init container."""
_Waiting = Iterator[tuple[PodView, datetime]]
"""Pods that wait for the same thing, and since when."""


def await_start(view: View) -> Hold | None:
    """Wait for pods that have no node yet, whose containers have not started, or that are lost."""
    if (silent := _silent(view)) or view.all_run:
        return silent
    hold = _gated(view) or _unscheduled(view) or _overlooked(view) or _waiting(view)
    return hold or _late(view)


def _late(view: View) -> Hold:
    """A hold that names a pod that has waited too long for one thing, or that says when to look."""
    seconds = []
    for find, explain in _WAITS:
        found = list(find(view))
        lefts = [LATE_SECONDS - (view.now - since).total_seconds() for _, since in found]
        late = [each for each, left in zip(found, lefts, strict=True) if left <= 0]
        if late:
            cause, next_step = explain(view, *late[0])
            more = and_more(len(late) - 1)
            return Hold(Reason.WAITING_FOR_PODS, cause, next_step, more=more)
        seconds += lefts
    cause = f"waiting for {count(view.job.spec.total_replicas, 'pod')} to start"
    next_step = _explain_start(view)
    return Hold(Reason.WAITING_FOR_PODS, cause, next_step, seconds=earliest(*seconds))


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
    silent = [pod for pod in view.pods.values() if pod.ending.is_silent and pod.is_live]
    if not silent:
        return None
    pod, since = silent[0], condition_since(silent[0].raw, "Ready", "False")
    when = f" since {clock_time(since)}" if since else ""
    cause = f"{pod.node} with {pod.name} has not answered{when}{and_more(len(silent) - 1)}"
    next_step = f"kubectl get node {pod.node}; if it is lost: kubectl delete pod {pod.name}"
    return Hold(Reason.NODE_LOST, cause, next_step, warns=True)


def _waiting(view: View) -> Hold | None:
    """A hold if a kubelet says why a container has not started, such as ports that are in use."""
    for pod in view.pods.values():
        for wait in pod.waits:
            is_told = pod.is_live and (wait.text or wait.state not in UNTRIED)
            if is_told and not (view.config_map is None and is_about_config_map(view, wait.text)):
                cause = wait.describe(pod.name)
                return Hold(Reason.WAITING_FOR_PODS, cause, "nothing, its node tries again")
    return None


def _unhandled(view: View) -> _Waiting:
    """The pods that no scheduler has handled, since they were created."""
    for pod in view.pods.values():
        if pod.is_live and _is_overlooked(pod):
            yield pod, moment_of(pod.raw["metadata"].get("creationTimestamp")) or view.now


def _explain_unhandled(view: View, pod: PodView, since: datetime) -> tuple[str, str]:
    cause = f"no scheduler has handled {pod.name} since {clock_time(since)}"
    see = f"kubectl get pod {pod.name} -n {view.job.namespace} -o yaml"
    return cause, f"see which one it names, and that it runs: {see}"


def _unaddressed(view: View) -> _Waiting:
    """The pods that have a node and no address, since they have the node."""
    for pod in view.pods.values():
        if pod.node and not pod.address and pod.is_live:
            yield pod, condition_since(pod.raw, "PodScheduled") or view.job.created_at


def _explain_unaddressed(view: View, pod: PodView, _since: datetime) -> tuple[str, str]:
    pod_spec: Raw = view.job.spec.roles[pod.role].pod_spec if pod.role else {}
    volumes = [each for each in pod_spec.get("volumes") or () if "emptyDir" not in each]
    lacks = ["its network"]
    for what, needs in (("volume", volumes), ("device", pod_spec.get("resourceClaims") or ())):
        if names := ", ".join(str(each.get("name")) for each in needs):
            lacks.append(f"a {what} ({names})")
    cause = f"{pod.name} on {pod.node} still has no address: {' or '.join(lacks)} is not ready"
    return cause, f"see why: kubectl describe pod {pod.name} -n {view.job.namespace}"


def _uninitialized(view: View) -> _Waiting:
    """The pods that wait for an init container, since it runs."""
    for pod in view.pods.values():
        if pod.is_live and (found := _running_init(pod)):
            yield pod, found[1]


def _explain_uninitialized(view: View, pod: PodView, since: datetime) -> tuple[str, str]:
    name, _ = _running_init(pod) or ("", since)
    cause = (
        f"{pod.name} waits for its init container {name}, which has run since {clock_time(since)}"
    )
    see = f"kubectl logs {pod.name} -c {name} -n {view.job.namespace}"
    return cause, f"see its log or startupProbe: {see}"


def _running_init(pod: PodView) -> tuple[str, datetime] | None:
    """The init container that a pod waits for, and since when it runs; None if there is none.

    It is the last one that runs: those before it are sidecars that have started.
    """
    if not condition_of(pod.raw, "Initialized", "False"):
        return None
    for status in reversed(dicts_in((pod.raw.get("status") or {}).get("initContainerStatuses"))):
        running = (status.get("state") or {}).get("running") or {}
        if since := moment_of(running.get("startedAt")):
            return str(status.get("name")), since
    return None


_WAITS = (
    (_unhandled, _explain_unhandled),
    (_unaddressed, _explain_unaddressed),
    (_uninitialized, _explain_uninitialized),
)
"""What pods can wait for too long, in the order in which they get it."""


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
    cause = f"{len(refused)} of {total} pods unscheduled{when}: {why.get('message') or ''}"
    gated = "remove their schedulingGates, or wait for whoever set them"
    next_step = gated if why.get("reason") == GATED else _make_room(view, pod, why)
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


def _make_room(view: View, pod: PodView, why: Raw) -> str:
    """A hint for the user: about the pod's volume, its request for a scarce resource, or else the
    rules by which it is placed, unless the condition says that it is not about nodes.
    """
    text = str(why.get("message") or "")
    if CLAIM_MISSING.search(text):
        return "create the claim, or correct claimName and submit again"
    if CLAIM_UNBOUND in text:
        return "see why the claim is not bound: kubectl describe pvc"
    pod_spec = view.job.spec.roles[pod.role].pod_spec if pod.role else {}
    wanted = dict.fromkeys(INSUFFICIENT.findall(text))
    asked = [f"{each} {amount}" for each in wanted if (amount := _asked(pod_spec, each))]
    if not asked and (why.get("reason") or NO_NODE_FITS) != NO_NODE_FITS:
        return "nothing, the scheduler tries again; if it lasts, see what the message names"
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
