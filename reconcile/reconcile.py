"""One pass over one job: turns an observation into a plan.

The pass either moves the job to another state, and then writes only status, or it makes the
children match the current state. Its decisions depend only on the observation, the time and the
settings, so a pass can be interrupted at any point and repeated.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from enum import Flag, auto

from api.constants import Condition, Phase, Reason, Role
from api.objects import Raw, changed, parse_time
from api.status import JobStatus, diff_status
from reconcile.attempt.adoption import adopt, take_over
from reconcile.attempt.back_off import await_back_off
from reconcile.attempt.catch_up import follow_pods
from reconcile.attempt.completion import find_completion, seconds_to_end_read
from reconcile.attempt.deadlines import await_deadlines, seconds_to_ttl
from reconcile.attempt.gang_restart import answer_failures
from reconcile.attempt.in_place import find_exhausted_in_place
from reconcile.attempt.restart_request import find_requested_restart
from reconcile.attempt.stalled import answer_stall, count_stall
from reconcile.attempt.suspend import find_suspension
from reconcile.attempt.validation import find_invalid_spec
from reconcile.children.children import change_children
from reconcile.children.cleanup import wanted_deletes
from reconcile.children.gang_hold import await_gang
from reconcile.children.host_ports import allocate_ports
from reconcile.children.oversize import find_oversize
from reconcile.children.partly_placed import await_room
from reconcile.children.queue import await_quota
from reconcile.children.refusals import drop_moot, wanted_patches, without_refused
from reconcile.children.refused import await_permission
from reconcile.children.slow_create import await_slow_create
from reconcile.children.startup_errors import await_startup
from reconcile.children.terminating import await_leavers, force_deletes, seconds_to_force_delete
from reconcile.children.workload import job_deletes, tend_delegated
from reconcile.failure.loss import add_loss, count_loss
from reconcile.model.hold import Hold, Stop, count, earliest
from reconcile.model.move import Move
from reconcile.model.plan import EmitEvent, Observed, Outcome, Plan, Settings, Wait
from reconcile.model.view import View, build_view
from reconcile.objects.gang import find_gang
from reconcile.objects.templates import replaced_fields
from reconcile.status.kstatus import with_kstatus
from reconcile.status.not_finite import answer_not_finite
from reconcile.status.placement import await_start
from reconcile.status.summary import FIRST_STATUS_SECONDS, summarize, tell_in_others
from reconcile.status.unreadable import find_unreadable, tell_unreadable

Policy = Callable[[View], Move | Hold | None]


class State(Flag):
    """The states of a job that decide which policies apply."""

    LIVE = auto()
    SUSPENDED = auto()
    """Suspended, or about to be."""
    ADOPTED = auto()
    """Another operator created its pods."""
    BEHIND = auto()
    """Its status is older than its pods."""
    ENDED = auto()
    DELETING = auto()
    INHERITED = auto()
    """Another operator wrote its status."""
    DELEGATED = auto()
    """Another controller runs it; perhaps MultiKueue, in another cluster."""


_RUNS = State.LIVE | State.ADOPTED
_STAYS = _RUNS | State.SUSPENDED
POLICIES: tuple[tuple[Policy, State], ...] = (
    (adopt, State.INHERITED),
    (find_invalid_spec, State.LIVE | State.SUSPENDED),
    (answer_not_finite, State.LIVE),
    (find_completion, _STAYS),
    (find_suspension, _STAYS),
    (await_quota, State.LIVE),
    (answer_failures, _RUNS),
    (answer_stall, State.LIVE),
    (find_requested_restart, _RUNS),
    (find_exhausted_in_place, State.LIVE),
    (find_oversize, State.LIVE),
    (await_deadlines, _RUNS | State.BEHIND),
    (follow_pods, State.BEHIND),
    (await_startup, _RUNS),
    (await_room, State.LIVE),
    (await_permission, _STAYS | State.ENDED | State.INHERITED | State.DELEGATED),
    (await_leavers, _RUNS | State.DELETING),
    (await_back_off, _RUNS),
    (await_gang, _RUNS),
    (allocate_ports, State.LIVE),
    (await_slow_create, State.LIVE),
    (await_start, _RUNS | State.BEHIND),
)
"""Every policy with the states in which it is asked, in order.

