"""Writes RESULTS.md and RESULTS.json: the figures with their targets."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.chart import draw_chart
from benchmarks.figures import LEAST_BESIDE_PEERS, Figure, figures
from benchmarks.scenarios.burst import OPERATOR, Burst
from benchmarks.scenarios.profile import Profile
from benchmarks.scenarios.sidebyside import Turns
from benchmarks.series import RatedBurst, Series
from localcluster.cluster.components import API_SERVER

CHART = "chart.svg"
CHART_LINE = [f"![jobs per second]({CHART})"]
SHOWN_MS = 0.05
HOLDS = {None: "", True: "yes", False: "**no**"}
TURN_COLUMNS = [
    *("round", "operator", "jobs/s", "p50", "p99"),
    *("operator's CPU", "API server's CPU", "writes", "peak memory", "×"),
]


@dataclass(frozen=True)
class Run:
    """One run of the benchmarks.

    `is_judged`: the first series is that of this project's operator, which has targets.
    """

    command: str
    seconds: float
    machine: dict[str, Any]
    series: tuple[Series, ...]
    side_by_side: tuple[Turns, ...] = ()
    is_judged: bool = True


def write_report(run: Run, folder: Path) -> None:
    """Write the page, its chart, and the data into an existing folder."""
    texts = {
        "RESULTS.md": build_page(run),
        "RESULTS.json": json.dumps(asdict(run), indent=1) + "\n",
        **({CHART: draw_chart(run.series)} if run.series else {}),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


def build_page(run: Run) -> str:
    """The results as Markdown."""
    parts = [_head(run), _side_by_side(run)]
    if run.series:
        first = run.series[0]
        parts[1:1] = [CHART_LINE, _table(run), _unfinished(run.series)]
        parts += [
            _limits(first),
            _processes(first.bursts[0], run.machine["cores"]),
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
        f"`{run.command}`, {machine['date']}, revision {machine['revision']}, {run.seconds:.0f} s.",
        "{processor}, {cores} cores, {memory_gb} GB, load average {load} before the run. Kubernetes"
        " {kubernetes}, {simulator}, Python {python}.".format_map(machine),
        "",
        "Absolute figures depend on the machine and on what else it does; compare ratios of one"
        " run. The floor is a bare loop of 16 threads that creates the same objects with no"
        " operator, measured before and after each burst. It uses the operator's write options,"
        " which cost the API server less, only in rows that say so. From several floors or bursts,"
        " a row shows the mean of a rate or of the CPU until the jobs run, the highest memory, and"
        " the median of everything else. The control plane is local: etcd does not wait for the"
        " disk, and there are no endpoint controllers. Pods are simulated: they run at once, even"
        " before their ConfigMap exists. A real kubelet can take 10–15 s to look again for a"
        " ConfigMap that it missed; no figure includes that wait.",
    ]


def _table(run: Run) -> list[str]:
    judged = ["must be", "holds"] if run.is_judged else []
    names = [*(each.operator for each in run.series), *judged]
    columns = [{figure.name: figure for figure in figures(each)} for each in run.series]
    rows = (
        [
            figure.name,
            *(_format(column.get(figure.name)) for column in columns),
            *([figure.target, HOLDS[figure.holds()]] if run.is_judged else []),
        ]
        for figure in columns[0].values()
    )
    return _rows(["", *names], rows)


def _format(figure: Figure | None) -> str:
    if figure is None or figure.value is None:
        return "–"
    value = figure.value
    number = f"{value:.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"
    return f"{number} {figure.unit}".strip()


def _unfinished(series: Sequence[Series]) -> list[str]:
    reasons = [f"{each.operator}: {reason}" for each in series for reason in each.unfinished]
    return ["Not finished:", "", *(f"- {reason}" for reason in reasons)] if reasons else []


def _limits(series: Series) -> list[str]:
    """What a start's writes cost the API server, and how each burst compares with its floors."""
    written = sum(cost.count * cost.server_cpu_ms for cost in series.costs)
    each = ", ".join(f"{c.count} × {c.write} {c.server_cpu_ms:.1f} ms" for c in series.costs)
    lines = [
        "## What the limit is",
        "",
        "- Sent one after the other, with no operator and no scheduling, the writes of a start"
        f" take {written:.1f} ms of the API server's CPU: {each}. The rest of its CPU goes to what"
        " follows the writes: bindings, pod statuses, the scheduler's Events, and all watches.",
    ]
    for rated in series.bursts:
        alone, reached = rated.floor_running_jobs_per_second, rated.jobs_per_second
        lines.append(
            f"- {rated.jobs} jobs: until all its pods ran, the bare loop, which neither watches nor"
            f" decides anything, made {alone:.1f} jobs/s. The last pod ran {rated.jobs / alone:.1f}"
            f" s after the loop's start. The operator reached {reached / alone:.2f} × that rate, on"
            " the same cores. The API server's CPU per job was"
            f" {rated.floor_cpu_ms_per_job(API_SERVER):.1f} ms with the bare loop alone, and"
            f" {rated.cpu_ms_per_job(API_SERVER):.1f} ms with the operator."
        )
    return lines


