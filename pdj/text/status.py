"""Draws a job as a tree: the job, its roles with their pods, and what ended each attempt."""

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from api.constants import Phase, Reason, Role
from api.objects import parse_time
from api.signals import signal_name
from api.status import Failure, JobCondition, JobStatus, RoleStatus
from pdj.gather.pods import Pod, read_pod
from pdj.text.curve import describe_curve
from pdj.text.progress import describe_training, wrap
from pdj.text.tables import age, bar, table
from pdj.text.terminal import BY_PHASE, Paint, plain, shorten

if TYPE_CHECKING:
    from pdj.facts.facts import Facts

Item = TypeVar("Item")
Branch = tuple[str, list[str]]
"""A part of the tree: its title and its leaves."""
MAX_PODS = 200
"""The most pods shown for each role. A role with more shows only pods that do not run."""
_INDENT = "│  ├─ "
_STATES = {
    "Running": "green",
    "Completed": "green",
    "Pending": "yellow",
    "ContainerCreating": "cyan",
    "Terminating": "dim",
}


def draw_job(facts: "Facts", paint: Paint, now: datetime, columns: int) -> list[str]:
    """The lines of the tree."""
    job, picture, training = facts.job, facts.picture, facts.training
    lines = [_head(facts, paint, now)]
    if facts.conditions:
        lines.append(shorten(f"│  {_sentence(facts.conditions[0], now)}", columns))
    elif not job.status.phase:
        lines.append("│  no operator has handled it yet")
    if training is not None:
        curve = describe_curve(training.points)
        words = wrap(describe_training(training), columns - len("│  ")) + [curve] * bool(curve)
        lines += [shorten(f"│  {line}", columns) for line in words]
    loss = facts.not_finite if Reason.LOSS_NOT_FINITE not in facts.reasons else ""
    for reason, said in ((Reason.TRAINED_ALONE, facts.alone), (Reason.LOSS_NOT_FINITE, loss)):
        if said:
            lines.append(shorten(f"│  {paint(reason, 'red')}: {plain(said)}", columns))
    pods = [*map(read_pod, picture.pods)]
    has_ended = job.status.failures or job.status.attempt > 1
    ends = [(paint("attempts", "bold"), _attempts(job.status, columns))] if has_ended else []
    branches: list[Branch] = []
    for role, spec in job.spec.roles.items():
        if picture.pods_problem:
            branches.append((_counted(role, spec.replicas, job.status, paint), []))
            continue
        mine = [pod for pod in pods if pod.role == role]
        branches.append(_role(role, spec.replicas, mine, paint, now))
    if picture.pods_problem:
        branches.append((f"pods cannot be read: {plain(picture.pods_problem)}", []))
    return [*lines, *_draw([*branches, *ends])]


def _head(facts: "Facts", paint: Paint, now: datetime) -> str:
    job = facts.job
    phase = plain(job.status.phase or "New")
    parts = [
        paint(plain(f"{job.namespace}/{job.name}"), "bold"),
        paint(phase, BY_PHASE.get(phase, ""), "bold"),
        plain(job.spec.mode),
        f"age {age(job.created_at, now)}",
    ]
    ended = parse_time(job.status.completion_time)
    started = parse_time(job.status.start_time)
    if started:
        parts.append(f"{_ran(job.status, ended)} {age(started, ended or now)}")
        last = facts.training.progress.last_output_time if facts.training else None
        parts[-1] += _describe_share(job.status, now, last)
    return "  ".join(parts)


def _describe_share(status: JobStatus, now: datetime, last_output: datetime | None) -> str:
    if status.progress.step is None:
        return ""
    from reconcile.failure.loss import trained_share  # takes time to import

    share = trained_share(status, now, last_output)
    return "" if share is None else f", {share:.0%} of it training"


def _ran(status: JobStatus, ended: datetime | None) -> str:
    if ended:
        return "took"
    return "waits for" if status.phase in (Phase.PENDING, Phase.STARTING) else "runs for"


def _sentence(condition: JobCondition, now: datetime) -> str:
    since = age(parse_time(condition.last_transition_time), now)
    first, *more = condition.message.splitlines() or [""]
    said = f": {first}{' …' * bool(more)}" if first else ""
    return plain(f"{condition.reason} for {since}{said}")


def _draw(branches: list[Branch]) -> Iterator[str]:
    for (title, leaves), (fork, stem) in _forks(branches):
        yield f"{fork} {title}"
        for leaf, (tip, _) in _forks(leaves):
            yield f"{stem} {tip} {leaf}"


def _forks(items: list[Item]) -> Iterator[tuple[Item, tuple[str, str]]]:
    for number, item in enumerate(items, 1):
        yield item, ("├─", "│ ") if number < len(items) else ("└─", "  ")


def _role(role: Role, wanted: int, pods: list[Pod], paint: Paint, now: datetime) -> Branch:
    running = sum(pod.is_running for pod in pods)
    ended = sum(pod.state == "Completed" for pod in pods)
    shown = pods if len(pods) <= MAX_PODS else [pod for pod in pods if not pod.is_running]
    rows = [_pod_row(pod, now) for pod in shown[:MAX_PODS]]

    def colour(column: int, text: str) -> str:
        return paint(text, _STATES.get(text.strip(), "red")) if column == 1 else text

    leaves = list(table(rows, colour))
    if len(pods) > len(rows):
        leaves.append(f"and {len(pods) - len(rows)} more")
    return f"{paint(role, 'bold')}  {_progress(running, ended, wanted, paint)}", leaves


def _counted(role: Role, wanted: int, status: JobStatus, paint: Paint) -> str:
    """The line of a role whose pods cannot be read, with the counts from the job's status."""
    counts = status.roles.get(role) or RoleStatus()
    return f"{paint(role, 'bold')}  {_progress(counts.running, counts.succeeded, wanted, paint)}"


def _progress(running: int, ended: int, wanted: int, paint: Paint) -> str:
    picture = paint(bar(running + ended, wanted), "green" if running + ended >= wanted else "cyan")
    done = f", {ended} done" if ended else ""
    return f"{picture}  {running}/{wanted} running{done}"


def _pod_row(pod: Pod, now: datetime) -> tuple[str, ...]:
    restarts = f"{pod.restarts} restart{'s' * (pod.restarts != 1)}"
    attempt = f"attempt {pod.attempt}" if pod.attempt > 1 else ""
    node = plain(pod.node) or "no node"
    return (plain(pod.name), plain(pod.state), node, restarts, age(pod.created_at, now), attempt)


def _attempts(status: JobStatus, columns: int) -> list[str]:
    leaves = [f"{each.attempt}  {describe_failure(each)}" for each in status.failures]
    if status.phase != Phase.FAILED:
        leaves.append(f"{status.attempt}  {plain(status.phase)}")
    return [shorten(leaf, columns - len(_INDENT)) for leaf in leaves]


def describe_failure(failure: Failure) -> str:
    """One line about what ended an attempt."""
    lines = failure.message.strip().splitlines()
    said = f": {lines[0]}" if lines else ""
    place = f" on {failure.node}" if failure.node else ""
    return plain(f"{failure_text(failure, place)} at {failure.time}{said}")


def failure_text(failure: Failure, place: str = "") -> str:
    """A few words about what ended an attempt; `place` is said of the pod."""
    parts = [failure.reason]
    if failure.pod:
        parts.append(failure.pod + place)
    if failure.signal is not None:
        parts.append(signal_name(failure.signal))
    elif failure.exit_code is not None:
        parts.append(f"exit code {failure.exit_code}")
    return ", ".join(parts)
