"""RESULTS.md and RESULTS.json: what was measured, against what it must be."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from benchmarks.chart import draw_chart
from benchmarks.figures import LEAST_BESIDE_PEERS, Figure, figures
from benchmarks.machine import Machine
from benchmarks.scenarios.burst import OPERATOR, Burst
from benchmarks.scenarios.profile import Profile
from benchmarks.scenarios.sidebyside import Turns
from benchmarks.series import RatedBurst, Series
from localcluster.components import API_SERVER

CHART = "chart.svg"
SHOWN_MS = 0.05


@dataclass(frozen=True)
class Run:
    """One run of the benchmarks.

    `is_judged` says that the first series is of this project's operator: it has targets.
    """

    command: str
    seconds: float
    machine: Machine
    series: tuple[Series, ...]
    side_by_side: tuple[Turns, ...] = ()
    is_judged: bool = True


def write_report(run: Run, folder: Path) -> None:
    """Write the page, its chart, and the data."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        CHART: draw_chart(run.series),
        "RESULTS.md": build_page(run),
        "RESULTS.json": json.dumps(asdict(run), indent=1) + "\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


def build_page(run: Run) -> str:
    """The results as Markdown."""
    first = run.series[0]
    parts = [
        _head(run),
        _table(run),
        _unfinished(run.series),
        _side_by_side(run),
        _limits(first),
        _processes(first.bursts[0], run.machine.cores),
        _threads(first.bursts[0]),
        _operator_profile(first.profile),
        _server_profile(first.profile),
        _requests(first),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _head(run: Run) -> list[str]:
    machine = run.machine
    return [
        "# Results of the benchmarks",
        "",
        f"`{run.command}`, {machine.date}, revision {machine.revision}, {run.seconds:.0f} s.",
        f"{machine.processor}, {machine.cores} cores, {machine.memory_gb} GB, load average"
        f" {machine.load} before the run. Kubernetes {machine.kubernetes}, {machine.simulator},"
        f" Python {machine.python}.",
        "",
        "Absolute figures depend on the machine and on what else it does; compare ratios of one"
        " run. The floor is a bare loop of 16 threads that creates the same objects with no"
        " operator, measured before and after each burst; it writes plainly, unless it is said to"
        " write in the operator's manner, which asks for less. Of several floors or bursts the mean"
        " rate and CPU count, the highest memory, of all else the median. The control plane is a"
        " local one: etcd does not wait for the disk, and there are no endpoint controllers. Pods"
        " are simulated: they run at once, also before"
        " their ConfigMap exists. A kubelet may take 10–15 s to look again for a ConfigMap that it"
        " missed; that wait is in none of these figures.",
        "",
        f"![jobs per second]({CHART})",
    ]


def _table(run: Run) -> list[str]:
    judged = ["must be", "holds"] if run.is_judged else []
    names = [*(each.operator for each in run.series), *judged]
    lines = [f"| | {' | '.join(names)} |", "|---|" + "---|" * len(names)]
    return lines + [_row(figure, run) for figure in figures(run.series[0])]


def _unfinished(series: Sequence[Series]) -> list[str]:
    reasons = [f"{each.operator}: {reason}" for each in series for reason in each.unfinished]
    return ["Not finished:", "", *(f"- {reason}" for reason in reasons)] if reasons else []


def _row(figure: Figure, run: Run) -> str:
    words = {None: "", True: "yes", False: "**no**"}
    judged = [figure.target, words[figure.holds(run.series[0])]] if run.is_judged else []
    values = (_format(figure.value(each), figure.unit) for each in run.series)
    return f"| {' | '.join([figure.name, *values, *judged])} |"


def _limits(series: Series) -> list[str]:
    """What bounds the figures of the bursts that depend on the machine, in figures of its own."""
    written = sum(cost.count * cost.server_cpu_ms for cost in series.costs)
    each = ", ".join(f"{c.count} × {c.write} {c.server_cpu_ms:.1f} ms" for c in series.costs)
    lines = [
        "## What the limit is",
        "",
        "- One write after the other, with no operator and nothing scheduled, a start's writes"
        f" take {written:.1f} ms of the API server's CPU: {each}. The rest of its CPU goes to what"
        " follows them: bindings, statuses of pods, the scheduler's Events, everyone's watches.",
    ]
    for rated in series.bursts:
        reached = rated.jobs_per_second / rated.floor_running_jobs_per_second
        server = rated.cpu_ms_per_job(API_SERVER)
        last = rated.jobs / rated.floor_running_jobs_per_second
        lines += [
            f"- {rated.jobs} jobs: the bare loop's pods all ran at"
            f" {rated.floor_running_jobs_per_second:.1f} jobs/s, with nobody to watch or decide"
            f" anything, the last {last:.1f} s after the first job was asked for. The operator"
            f" reached {reached:.2f} × that rate, on the same cores. Of the API server's CPU the"
            " bare loop alone took"
            f" {rated.floor_cpu_ms_per_job(API_SERVER):.1f} ms a job, the operator"
            f" {server:.1f} ms.",
        ]
    return lines


def _processes(rated: RatedBurst, cores: int) -> list[str]:
    """Where the machine's time goes: each process's CPU, and what there was of it."""
    lines = [
        f"## Whose CPU a start takes, {rated.jobs} jobs",
        "",
        "Milliseconds a job until the last one ran, of every process that takes part: of the bare"
        " loop with its pods, and with the operator. What all of them took, against what the"
        " machine had in that time.",
        "",
        "| process | bare loop | operator |",
        "|---|---|---|",
    ]
    names = sorted(rated.bursts[0].cpu_ms_per_job, key=lambda name: -rated.cpu_ms_per_job(name))
    taken = {name: (rated.floor_cpu_ms_per_job(name), rated.cpu_ms_per_job(name)) for name in names}
    taken["all of them"] = (sum(f for f, _ in taken.values()), sum(b for _, b in taken.values()))
    rates = (rated.floor_running_jobs_per_second, rated.jobs_per_second)
    had = tuple(cores * 1000 / rate for rate in rates)
    rows = [*taken.items(), (f"{cores} cores had", had)]
    return lines + [f"| {name} | {floor:.1f} | {burst:.1f} |" for name, (floor, burst) in rows]


def _threads(rated: RatedBurst) -> list[str]:
    """Where the operator's time goes, and whether its interpreter had more to give."""
    core = rated.cpu_ms_per_job(OPERATOR) * rated.jobs_per_second / 1000
    lines = [
        f"## Which of the operator's threads take its CPU, {rated.jobs} jobs",
        "",
        "Milliseconds a job until the last one ran. Together they kept one core busy for"
        f" {core:.0%} of the time; an interpreter that runs one thread at a time could use all of"
        " it.",
        "",
        "| threads | ms |",
        "|---|---|",
    ]
    ordered = sorted(rated.thread_ms_per_job().items(), key=lambda item: -item[1])
    return lines + [f"| {name} | {taken:.1f} |" for name, taken in ordered if taken >= SHOWN_MS]


def _server_profile(profile: Profile | None) -> list[str]:
    how = "By its own profiler, in one more burst of the operator's: each sample counts for the"
    words = f"{how} innermost function whose purpose is known."
    return _shares(
        "What the API server does with its CPU", words, profile.server if profile else None
    )


def _operator_profile(profile: Profile | None) -> list[str]:
    seen = profile.operator if profile else None
    if seen is None:
        return []
    words = (
        "In the same burst, as py-spy sees it: a thread of it held the interpreter's lock for"
        f" {seen.held:.0%} of the time, and this is what for. What it does without the lock, in"
        " OpenSSL and in the kernel, is not in it."
    )
    return _shares("What the operator does with the interpreter", words, seen.shares)


def _shares(title: str, words: str, shares: dict[str, float] | None) -> list[str]:
    if not shares:
        return []
    ordered = sorted(shares.items(), key=lambda item: -item[1])
    rows = [f"| {name} | {share:.0%} |" for name, share in ordered]
    return [f"## {title}", "", words, "", "| purpose | share |", "|---|---|", *rows]


def _side_by_side(run: Run) -> list[str]:
    turns = run.side_by_side
    if len(turns) < 2:
        return []
    first, jobs = turns[0], turns[0].bursts[0].jobs
    lines = [
        f"## Side by side, {jobs} jobs",
        "",
        f"In turn on one control plane, {len(first.bursts)} times each: the mean rate, of all else"
        f" the median. The last column is how many times its rate {first.operator} reached, the"
        " median of the rounds.",
        "",
        "| operator | jobs/s | p50 | p99 | operator's CPU | API server's CPU | writes | × |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [_turns_row(each, first) for each in turns]
    best = max(turns[1:], key=lambda each: each.jobs_per_second)
    reached, alone = first.compare(best), run.series[0].bursts[0]
    of_pods = alone.jobs_per_second / alone.floor_running_jobs_per_second
    verdict = _verdict(reached) if run.is_judged else ""
    lines += [
        "",
        f"{verdict}In its bursts above {first.operator} reached {of_pods:.2f} × the rate of the"
        " bare loop's pods, for which nobody has to watch or decide anything: at that rate itself"
        f" it would be {reached / of_pods:.2f} × {best.operator}.",
    ]
    return lines


def _verdict(reached: float) -> str:
    words = "holds" if reached >= LEAST_BESIDE_PEERS else "**does not hold**"
    return f"Must be ≥ {LEAST_BESIDE_PEERS} × the best other: {reached:.2f} {words}. "


def _turns_row(turns: Turns, first: Turns) -> str:
    def middle(read: Callable[[Burst], float]) -> float:
        return median(map(read, turns.bursts))

    cells = [
        turns.operator,
        f"{turns.jobs_per_second:.1f}",
        f"{middle(lambda burst: burst.p50_seconds):.2f} s",
        f"{middle(lambda burst: burst.p99_seconds):.2f} s",
        f"{middle(lambda burst: burst.cpu_ms_per_job[OPERATOR]):.1f} ms",
        f"{middle(lambda burst: burst.cpu_ms_per_job[API_SERVER]):.1f} ms",
        f"{middle(lambda burst: burst.writes_per_job):.1f}",
        f"{first.compare(turns):.2f}",
    ]
    return f"| {' | '.join(cells)} |"


def _format(value: float | None, unit: str) -> str:
    if value is None:
        return "–"
    number = f"{value:.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"
    return f"{number} {unit}".strip()


def _requests(series: Series) -> list[str]:
    burst = series.bursts[0].bursts[0]
    kinds = sorted({*burst.requests_to_running, *burst.requests_to_completed})
    lines = [
        f"## Requests per job, {burst.jobs} jobs",
        "",
        "As the API server counts them, of everyone: also the scheduler (bindings, its Events), the"
        " node simulator (statuses of pods) and the controller manager.",
        "",
        "| request | until Running | until Completed |",
        "|---|---|---|",
    ]
    for kind in kinds:
        running = burst.requests_to_running.get(kind, 0.0)
        completed = burst.requests_to_completed.get(kind, 0.0)
        lines.append(f"| {kind} | {running:g} | {completed:g} |")
    return lines