The first move that a policy returns decides. If none returns a move, all holds apply: creates stop
if a hold stops them, the next pass comes at the earliest of the holds' times, and the job reports
the first hold that has a reason.
"""
_ASKED = {state: frozenset(p for p, states in POLICIES if state in states) for state in State}

_READS_END = frozenset({Wait.END_OF_LOG})
STATUS_INTERVAL_SECONDS = 2.0
"""Minor changes, such as new counts, are written at most this often: pods start one by one."""
CAUSE_SECONDS = 5.0
"""The longest deferral of a first status that says what delays the pods: its user wants to know."""
NOUNS = {Role.PS: "server", Role.WORKER: "worker", Role.HETER: "heter worker"}
_TROUBLE = (
    *(Condition.RUNNING, Condition.PENDING),
    *(Condition.TRAINED_ALONE, Condition.TRAINING_STALLED, Condition.LOSS_NOT_FINITE),
)
QUIET_PHASES = frozenset({Phase.PENDING, Phase.STARTING})


def reconcile(observed: Observed, now: datetime, settings: Settings) -> Plan:
    """Decide what to do about one job now.

    Raises AttributeError, KeyError, TypeError, ValueError or OverflowError if the schema would have
    refused the job's spec.
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
    asked, move = ask(view)
    if move is not None:
        wait = seconds_to_end_read(view) if move.status.phase == Phase.COMPLETED else 0.0
        if wait:  # who has ended is written: a pod that goes meanwhile is not to train again
            return replace(_report(view, Plan()), requeue_after=wait, waits=_READS_END)
        return _move(view, asked, move)
    standing = asked.observed.refusals
    moot = frozenset(each.child for each in observed.refusals if each not in standing)
    return replace(_TENDED[_state(asked)](asked), moot=moot)


def ask(view: View) -> tuple[View, Move | None]:
    """Ask each policy of the job's state once. Return the first move, and the view with all holds.

    After a move, the view is that of the new state: the policies that follow say what the job then
    waits for. Further moves are left to the next pass.
    """
    view, move = drop_moot(view), None
    asked = _ASKED[_state(view)]
    for policy, _ in POLICIES:
        answer = policy(view) if policy in asked else None
        if isinstance(answer, Hold):
            view.holds.append(answer)
        elif answer is not None and move is None:
            move, view = answer, _moved(view, answer)
            asked = _ASKED[_state(view)]
    return view, move


def _moved(view: View, move: Move) -> View:
    """The view after a move. Earlier holds still apply if the state is the same."""
    moved = replace(view, job=replace(view.job, status=move.status), holds=[])
    moved.holds.extend(view.holds if _state(moved) is _state(view) else ())
    moved.holds.extend([move.hold] if move.hold else ())
    return drop_moot(moved)


def _state(view: View) -> State:
    if not view.job.is_ours:
        return State.DELEGATED
    if view.job.is_deleting:
        return State.DELETING
    if view.job.status.is_terminal:
        return State.ENDED
    if view.is_inherited:
        return State.INHERITED
    if view.is_behind:
        return State.BEHIND
    if view.is_adopted:
        return State.ADOPTED
    is_suspended = view.job.spec.suspend or view.job.status.is_true(Condition.SUSPENDED)
    return State.SUSPENDED if is_suspended else State.LIVE


def _move(view: View, moved: View, move: Move) -> Plan:
    """The plan that writes the new state. The next pass acts on that state."""
    status = _stamp(add_loss(view, summarize(moved)), view.job.generation)
    events, outcomes = _news(view, status, moved.reported_hold)
    return Plan(
        status=_status_patch(view, status),
        events=events + move.events,
        outcomes=outcomes + move.outcomes,
        is_move=True,
        verify_gone=move.verify_gone,
        keep_log=move.keep_log,
    )


