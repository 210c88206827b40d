"""One pass over one job: from what was observed to what is to be done.

The pass either moves the job to another state, and then writes status and nothing else, or it makes
the children match the state that the job is in. What it decides follows from what was observed and
from nothing else, so a pass may be repeated, interrupted and resumed at any point.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from api.constants import Condition, Phase, Reason
from api.status import JobStatus, diff_status
from reconcile.children import Changes, change_children
from reconcile.cleanup import cleanup_deletes
from reconcile.completion import find_completion, find_elastic_completion
from reconcile.deadlines import find_expiry, seconds_to_next_deadline, seconds_to_ttl
from reconcile.elastic import find_elastic_transition
from reconcile.environment import overridden_variables
from reconcile.failure import find_incident
from reconcile.host_ports import find_allocation
from reconcile.plan import Delete, EmitEvent, Observed, Outcome, Plan, Settings
from reconcile.rendezvous import all_have_addresses, build_variables, oversized_variable
from reconcile.restart import answer_incident, find_exhausted_in_place
from reconcile.startup_errors import find_startup_failure, seconds_to_startup_failure
from reconcile.stuck import force_deletes, seconds_to_force_delete
from reconcile.summary import summarize
from reconcile.suspend import find_suspension
from reconcile.transition import Transition, fail_job
from reconcile.validation import find_invalid_spec
from reconcile.view import View, build_view

STATUS_INTERVAL_SECONDS = 2.0
"""Counts alone are written at most this often: pods come up one by one."""
CAUSE_SECONDS = 5.0
"""A first status that says what holds the pods up waits no longer for other jobs: that is what its
user looks for. Many a cause, such as a gang that is being let in, is gone by then."""
QUIET_PHASES = frozenset({Phase.PENDING, Phase.STARTING})


def reconcile(observed: Observed, now: datetime, settings: Settings) -> Plan:
    """What to do about one job now.

    Raises KeyError, TypeError or ValueError where the job is nothing that the schema accepts.
    """
    view = build_view(observed, now, settings)
    if not view.job.is_ours:
        return Plan()
    if view.job.is_deleting:
        return _finish(view, Changes())
    if view.job.status.is_terminal:
        return _tend_ended(view)
    if view.is_behind:
        return _finish(view, Changes())
    for find in _transitions(view):
        transition = find(view)
        if transition is not None:
            return _move(view, transition)
    return _finish(view, change_children(view))


def _transitions(view: View) -> Iterable[Callable[[View], Transition | None]]:
    """What may move the job to another state, in order: the first that does decides."""
    is_elastic = view.job.spec.is_elastic
    ending = find_elastic_completion if is_elastic else find_completion
    if view.job.spec.suspend:
        return (find_invalid_spec, ending, find_suspension)
    return (
        find_invalid_spec,
        ending,
        find_suspension,
        find_elastic_transition if is_elastic else _find_restart,
        find_exhausted_in_place,
        _find_oversize,
        find_expiry,
        find_startup_failure,
        find_allocation,
    )


def _find_restart(view: View) -> Transition | None:
    incident = find_incident(view)
    return answer_incident(view, incident) if incident else None


def _find_oversize(view: View) -> Transition | None:
    if view.job.spec.is_elastic or view.config_map is not None or not all_have_addresses(view):
        return None
    name = oversized_variable(build_variables(view))
    if name is None:
        return None
    message = f"{name} would be longer than the kernel takes for one environment variable"
    return fail_job(view, Reason.ENDPOINTS_TOO_LONG, message)


def _move(view: View, transition: Transition) -> Plan:
    """Write the new state, on which the next pass acts."""
    moved = replace(view, job=replace(view.job, status=transition.status))
    status = _stamp(summarize(moved), view.job.generation)
    events, outcomes = _news(view, status)
    return Plan(
        status=diff_status(view.job.raw_status, status),
        events=events + transition.events,
        outcomes=outcomes + transition.outcomes,
        is_move=True,
        verify_gone=transition.verify_gone,
    )


def _tend_ended(view: View) -> Plan:
    left = seconds_to_ttl(view)
    if left is not None and left <= 0:
        return Plan(delete_job=True)
    changes = Changes(deletes=cleanup_deletes(view), requeue_after=left)
    return _finish(view, changes)


def _finish(view: View, changes: Changes) -> Plan:
    """Change the children, and write the status that follows from them, if it is time to."""
    status = _stamp(summarize(view), view.job.generation)
    patch = diff_status(view.job.raw_status, status)
    stuck = force_deletes(view)
    wait = _status_wait(view, status) if patch and not stuck else 0.0
    events, outcomes = ((), ()) if wait else _news(view, status)
    if stuck:
        events = (*events, _force_delete_event(stuck))
    return Plan(
        deletes=changes.deletes + stuck,
        patches=changes.patches,
        creates=changes.creates,
        status=None if wait else patch,
        events=events,
        outcomes=outcomes,
        requeue_after=_earliest(changes.requeue_after, wait or None, *_timers(view)),
    )


def _timers(view: View) -> tuple[float | None, ...]:
    if view.job.status.is_terminal or view.job.is_deleting:
        return (seconds_to_force_delete(view),)
    return (
        seconds_to_next_deadline(view),
        seconds_to_startup_failure(view),
        seconds_to_force_delete(view),
    )


def _earliest(*times: float | None) -> float | None:
    return min((max(0.0, seconds) for seconds in times if seconds is not None), default=None)


def _stamp(status: JobStatus, generation: int) -> JobStatus:
    conditions = tuple(replace(c, observed_generation=generation) for c in status.conditions)
    return replace(status, observed_generation=generation, conditions=conditions)


def _status_wait(view: View, status: JobStatus) -> float:
    """Seconds for which a change that only counts may wait; 0 where users must see it now."""
    if not _is_minor(view.job.status, status):
        return 0.0
    put_off, written = view.observed.put_off, view.observed.status_written_at
    if put_off is not None and not view.job.status.phase:
        until = put_off.until
        if not _is_on_its_way(status):
            until = min(until, put_off.since + timedelta(seconds=CAUSE_SECONDS))
        return max(0.0, (until - view.now).total_seconds())
    if written is None:
        return 0.0
    return max(0.0, STATUS_INTERVAL_SECONDS - (view.now - written).total_seconds())


def _is_on_its_way(status: JobStatus) -> bool:
    """Whether nothing is known that holds the pods up."""
    pending = status.condition(Condition.PENDING)
    return pending is None or pending.reason == Reason.WAITING_FOR_PODS


def _is_minor(old: JobStatus, new: JobStatus) -> bool:
    if new.phase != old.phase and new.phase not in QUIET_PHASES:
        return False
    return old.observed_generation in (0, new.observed_generation)


def _news(view: View, status: JobStatus) -> tuple[tuple[EmitEvent, ...], tuple[Outcome, ...]]:
    """What users and metrics are told about the way from the stored status to the new one."""
    old = view.job.status
    events: list[EmitEvent] = []
    outcomes: list[Outcome] = []
    mode = view.job.spec.mode
    is_new = not old.phase and not view.job.is_deleting
    now_runs = status.is_true(Condition.RUNNING) and not old.is_true(Condition.RUNNING)
    if is_new:
        events += _first_events(view, status, now_runs)
        outcomes.append(Outcome("created", mode))
    if now_runs:
        text = f"all {view.job.spec.total_replicas} pods run"
        message = f"{_describe(view)}: {text}" if is_new else text
        events.append(EmitEvent("Normal", Reason.ALL_PODS_RUNNING, message))
        seconds = view.age_seconds if status.restart_count == 0 else None
        outcomes.append(Outcome("running", mode, seconds=seconds))
    events += _gang_events(view, status) + _refusal_events(view, status)
    return tuple(events), tuple(outcomes)


def _describe(view: View) -> str:
    roles = view.job.spec.roles
    pods = ", ".join(f"{spec.replicas} {role}" for role, spec in roles.items())
    return f"a {view.job.spec.mode} job of {pods}"


def _first_events(view: View, status: JobStatus, now_runs: bool) -> list[EmitEvent]:
    """What is told of a new job; that it was seen goes without saying where it runs already."""
    events = [] if now_runs else [EmitEvent("Normal", Reason.CREATED, _describe(view))]
    overridden = [] if status.is_terminal else overridden_variables(view)
    if overridden:
        names = ", ".join(overridden)
        message = f"the operator sets these variables itself, the template's are dropped: {names}"
        events.append(EmitEvent("Warning", Reason.OWNED_VARIABLE, message))
    return events


def _force_delete_event(stuck: tuple[Delete, ...]) -> EmitEvent:
    names = ", ".join(sorted(delete.name for delete in stuck))
    message = f"deleted without waiting for their lost nodes: {names}"
    return EmitEvent("Warning", Reason.FORCE_DELETED, message)


def _gang_events(view: View, status: JobStatus) -> list[EmitEvent]:
    """What has become of the PodGroup of a job that runs."""
    running = status.condition(Condition.RUNNING)
    if running is None or not running.status or running.reason == Reason.ALL_PODS_RUNNING:
        return []
    before = view.job.status.condition(Condition.RUNNING)
    if before is not None and before.reason == running.reason:
        return []
    return [EmitEvent("Warning", running.reason, running.message)]


def _refusal_events(view: View, status: JobStatus) -> list[EmitEvent]:
    pending = status.condition(Condition.PENDING)
    if not view.observed.refusals or pending is None or not pending.status:
        return []
    before = view.job.status.condition(Condition.PENDING)
    if before is not None and (before.reason, before.message) == (pending.reason, pending.message):
        return []
    return [EmitEvent("Warning", pending.reason, pending.message)]