def _processes(rated: RatedBurst, cores: int) -> list[str]:
    """The CPU that each process used, and the CPU that was available."""
    words = (
        "Milliseconds of CPU per job until the last job ran, by process: with the bare loop alone,"
        " and with the operator. The last two rows compare the sum with the CPU that the machine"
        " had in that time."
    )
    names = sorted(rated.bursts[0].cpu_ms_per_job, key=lambda name: -rated.cpu_ms_per_job(name))
    floors = [rated.floor_cpu_ms_per_job(name) for name in names]
    bursts = [rated.cpu_ms_per_job(name) for name in names]
    floors += [sum(floors), cores * 1000 / rated.floor_running_jobs_per_second]
    bursts += [sum(bursts), cores * 1000 / rated.jobs_per_second]
    names += ["all of them", f"{cores} cores had"]
    shown = zip(names, floors, bursts, strict=True)
    rows = ([name, f"{floor:.1f}", f"{burst:.1f}"] for name, floor, burst in shown)
    title = f"CPU per start, by process, {rated.jobs} jobs"
    return _section(title, words, ["process", "bare loop", "operator"], rows)


def _threads(rated: RatedBurst) -> list[str]:
    """The CPU of the operator's threads, and how much of one core all of them used."""
    core = rated.cpu_ms_per_job(OPERATOR) * rated.jobs_per_second / 1000
    words = (
        "Milliseconds of CPU per job until the last job ran. Together the threads kept one core"
        f" busy for {core:.0%} of the time; an interpreter that runs one thread at a time can use"
        " no more than one core."
    )
    taken = _descending(rated.thread_ms_per_job())
    rows = [[name, f"{cpu:.1f}"] for name, cpu in taken if cpu >= SHOWN_MS]
    title = f"The operator's CPU per start, by thread, {rated.jobs} jobs"
    return _section(title, words, ["threads", "ms"], rows)


def _server_profile(profile: Profile | None) -> list[str]:
    words = (
        "Measured by the API server's own profiler in one more burst of the operator. Each sample"
        " counts for the innermost function whose purpose is known."
    )
    title = "What the API server does with its CPU"
    return _shares(title, words, profile.server) if profile else []


def _operator_profile(profile: Profile | None) -> list[str]:
    if not profile or not profile.operator:
        return []
    words = (
        "Measured by py-spy in an extra burst: a thread of the operator held the interpreter's lock"
        f" for {profile.operator.held:.0%} of the time, for these purposes. Work without the lock,"
        " in OpenSSL and in the kernel, is not included."
    )
    return _shares("What the operator does with the interpreter", words, profile.operator.shares)


def _shares(title: str, words: str, shares: dict[str, float]) -> list[str]:
    rows = ([name, f"{share:.0%}"] for name, share in _descending(shares))
    return _section(title, words, ["purpose", "share"], rows)


