"""Incidents: what ended an attempt, whether it is charged, and which pod caused it.

One incident often fails many pods. The pod that ended first is taken for its cause; the others
failed because they lost a peer.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from api.constants import EXIT_CODE_ELASTIC_RESTART, EXIT_CODE_RELAUNCH, Reason
from api.objects import Raw, condition_of, format_time, parse_time
from api.status import Failure
from reconcile.failure_policy import PolicyAction, match_policy
from reconcile.pods import DISRUPTION_TARGET, PodState, PodView
from reconcile.rendezvous import has_moved, moved_pods
from reconcile.view import View

MAX_LOG_CHARACTERS = 600
"""A failure record keeps so much of a container's termination message: the end says most."""
LAUNCHER_CODES = (EXIT_CODE_ELASTIC_RESTART, EXIT_CODE_RELAUNCH)
ELASTIC_GAVE_UP_CODE = 241
"""-15 as an exit code: an elastic launcher stopped its trainer to form a new group, and then missed
its peers."""


@dataclass(frozen=True, slots=True)
class Incident:
    """Why an attempt is over. `is_fatal` ends the job; `is_charged` counts against backoffLimit.

    `pod` caused it, where one pod did. `verify_gone` is as in `Plan`.
    """

    reason: Reason
    message: str
    is_charged: bool
    is_fatal: bool = False
    pod: PodView | None = None
    verify_gone: tuple[str, ...] = ()


def find_incident(view: View) -> Incident | None:
    """What ended the attempt of a job that is not elastic, or None while it goes on."""
    failures = [judge_pod(view, pod) for pod in failed_pods(view)]
    for incident in failures:
        if incident.is_fatal:
            return incident
    if failures:
        return failures[0]
    return _find_loss(view) if view.has_started else None


def failed_pods(view: View) -> list[PodView]:
    """Failed pods of the attempt, the first to end first; those being deleted do not count."""
    failed = [p for p in view.pods.values() if p.state is PodState.FAILED and not p.is_deleting]
    return sorted(failed, key=lambda pod: (end_time(pod), not pod.is_disrupted, pod.name))


def judge_pod(view: View, pod: PodView) -> Incident:
    """What a failed pod means for the job."""
    message = describe_end(pod)
    action = match_policy(view.job.spec.pod_failure_policy, pod.raw)
    if action is PolicyAction.FAIL_JOB:
        return Incident(Reason.POD_FAILURE_POLICY, message, False, is_fatal=True, pod=pod)
    if pod.end is not None and pod.end.exit_code in _launcher_codes(view):
        return Incident(Reason.TRAINER_ASKED_RESTART, message, False, pod=pod)
    if action is PolicyAction.IGNORE:
        return Incident(Reason.FAILURE_POLICY_IGNORE, message, False, pod=pod)
    if action is None and pod.is_disrupted:
        return Incident(_disruption(pod), message, False, pod=pod)
    if action is None and has_moved(view, pod):
        # Its node has made it anew, and the program did not find itself among its peers.
        return Incident(Reason.ADDRESS_CHANGED, message, False, pod=pod)
    return Incident(Reason.POD_FAILED, message, True, pod=pod)


def _launcher_codes(view: View) -> tuple[int, ...]:
    """Exit codes by which a launcher asks for a restart."""
    return (*LAUNCHER_CODES, ELASTIC_GAVE_UP_CODE) if view.job.spec.is_elastic else LAUNCHER_CODES


def end_time(pod: PodView) -> str:
    """When the pod ended, as text that sorts; each pass finds the same text for the same pod."""
    moment: datetime | None = pod.end.finished_at if pod.end else None
    if moment is None:
        disruption = condition_of(pod.raw, DISRUPTION_TARGET) or {}
        moment = parse_time(disruption.get("lastTransitionTime"))
    if moment is None:
        moment = parse_time(pod.raw["metadata"].get("creationTimestamp"))
    return format_time(moment) if moment else ""


def describe_end(pod: PodView) -> str:
    """One sentence: which pod, on which node, how it ended, and the last lines of its log."""
    where = f" on {pod.node}" if pod.node else ""
    return f"{pod.name}{where} {_ending(pod)}"


def build_failure(view: View, incident: Incident) -> Failure:
    """The record that outlives the pod."""
    pod = incident.pod
    end = pod.end if pod else None
    return Failure(
        attempt=view.attempt,
        pod=pod.name if pod else "",
        role=str(pod.role or "") if pod else "",
        index=pod.index if pod else 0,
        node=pod.node if pod else "",
        exit_code=end.exit_code if end else None,
        signal=end.signal if end else None,
        reason=(end.reason if end and end.reason == "OOMKilled" else "") or str(incident.reason),
        message=_last_words(pod) or incident.message,
        time=(end_time(pod) if pod else "") or format_time(view.now),
    )


def _ending(pod: PodView) -> str:
    status: Raw = pod.raw.get("status") or {}
    if pod.end is None:
        return f"failed: {status.get('reason') or 'unknown'}: {status.get('message') or ''}"
    if pod.end.reason == "OOMKilled":
        how = "ran out of memory (OOMKilled)"
    elif pod.end.signal:
        how = f"was ended by signal {pod.end.signal}"
    else:
        how = f"exited with code {pod.end.exit_code}"
    words = _last_words(pod)
    return f"{how}: {words}" if words else how


def _last_words(pod: PodView | None) -> str:
    message = pod.end.message if pod and pod.end else ""
    return message.strip()[-MAX_LOG_CHARACTERS:]


def _find_loss(view: View) -> Incident | None:
    """The incident of a pod that is gone, going, or moved: its peers hold its old address."""
    going = [
        _vanishing(view, pod)
        for pod in view.pods.values()
        if pod.is_deleting and pod.state is not PodState.SUCCEEDED
    ]
    if going:
        return next((incident for incident in going if incident.is_fatal), going[0])
    if view.missing and view.was_whole:
        message = f"{_some(view.missing)} vanished while its peers hold its address"
        return Incident(Reason.POD_VANISHED, message, False, verify_gone=view.missing[:8])
    moved = moved_pods(view)
    if moved:
        message = f"{_some(moved)} came back with another address than its peers were told"
        return Incident(Reason.ADDRESS_CHANGED, message, False)
    return None


def _vanishing(view: View, pod: PodView) -> Incident:
    where = f" on {pod.node}" if pod.node else ""
    message = f"{pod.name}{where} is being deleted"
    action = match_policy(view.job.spec.pod_failure_policy, pod.raw)
    if action is PolicyAction.FAIL_JOB:
        return Incident(Reason.POD_FAILURE_POLICY, message, False, is_fatal=True, pod=pod)
    reason = _disruption(pod) if pod.is_disrupted else Reason.POD_VANISHED
    return Incident(reason, message, action is PolicyAction.COUNT, pod=pod)


def _disruption(pod: PodView) -> Reason:
    return Reason.NODE_LOST if pod.has_lost_node else Reason.POD_EVICTED


def _some(names: tuple[str, ...] | list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def restarts_in_place(view: View) -> Iterator[PodView]:
    """Pods whose kubelet has restarted a container (restartPolicy OnFailure)."""
    return (
        pod
        for pod in view.pods.values()
        if pod.restarts and (pod.raw.get("spec") or {}).get("restartPolicy") == "OnFailure"
    )
