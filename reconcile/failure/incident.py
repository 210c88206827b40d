"""Incidents: what ended an attempt, which pod caused it, whether it counts against backoffLimit.

One incident often fails many pods. The pod whose end began first decides whether the incident
counts; one whose log only tells of a lost peer is never the first. `blame` chooses which pod is
named.
"""

from dataclasses import dataclass, replace

from api.constants import EXIT_CODE_ELASTIC_RESTART, EXIT_CODE_RELAUNCH, Reason
from api.objects import format_time, moment_of
from api.status import Failure, JobStatus
from reconcile.failure.blame import find_culprit, seconds_to_blame, tells_of_lost_peer
from reconcile.failure.ending import (
    MAX_RECORD_CHARACTERS,
    describe_disruption,
    describe_end,
    describe_record,
    record_words,
)
from reconcile.failure.policy import PolicyAction, match_policy
from reconcile.model.end import OUT_OF_MEMORY, Author
from reconcile.model.pods import PodState, PodView
from reconcile.model.view import View
from reconcile.objects.rendezvous import has_moved, has_stale_config_map, moved_pods

LAUNCHER_CODES = (EXIT_CODE_ELASTIC_RESTART, EXIT_CODE_RELAUNCH)
"""Exit codes by which a launcher asks for a restart."""
ELASTIC_GAVE_UP_CODE = 241
"""-15 as an exit code: an elastic launcher stopped its trainer to form a new group, and then missed
its peers."""


@dataclass(frozen=True, slots=True)
class Incident:
    """Why an attempt is over. `is_fatal` ends the job; `is_charged` counts against backoffLimit.

    `pod` is the pod that caused it, if a pod did. For a pod that is gone, there is only a `record`
    or a `name`. `verify_gone` is as in `Plan`. `followed` is a failure that came later, if its log
    tells of more than a lost peer.
    """

    reason: Reason
    message: str
    is_charged: bool
    is_fatal: bool = False
    pod: PodView | None = None
    verify_gone: tuple[str, ...] = ()
    record: Failure | None = None
    name: str = ""
    followed: "Incident | None" = None

    @property
    def telling(self) -> PodView | None:
        """The pod whose log says most about it, if there is one."""
        return (self.followed or self).pod

    @property
    def node(self) -> str:
        """The node where it happened; empty if no pod caused it."""
        if self.record is not None:
            return self.record.node
        return self.pod.node if self.pod else ""


def find_incident(view: View) -> Incident | None:
    """The incident that ended the attempt of a job that is not elastic.

    None while the attempt goes on, and while we wait for a pod whose log has the cause.
    """
    ended = ended_pods(view)
    incidents = [judge_pod(view, pod) for pod in ended]
    for incident in incidents:
        if incident.is_fatal:
            return describe(view, incident)
    has_failed = bool(ended or noted_failure(view))
    lost = peer_loss(view, ended) if has_failed else None
    if lost is None and view.has_started and all(map(tells_of_lost_peer, ended)):
        lost = _followed(view, _find_loss(view), ended)
    if lost or not has_failed or seconds_to_verdict(view):
        return lost
    return _recall(view, ended)


def peer_loss(view: View, ended: list[PodView]) -> Incident | None:
    """The incident of the pod that decides, if others end it or its node is silent; else None."""
    there = (pod for pod in view.pods.values() if pod.state is not PodState.SUCCEEDED)
    going = (pod for pod in there if pod.ending.interrupted_at and not _is_of_program(pod))
    first = min((*ended, *going), key=_order, default=None)
    if first is None or _is_of_program(first):
        return None
    return _followed(view, describe(view, judge_pod(view, first)), ended)


def _followed(view: View, incident: Incident | None, ended: list[PodView]) -> Incident | None:
    """The incident, with the failures that followed: its message tells of them, too."""
    noted = noted_failure(view)
    after = _of_record(noted) if noted else None
    if failures := _failures(view, ended):
        after = name_culprit(view, failures)
    if incident is None or after is None:
        return incident
    says_more = after.pod is not None and not tells_of_lost_peer(after.pod)
    message = f"{incident.message}; after that, {after.message}"
    return replace(incident, message=message, followed=after if says_more else None)