def _tend(view: View) -> Plan:
    """Make the children match the state; if a hold has a note, only write that."""
    note = next((hold.note for hold in view.holds if hold.note), None)
    if note is not None:
        return Plan(status=diff_status(view.job.raw_status, note), requeue_after=_next_pass(view))
    stop = max([Stop.NOTHING, *[hold.stops for hold in view.holds]])
    return _report(view, change_children(view, stop) if stop is not Stop.CHANGES else Plan())


def _tend_ended(view: View) -> Plan:
    left, goes = seconds_to_ttl(view), job_deletes(view)
    if view.is_inherited or (goes and not view.holds):
        # Another operator that has ended the job has cleaned up, too; its status stays.
        return Plan(goes, requeue_after=left)
    plan = Plan(wanted_deletes(view) + goes, wanted_patches(view), requeue_after=left)
    return _report(view, plan)


def _tend_others(view: View) -> Plan:
    plan = take_over(view) if view.job.is_ours else tend_delegated(view)
    hold, (status, patch) = view.reported_hold, tell_in_others(view)
    return replace(
        without_refused(view, plan),
        status=plan.status or patch,
        events=plan.events or tuple(_trouble_events(view, status, hold)),
        requeue_after=(hold.seconds if hold else None) or plan.requeue_after,
    )


def _report(view: View, plan: Plan) -> Plan:
    """The plan with force-deletes added, and with the job's status if a status write is due."""
    plan = without_refused(view, plan)
    status = _stamp(add_loss(view, summarize(view)), view.job.generation)
    stuck = force_deletes(view)
    is_changed = diff_status(view.job.raw_status, status) is not None
    wait = _status_wait(view, status) if is_changed and not stuck else 0.0
    events, outcomes = ((), ()) if wait else _news(view, status, view.reported_hold)
    if stuck:
        names = ", ".join(sorted(delete.target.name for delete in stuck))
        message = f"deleted pods without waiting for their lost nodes: {names}"
        events = (*events, EmitEvent("Warning", Reason.FORCE_DELETED, message))
    return replace(
        plan,
        deletes=plan.deletes + stuck,
        status=_status_patch(view, status) if is_changed and not wait else None,
        events=events,
        outcomes=outcomes,
        requeue_after=_next_pass(view, plan.requeue_after, wait, seconds_to_force_delete(view)),
        assumed=tuple(hold.assumed for hold in view.holds if hold.assumed),
    )


_TENDED: dict[State, Callable[[View], Plan]] = {
    **dict.fromkeys(_STAYS | State.BEHIND, _tend),
    State.ENDED: _tend_ended,
    State.DELETING: lambda view: _report(view, Plan()),
    **dict.fromkeys(State.INHERITED | State.DELEGATED, _tend_others),
}
"""What a pass does in each state, if no policy moves the job to another one."""


def _next_pass(view: View, *times: float | None) -> float | None:
    """Seconds until the earliest time that is still ahead; a past time triggers no pass."""
    return earliest(*times, *[hold.seconds for hold in view.holds])


def _status_patch(view: View, status: JobStatus) -> Raw | None:
    """The patch to this status, with kstatus's conditions; None if nothing changes."""
    status = _stamp(with_kstatus(status, view.now), view.job.generation)
    return diff_status(view.job.raw_status, status)


def _stamp(status: JobStatus, generation: int) -> JobStatus:
    conditions = tuple(changed(c, observed_generation=generation) for c in status.conditions)
    return changed(status, observed_generation=generation, conditions=conditions)


def _status_wait(view: View, status: JobStatus) -> float:
    """Seconds by which to defer a status change.

    0 for a phase not in QUIET_PHASES, a new spec, a new cause of delay, and a new process.
    """
    old, written = view.job.status, view.observed.status_written_at
    is_minor = status.phase in (old.phase, *QUIET_PHASES)
    if not is_minor or old.observed_generation not in (0, status.observed_generation):
        return 0.0
    if not old.phase:
        return _first_status_wait(view, _is_on_its_way(status))
    if written is None or (_is_on_its_way(old) and not _is_on_its_way(status)):
        return 0.0
    # abs: the status does not wait until a clock that was set back has caught up.
    return max(0.0, STATUS_INTERVAL_SECONDS - abs((view.now - written).total_seconds()))


