"""One pass over one job: from what was observed to what is to be done.

The pass either moves the job to another state, and then writes status and nothing else, or it makes
the children match the state that the job is in. Its decisions follow from the observation alone,
so a pass may be repeated, interrupted and resumed at any point.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime

from api.constants import Condition, Phase, Reason, Role
from api.status import USUAL_WAITS, JobStatus, diff_status
from reconcile.attempt.adoption import adopt, leave_alone, take_pods
from reconcile.attempt.catch_up import find_later_attempt, seconds_to_later_attempt
from reconcile.attempt.completion import find_completion, find_elastic_completion
from reconcile.attempt.deadlines import find_expiry, seconds_to_next_deadline, seconds_to_ttl
from reconcile.attempt.elastic import find_elastic_transition
from reconcile.attempt.failure import find_incident, note_failure, seconds_to_verdict
from reconcile.attempt.loss import count_loss
from reconcile.attempt.restart import answer_incident, find_exhausted_in_place
from reconcile.attempt.restart_request import find_requested_restart
from reconcile.attempt.suspend import find_suspension
from reconcile.attempt.validation import find_invalid_spec
from reconcile.build.environment import overridden_variables
from reconcile.build.rendezvous import all_have_addresses, build_variables, oversized_variable
from reconcile.children.children import change_children
from reconcile.children.cleanup import cleanup_deletes
from reconcile.children.host_ports import find_allocation
from reconcile.children.stuck import force_deletes, seconds_to_force_delete
from reconcile.children.wake import seconds_to_wake
from reconcile.model.plan import Delete, EmitEvent, Observed, Outcome, Plan, Settings
from reconcile.model.transition import Transition, fail_job
from reconcile.model.view import View, build_view
from reconcile.model.wait import count
from reconcile.status.refusals import moot_refusals, standing_refusals
from reconcile.status.refused import find_invalid_child, seconds_to_invalid_child
from reconcile.status.startup_errors import find_startup_failure, seconds_to_startup_failure
from reconcile.status.summary import FIRST_STATUS_SECONDS, summarize
from reconcile.status.terminating import seconds_to_hang
from reconcile.status.unreadable import find_unreadable, tell_unreadable

STATUS_INTERVAL_SECONDS = 2.0
"""Changes of counts alone are written at most this often: pods come up one by one."""
CAUSE_SECONDS = 5.0
"""A first status that says what holds the pods up is deferred no longer, for its user looks for
that. Some causes, such as a gang that is about to be admitted, are gone by then."""
NOUNS = {Role.PS: "server", Role.WORKER: "worker", Role.HETER: "heter worker"}
QUIET_PHASES = frozenset({Phase.PENDING, Phase.STARTING})


def reconcile(observed: Observed, now: datetime, settings: Settings) -> Plan:
    """What to do about one job now.

    Raises KeyError, TypeError or ValueError on a job whose spec the schema would have refused.
    """
    try:
        return _decide(observed, now, settings)
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
        wrong = find_unreadable(observed.job.get("status"))
        if wrong is None:
            raise
        return tell_unreadable(observed.job, wrong, now)


def _decide(observed: Observed, now: datetime, settings: Settings) -> Plan:
    view = build_view(observed, now, settings)
    if not view.job.is_ours:
        return Plan()
    if view.job.is_deleting:
        return _finish(view, Plan())
    if view.job.status.is_terminal:
        return _tend_ended(view)
    if view.is_inherited:
        return leave_alone(view) or take_pods(view) or _move(view, adopt(view))
    if view.is_behind:
        return _await_status(view)
    for find in _transitions(view):
        transition = find(view)
        if transition is not None:
            return _move(view, transition)
    left = seconds_to_verdict(view)
    if left:
        noted = diff_status(view.job.raw_status, note_failure(view))
        return Plan(status=noted, requeue_after=_earliest(left, *_timers(view)))
    return _finish(view, change_children(view))


def _transitions(view: View) -> Iterable[Callable[[View], Transition | None]]:
    """What may move the job to another state, in order: the first that does decides."""
    is_elastic = view.job.spec.is_elastic
    ending = find_elastic_completion if is_elastic else find_completion
    if view.is_adopted:
        return (
            *(ending, find_suspension, _find_restart, find_requested_restart, find_expiry),
            find_startup_failure,
        )
    if view.job.spec.suspend:
        return (find_invalid_spec, ending, find_suspension)
    return (
        find_invalid_spec,
        ending,
        find_suspension,
        find_elastic_transition if is_elastic else _find_restart,
        find_requested_restart,
        find_exhausted_in_place,
        _find_oversize,
        find_expiry,
        find_startup_failure,
        find_invalid_child,
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


def _await_status(view: View) -> Plan:
    """Do nothing until the status is up to date, but keep a deadline: a pod may only pretend.

    Where the status is indeed old, the write meets another version of the job and changes nothing.
    """
    expiry = None if view.job.spec.suspend else find_expiry(view)
    if move := expiry or find_later_attempt(view):
        return _move(view, move)
    return _finish(view, Plan(requeue_after=seconds_to_later_attempt(view)))


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
    if view.is_inherited:
        return Plan(requeue_after=left)  # its operator has tended to it, and its status stays
    return _finish(view, Plan(deletes=cleanup_deletes(view), requeue_after=left))


def _finish(view: View, plan: Plan) -> Plan:
    """Add the status that follows from the children to a plan, if it is time to write it."""
    status = _stamp(summarize(view), view.job.generation)
    patch = diff_status(view.job.raw_status, status)
    stuck = force_deletes(view)
    wait = _status_wait(view, status) if patch and not stuck else 0.0
    events, outcomes = ((), ()) if wait else _news(view, status)
    if stuck:
        events = (*events, _force_delete_event(stuck))
    return replace(
        plan,
        deletes=plan.deletes + stuck,
        status=None if wait else patch,
        events=events,
        outcomes=outcomes,
        requeue_after=_earliest(plan.requeue_after, wait or None, *_timers(view)),
        moot=moot_refusals(view),
    )


def _timers(view: View) -> tuple[float | None, ...]:
    if view.job.status.is_terminal or view.job.is_deleting:
        hang = seconds_to_hang(view) if view.job.is_deleting else None
        return seconds_to_force_delete(view), hang
    return (
        seconds_to_next_deadline(view),
        seconds_to_startup_failure(view),
        seconds_to_invalid_child(view),
        seconds_to_force_delete(view),
        seconds_to_hang(view),
        seconds_to_wake(view),
    )


def _earliest(*times: float | None) -> float | None:
    """The earliest time to come. What is due and was not acted on waits for news, not in a loop."""
    return min((seconds for seconds in times if seconds is not None and seconds > 0), default=None)


def _stamp(status: JobStatus, generation: int) -> JobStatus:
    conditions = tuple(replace(c, observed_generation=generation) for c in status.conditions)
    return replace(status, observed_generation=generation, conditions=conditions)


def _status_wait(view: View, status: JobStatus) -> float:
    """Seconds for which a change of counts alone is deferred; 0 for one that users must see."""
    if not _is_minor(view.job.status, status):
        return 0.0
    if not view.job.status.phase:
        return _first_status_wait(view, status)
    written = view.observed.status_written_at
    has_new_cause = _is_on_its_way(view.job.status) and not _is_on_its_way(status)
    if written is None or has_new_cause:
        return 0.0
    # abs: a clock that was set back does not make it wait until it has caught up.
    return max(0.0, STATUS_INTERVAL_SECONDS - abs((view.now - written).total_seconds()))


def _first_status_wait(view: View, status: JobStatus) -> float:
    """Seconds for which the first status is deferred: while other jobs wait for a worker.

    A job with pods was deferred before, and then waits for them. A status costs the API server
    about as much as two pods, and a job that runs by then writes only the one that says so.
    Deadlines count from the start that this status tells; half of one leaves time to look again.
    """
    if not view.observed.is_backlogged and not view.pods:
        return 0.0
    spec = view.job.spec
    deadlines = (spec.active_deadline_seconds, spec.starting_deadline_seconds)
    limits = [seconds / 2 for seconds in deadlines if seconds is not None]
    is_usual = view.observed.is_backlogged and _is_on_its_way(status)
    limits.append(FIRST_STATUS_SECONDS if is_usual else CAUSE_SECONDS)
    return min(CAUSE_SECONDS, max(0.0, min(limits) - view.age_seconds))


def _is_on_its_way(status: JobStatus) -> bool:
    """Whether nothing is known that holds the pods up."""
    pending = status.condition(Condition.PENDING)
    return pending is None or pending.reason == Reason.WAITING_FOR_PODS


def _is_minor(old: JobStatus, new: JobStatus) -> bool:
    if new.phase != old.phase and new.phase not in QUIET_PHASES:
        return False
    return old.observed_generation in (0, new.observed_generation)


def _news(view: View, status: JobStatus) -> tuple[tuple[EmitEvent, ...], tuple[Outcome, ...]]:
    """Events and metrics about the step from the stored status to the new one."""
    old = view.job.status
    events: list[EmitEvent] = []
    outcomes: list[Outcome] = []
    mode = view.job.spec.mode
    is_new = not old.phase and not view.job.is_deleting
    now_runs = status.is_true(Condition.RUNNING) and not old.is_true(Condition.RUNNING)
    now_runs &= not view.is_inherited  # it has run before
    if is_new:
        events += _first_events(view, status, now_runs)
        outcomes.append(Outcome("created", mode))
    if now_runs:
        text = f"all {view.job.spec.total_replicas} pods run"
        message = f"{_describe(view)}: {text}" if is_new else text
        events.append(EmitEvent("Normal", Reason.ALL_PODS_RUNNING, message))
        seconds = view.age_seconds if status.restart_count == 0 else None
        outcomes.append(Outcome("running", mode, seconds=seconds))
    events += _trouble_events(view, status)
    return tuple(events), (*outcomes, *count_loss(view, status))


def _describe(view: View) -> str:
    roles = view.job.spec.roles
    pods = ", ".join(count(spec.replicas, NOUNS[role]) for role, spec in roles.items())
    return f"a {view.job.spec.mode} job with {pods}"


def _first_events(view: View, status: JobStatus, now_runs: bool) -> list[EmitEvent]:
    """Events about a new job. If it already runs, none says that it was seen."""
    events = [] if now_runs else [EmitEvent("Normal", Reason.CREATED, _describe(view))]
    overridden = [] if status.is_terminal else overridden_variables(view)
    if overridden:
        names = ", ".join(overridden)
        message = f"the operator sets these variables itself, the template's are dropped: {names}"
        events.append(EmitEvent("Warning", Reason.OWNED_VARIABLE, message))
    return events


def _force_delete_event(stuck: tuple[Delete, ...]) -> EmitEvent:
    names = ", ".join(sorted(delete.target.name for delete in stuck))
    message = f"deleted without waiting for their lost nodes: {names}"
    return EmitEvent("Warning", Reason.FORCE_DELETED, message)


def _trouble_events(view: View, status: JobStatus) -> list[EmitEvent]:
    """Events about what has happened to the PodGroup of a job that runs, and about refusals."""
    events = []
    for type_ in (Condition.RUNNING, Condition.PENDING):
        old, new = view.job.status.condition(type_), status.condition(type_)
        if new is None or not new.status or new.reason == Reason.ALL_PODS_RUNNING:
            continue
        if type_ is Condition.PENDING and not standing_refusals(view):
            continue
        if new.reason in USUAL_WAITS:
            continue
        if old is None or (old.reason, old.message) != (new.reason, new.message):
            events.append(EmitEvent("Warning", new.reason, new.message))
    return events