def seconds_to_verdict(view: View) -> float:
    """Seconds left to wait for a pod whose log has the cause of the failures; else 0."""
    ended = ended_pods(view)
    if view.job.spec.is_elastic or not ended or not _is_programs_own(judge_pod(view, ended[0])):
        return 0.0
    return seconds_to_blame(view, ended)


def note_failure(view: View) -> JobStatus:
    """The status with a record of the failure, unless status has one for this attempt.

    The failed pod can be deleted while we wait for its peers. The record is the attempt's only one
    until the final record replaces it.
    """
    if noted_failure(view) is not None:
        return view.job.status
    incident = name_culprit(view, [judge_pod(view, pod) for pod in ended_pods(view)])
    return view.job.status.with_failure(build_failure(view, incident))


def noted_failure(view: View) -> Failure | None:
    """The record that `note_failure` made in this attempt, or None."""
    if view.job.spec.is_elastic:
        return None  # in an elastic job each lost worker has a record
    return next((each for each in view.job.status.failures if each.attempt == view.attempt), None)


def forget_noted(view: View) -> JobStatus:
    """The status without the noted failure."""
    noted = noted_failure(view)
    kept = tuple(each for each in view.job.status.failures if each is not noted)
    return replace(view.job.status, failures=kept)


def _recall(view: View, ended: list[PodView]) -> Incident:
    """The noted failure, if its pod is gone but failed first, and no other pod's log has a cause.

    Else the incident of the pods that are still there.
    """
    noted = noted_failure(view)
    if noted is None or any(
        pod.name == noted.pod or not tells_of_lost_peer(pod) or _began(pod) < noted.time
        for pod in filter(_is_of_program, ended)
    ):
        return name_culprit(view, _failures(view, ended))
    return _of_record(noted)


def _failures(view: View, ended: list[PodView]) -> list[Incident]:
    return [judge_pod(view, pod) for pod in ended if _is_of_program(pod)]


def _of_record(record: Failure) -> Incident:
    return Incident(Reason.POD_FAILED, describe_record(record), True, record=record)


def describe(view: View, incident: Incident) -> Incident:
    """The incident, with its message filled in if a pod caused it."""
    return replace(incident, message=_told(view, incident.pod)) if incident.pod else incident


def _told(view: View, pod: PodView) -> str:
    if _is_of_program(pod) or (pod.state is PodState.FAILED and not pod.is_deleting):
        return describe_end(view, pod)
    how = "is being deleted" if pod.is_deleting else "is being evicted"
    how = "does not answer" if pod.ending.is_silent else how
    where = f" on {pod.node}" if pod.node else ""
    return f"{pod.name}{where} {how}{describe_disruption(pod)}"


def name_culprit(view: View, failures: list[Incident]) -> Incident:
    """The first incident with its message. If a program failed, `find_culprit` chooses its pod."""
    if not _is_programs_own(failures[0]):
        return describe(view, failures[0])
    pod = find_culprit([each.pod for each in failures if _is_programs_own(each) and each.pod])
    return replace(failures[0], message=describe_end(view, pod, len(failures) - 1), pod=pod)


def _is_programs_own(incident: Incident) -> bool:
    return incident.reason is Reason.POD_FAILED


def _is_of_program(pod: PodView) -> bool:
    return pod.ending.author is Author.PROGRAM


def ended_pods(view: View) -> list[PodView]:
    """The attempt's pods that have failed or are being deleted; the first one decides."""
    there = (pod for pod in view.pods.values() if pod.state is not PodState.SUCCEEDED)
    ended = (
        p for p in there if (view.has_started if p.is_deleting else p.state is PodState.FAILED)
    )
    return sorted(ended, key=_order)


def _order(pod: PodView) -> tuple[bool, str, bool, str]:
    """Sorts pods by when their end began; after these, those that only lost a peer.

    A peer is lost first, whatever the clocks of the nodes say.
    """
    is_programs = _is_of_program(pod)
    return is_programs and tells_of_lost_peer(pod), _began(pod), is_programs, pod.name


def _began(pod: PodView) -> str:
    """When the pod's end began, or else when it was created: sortable, as `end_time`."""
    return format_time(pod.ending.began) or end_time(pod)