def _descending(shares: dict[str, float]) -> list[tuple[str, float]]:
    return sorted(shares.items(), key=lambda item: -item[1])


def _section(title: str, words: str, columns: list[str], rows: Iterable[list[str]]) -> list[str]:
    return [f"## {title}", "", words, "", *_rows(columns, rows)]


def _rows(columns: list[str], rows: Iterable[list[str]]) -> list[str]:
    """The lines of a table; the first row is its head."""
    head, *lines = (f"| {' | '.join(cells)} |" for cells in (columns, *rows))
    return [head.replace("|  |", "| |"), "|---" * len(columns) + "|", *lines]


def _side_by_side(run: Run) -> list[str]:
    """The comparison of each round, and of all rounds together."""
    turns = run.side_by_side
    if not turns:
        return []
    first, jobs = turns[0], turns[0].bursts[0].jobs
    words = (
        "The operators take turns on one control plane. The rows `all` show the mean rate, the"
        " highest memory, and the median of everything else. The last column is the rate of"
        f" {first.operator} divided by that of the row's operator."
    )
    rows = [
        _turn_row(str(number), each.of_round(number), first.of_round(number))
        for number in range(1, len(first.bursts) + 1)
        for each in turns
    ]
    rows += [_turn_row("all", each, first) for each in turns]
    return [*_section(f"Side by side, {jobs} jobs", words, TURN_COLUMNS, rows), *_verdict(run)]


def _turn_row(title: str, turns: Turns, first: Turns) -> list[str]:
    def middle(read: Callable[[Burst], float]) -> float:
        return median(map(read, turns.bursts))

    return [
        *(title, turns.operator),
        f"{turns.jobs_per_second:.1f}",
        f"{middle(lambda burst: burst.p50_seconds):.2f} s",
        f"{middle(lambda burst: burst.p99_seconds):.2f} s",
        f"{middle(lambda burst: burst.cpu_ms_per_job[OPERATOR]):.1f} ms",
        f"{middle(lambda burst: burst.cpu_ms_per_job[API_SERVER]):.1f} ms",
        f"{middle(lambda burst: burst.writes_per_job):.1f}",
        f"{max(burst.peak_mb for burst in turns.bursts):.1f} MB",
        f"{first.compare(turns):.2f}",
    ]


def _verdict(run: Run) -> list[str]:
    """The ratio to the best other operator, and the ratio that the bare loop's rate would have."""
    if not run.series:
        return []
    first, *others = run.side_by_side
    best = max(others, key=lambda each: each.jobs_per_second)
    reached, alone = first.compare(best), run.series[0].bursts[0]
    of_pods = alone.jobs_per_second / alone.floor_running_jobs_per_second
    holds = "holds" if reached >= LEAST_BESIDE_PEERS else "**does not hold**"
    must = f"Must be ≥ {LEAST_BESIDE_PEERS} × the best other: {reached:.2f} {holds}. "
    return [
        "",
        f"{must if run.is_judged else ''}In its bursts above, {first.operator} reached"
        f" {of_pods:.2f} × the rate of the bare loop's pods. The bare loop, which neither watches"
        f" nor decides anything, would reach {reached / of_pods:.2f} × {best.operator}.",
    ]


def _requests(series: Series) -> list[str]:
    burst = series.bursts[0].bursts[0]
    before, after = burst.requests_to_running, burst.requests_to_completed
    words = (
        "All requests that the API server counted, including those of the scheduler (bindings, its"
        " Events), the node simulator (pod statuses) and the controller manager."
    )
    rows = [
        [kind, f"{before.get(kind, 0.0):g}", f"{after.get(kind, 0.0):g}"]
        for kind in sorted({*before, *after})
    ]
    title = f"Requests per job, {burst.jobs} jobs"
    return _section(title, words, ["request", "until Running", "then, until cleaned up"], rows)