def _first_status_wait(view: View, is_on_its_way: bool) -> float:
    """Seconds by which to defer the first status: it costs the API server as much as two pods.

    It is deferred while other jobs wait for a worker, and further once the job has pods. Deadlines
    count from the start time in it, so the wait is at most half a deadline.
    """
    is_backlogged, spec = view.observed.is_backlogged, view.job.spec
    if not is_backlogged and not view.pods:
        return 0.0
    deadlines = (spec.active_deadline_seconds, spec.starting_deadline_seconds)
    most = FIRST_STATUS_SECONDS if is_backlogged and is_on_its_way else CAUSE_SECONDS
    least = min([most, *(seconds / 2 for seconds in deadlines if seconds is not None)])
    return min(CAUSE_SECONDS, max(0.0, least - view.age_seconds))


def _is_on_its_way(status: JobStatus) -> bool:
    """Whether nothing that we know of delays the pods."""
    pending = status.condition(Condition.PENDING)
    return pending is None or pending.reason == Reason.WAITING_FOR_PODS


def _news(
    view: View, status: JobStatus, told: Hold | None
) -> tuple[tuple[EmitEvent, ...], tuple[Outcome, ...]]:
    """Events and metrics about the change from the stored status to the new one."""
    old = view.job.status
    events: list[EmitEvent] = []
    outcomes: list[Outcome] = []
    mode = view.job.spec.mode
    is_new = not old.phase and not view.job.is_deleting
    now_runs = status.is_true(Condition.RUNNING) and not old.is_true(Condition.RUNNING)
    now_runs &= not view.is_inherited  # an inherited job ran before
    if is_new:
        events += _first_events(view, status, now_runs)
        outcomes.append(Outcome("created", mode))
    if now_runs:
        text = f"all {view.job.spec.total_replicas} pods run"
        message = f"{_describe(view)}: {text}" if is_new else text
        events.append(EmitEvent("Normal", Reason.ALL_PODS_RUNNING, message))
        outcomes += _first_run(view, status)
    events += _trouble_events(view, status, told)
    return tuple(events), (*outcomes, *count_loss(view, status), *count_stall(view, status))


def _first_run(view: View, status: JobStatus) -> Iterator[Outcome]:
    """The times until the first attempt ran: since the job's creation, and since its start."""
    start = parse_time(status.start_time)
    if status.restart_count == 0 and start:
        yield Outcome("running", view.job.spec.mode, seconds=view.age_seconds)
        yield Outcome("started", view.job.spec.mode, seconds=(view.now - start).total_seconds())


def _describe(view: View) -> str:
    roles = view.job.spec.roles
    pods = ", ".join(count(spec.replicas, NOUNS[role]) for role, spec in roles.items())
    return f"a {view.job.spec.mode} job with {pods}"


def _first_events(view: View, status: JobStatus, now_runs: bool) -> list[EmitEvent]:
    """Events about a new job; without Created if the job already runs."""
    events = [] if now_runs else [EmitEvent("Normal", Reason.CREATED, _describe(view))]
    fields = [] if status.is_terminal else replaced_fields(view, find_gang(view))
    if fields:
        message = f"the operator sets these fields and drops the template's: {', '.join(fields)}"
        events.append(EmitEvent("Warning", Reason.OWNED_VARIABLE, message))
    return events


def _trouble_events(view: View, status: JobStatus, told: Hold | None) -> list[EmitEvent]:
    """Events about refusals, a stall, workers that train alone, and a running job's PodGroup."""
    events = []
    for type_ in _TROUBLE:
        old, new = view.job.status.condition(type_), status.condition(type_)
        if new is None or not new.status or new.reason == Reason.ALL_PODS_RUNNING:
            continue
        if type_ is Condition.PENDING and not (told and told.warns):
            continue
        before = (old.reason, old.message) if old else ("", "")
        is_known = new.reason == before[0] == Reason.PARTLY_PLACED
        if before != (new.reason, new.message) and not is_known:
            events.append(EmitEvent("Warning", new.reason, new.message))
    return events