def judge_pod(view: View, pod: PodView) -> Incident:
    """The incident of a pod that has failed or is going, without its message.

    `describe` adds the message only where it is needed, as thousands of pods can have failed.
    """
    action = match_policy(view.job.spec.pod_failure_policy, pod)
    if action is PolicyAction.FAIL_JOB:
        return Incident(Reason.POD_FAILURE_POLICY, "", False, is_fatal=True, pod=pod)
    is_programs, end = _is_of_program(pod), pod.end
    codes = (*LAUNCHER_CODES, ELASTIC_GAVE_UP_CODE) if view.job.spec.is_elastic else LAUNCHER_CODES
    if is_programs and end is not None and end.is_trainer and end.exit_code in codes:
        return Incident(Reason.TRAINER_ASKED_RESTART, "", False, pod=pod)
    if action is not PolicyAction.COUNT and not is_programs:
        return Incident(_disruption(pod), "", False, pod=pod)
    if action is PolicyAction.IGNORE:
        return Incident(Reason.FAILURE_POLICY_IGNORE, "", False, pod=pod)
    if action is None and has_moved(view, pod):
        # The node has recreated the pod, and the program did not find itself among its peers.
        return Incident(Reason.ADDRESS_CHANGED, "", False, pod=pod)
    return Incident(Reason.POD_FAILED, "", True, pod=pod)


def end_time(pod: PodView) -> str:
    """When the pod ended, or else was interrupted or created: sortable, the same in every pass."""
    ended = pod.end.finished_at if pod.end else None
    created = moment_of(pod.raw["metadata"].get("creationTimestamp"))
    return format_time(ended or pod.ending.interrupted_at or created)


def build_failure(view: View, incident: Incident) -> Failure:
    """The failure record, which outlives the pod."""
    if incident.record is not None:
        return incident.record
    pod = incident.pod
    end = pod.end if pod else None
    name = pod.name if pod else incident.name
    is_out_of_memory = end is not None and end.reason == OUT_OF_MEMORY
    is_out_of_memory &= pod is not None and not pod.ending.is_of_others
    message, ending = _record_words(view, incident)
    role, index = view.wanted.get(name, ("", 0))
    return Failure(
        attempt=view.attempt,
        pod=name,
        role=str(role),
        index=index,
        node=pod.node if pod else "",
        exit_code=end.exit_code if end else None,
        signal=end.signal if end else None,
        reason=OUT_OF_MEMORY if is_out_of_memory else str(incident.reason),
        message=(message or incident.message)[:MAX_RECORD_CHARACTERS],
        time=record_time(view, pod),
        ending=ending,
    )


def _record_words(view: View, incident: Incident) -> tuple[str, str]:
    """As `record_words`, but empty if the cluster ended the pod and its log has no cause."""
    pod = incident.pod
    if pod is None or not (_is_programs_own(incident) or (pod.end and pod.end.words.cause)):
        return "", ""
    return record_words(view, pod)


def record_time(view: View, pod: PodView | None) -> str:
    """The time in the record: when the pod ended, or now if no pod caused the incident."""
    return (end_time(pod) if pod else "") or format_time(view.now)


def _find_loss(view: View) -> Incident | None:
    """The incident of a pod that is gone, has moved or has a stale ConfigMap."""
    noted = noted_failure(view)
    gone = [name for name in view.missing if noted is None or name != noted.pod]
    if gone and view.was_whole:
        message = f"{_some(gone)} vanished, but the peers still have the old address"
        verify = tuple(gone[:8])
        return Incident(Reason.POD_VANISHED, message, False, verify_gone=verify, name=gone[0])
    moved = moved_pods(view)
    if moved:
        message = f"{_some(moved)} came back with a new address, but the peers have the old one"
        return Incident(Reason.ADDRESS_CHANGED, message, False)
    stale = next((p for p in view.pods.values() if has_stale_config_map(view, p)), None)
    if stale:
        message = f"{stale.name}'s node {stale.node} has the ConfigMap of a former job of this name"
        return Incident(Reason.STALE_CONFIG_MAP, message, False, name=stale.name)
    return None


def _disruption(pod: PodView) -> Reason:
    if pod.ending.has_lost_node:
        return Reason.NODE_LOST
    return Reason.POD_VANISHED if pod.ending.author is Author.USER else Reason.POD_EVICTED


def _some(names: tuple[str, ...] | list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
