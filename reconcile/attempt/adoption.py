"""Jobs that another operator has started, taken over while their pods run.

paddle-operator 0.3 has the same kind and gives children the same names, but its pods have none of
our labels, so no watch shows them. A status with a phase but no attempt is that operator's, because
our statuses have both. We read its pods by name and add our labels. When the store shows all of
them, we write attempt 1 and the condition Adopted. These pods keep the ConfigMap and the Services
that they were started with. No child is created beside them, and the next attempt is like any
other.

A job of ours can also have such a status, if somebody applied that operator's CRD over ours: it
drops status fields that it does not know. We recognise the job by its attempt's pods and ConfigMap,
and it continues.

A job without workers is left alone. If no worker has begun, there is nothing to lose, and the pods
are recreated, because they can be stuck: that operator starts servers one by one, through an init
container.
"""

from dataclasses import replace
from typing import Any

from api.constants import (
    LABEL_INDEX,
    LABEL_ROLE,
    OWN_MANAGERS,
    TERMINAL_PHASES,
    Condition,
    Phase,
    Reason,
    Role,
)
from api.job import pod_name
from api.objects import Raw, is_deleting, labels_of, name_of
from api.spec import parse_spec
from api.status import dump_status, new_condition
from reconcile.model.move import Move, set_condition
from reconcile.model.plan import EmitEvent, ObjectReference, Patch, Plan, deletes_of
from reconcile.model.pods import PodState
from reconcile.model.view import View
from reconcile.objects.rendezvous import child_labels

FIRST_ATTEMPT = 1
AGAIN_SECONDS = 1.0
"""The time until the next pass: the deletion of a pod without our labels wakes no job."""
_ENDED = (PodState.SUCCEEDED, PodState.FAILED)


def names_to_ask_for(job: Raw) -> tuple[str, ...]:
    """Names of the pods that another operator has perhaps made for a job; none for a job of ours.

    All of them must be read, whatever their labels. A pod that was not adopted would be deleted as
    soon as the operator tries to create its own pod of that name.
    """
    status: Any = job.get("status")
    if not isinstance(status, dict) or not status.get("phase") or status.get("attempt"):
        return ()
    is_ours = (job["spec"].get("managedBy") or "") in OWN_MANAGERS
    if status["phase"] in TERMINAL_PHASES or is_deleting(job) or not is_ours:
        return ()
    roles = parse_spec(job["spec"]).roles.items()
    return tuple(pod_name(name_of(job), r, index) for r, s in roles for index in range(s.replicas))


def take_over(view: View) -> Plan:
    """Label pods that no watch shows, or delete them if no worker has begun.

    If the job has no workers, it never completes: it only gets a condition.
    """
    return _take_pods(view) if _has_workers(view) else _leave_alone(view)


def _has_workers(view: View) -> bool:
    return any(role is Role.WORKER for role, _ in view.wanted.values())


def _leave_alone(view: View) -> Plan:
    message = "the job has no workers: its pods keep running, and this operator ignores them"
    condition = new_condition(Condition.ADOPTED, False, Reason.INVALID_SPEC, message, view.now)
    told = dump_status(view.job.status.with_condition(condition))["conditions"]
    if told == view.job.raw_status.get("conditions"):
        return Plan()
    event = EmitEvent("Warning", Reason.INVALID_SPEC, message)
    return Plan(status={"status": {"conditions": told}}, events=(event,))


def _take_pods(view: View) -> Plan:
    pods = tuple(_with_labels(view, pod) for pod in view.observed.unseen_pods)
    known = replace(view.observed, pods=(*view.observed.pods, *pods))
    if not _has_begun(replace(view, observed=known)):
        return Plan(deletes=deletes_of(pods), requeue_after=AGAIN_SECONDS)
    patches = tuple(
        Patch(ObjectReference.of(pod), {"metadata": {"labels": labels_of(pod)}}) for pod in pods
    )
    return Plan(patches=patches, requeue_after=AGAIN_SECONDS)


def adopt(view: View) -> Move | None:
    """The first status by this operator, when watches show all pods. Then the job is like others.

    None for a job without workers.
    """
    if view.observed.unseen_pods or not _has_workers(view):
        return None
    status = replace(view.job.status, attempt=view.attempt)
    if not _has_begun(view):
        return Move(replace(status, phase=Phase.PENDING))
    if view.attempt > FIRST_ATTEMPT or view.config_map is not None:
        return Move(status)  # the job is ours, and continues
    message = f"another operator has started this job: {len(view.pods)} of its pods keep running"
    status = set_condition(status, Condition.ADOPTED, True, Reason.ADOPTED, message, view.now)
    return Move(status, (EmitEvent("Normal", Reason.ADOPTED, message),))


def _with_labels(view: View, pod: Raw) -> Raw:
    role, index = view.wanted[name_of(pod)]
    labels = child_labels(view.job, FIRST_ATTEMPT)
    labels |= {LABEL_ROLE: str(role), LABEL_INDEX: str(index)}
    return {**pod, "metadata": {**pod["metadata"], "labels": labels}}


def _has_begun(view: View) -> bool:
    """Whether a worker has run. Every ended worker counts: an evicted pod can hide that it ran."""
    return any(pod.has_started or pod.state in _ENDED for pod in view.of_role(Role.WORKER))
