"""Progress: what --progress costs if many jobs run; operators with and without it take turns.

The running jobs are copies in etcd. The node simulator serves one file as the log of all pods.
This file gets a new line each second.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median

from benchmarks import procfs
from benchmarks.etcd import put_all
from benchmarks.family import Copies, capture
from benchmarks.load import job_names, start_jobs, wait_running, working_operator
from benchmarks.operators import ACCOUNT, Operator, RunningOperator, own_operator
from benchmarks.site import Site, rests, wait_for
from localcluster.machine import clock
from localcluster.machine.report import Report

READS_PER_SECOND = 5
"""The default of --progress-reads."""
PERIOD_SECONDS = 30
"""The shortest time between two reads of a log."""
LATER_SECONDS = 30.0
"""How long later reads are measured, when all logs have been read once. CPU time is counted in
hundredths of a second, so a short time would be inexact."""
IDLE_SHARE = 0.1
TIMEOUT_SECONDS = 180.0
SAMPLE, TURN = "probe-sample", "turn"
READ, STATUS = "CONNECT pods/log", "PATCH paddlejobs/status.batch.paddlepaddle.org"
LINE = "{} stdout F epoch: [1/90], iter: [{}/100000], loss: 2.31, lr: 0.001, ips: 268.1 samples/s\n"


@dataclass(frozen=True)
class Rest:
    """What an operator does in `seconds` without a new job: CPU, reads of logs, status writes."""

    seconds: float
    cpu_seconds: float
    reads: int
    status_writes: int

    def read_ms(self, cpu_share: float) -> float:
        """CPU per read, less the share of a core that an operator without --progress uses."""
        return (self.cpu_seconds - cpu_share * self.seconds) * 1000 / self.reads


@dataclass(frozen=True)
class Turn:
    """Periods without new jobs, and then a burst. Memory in MiB, CPU in milliseconds per start."""

    rests: tuple[Rest, ...]
    jobs_per_second: float
    cpu_ms_per_job: float
    resident_mb: float
    peak_mb: float


@dataclass(frozen=True)
class Progress:
    """`first` is the turn in which all logs are read for the first time. Each pair has a turn with
    --progress, and a turn without it.
    """

    running: int
    others: int
    first: Turn
    pairs: tuple[tuple[Turn, Turn], ...]

    def lines(self) -> Iterator[str]:
        """The figures as text, one per line."""
        on, off = zip(*self.pairs, strict=True)
        rates = [a.jobs_per_second / b.jobs_per_second for a, b in self.pairs]
        quiet = [rest for turn in off for rest in turn.rests]
        share = sum(r.cpu_seconds for r in quiet) / sum(r.seconds for r in quiet)
        writing, reading = self.first.rests
        yield f"{self.running} jobs run; turns of {self.others} others, with and without --progress"
        yield "without: " + f"{sum(r.reads for r in quiet)} reads, {_writes(quiet)} status writes"
        yield f"first reads: {_rest(writing)}, {writing.read_ms(share):.2f} ms of CPU each"
        yield f"later reads: {_rest(reading)}, {reading.read_ms(share):.2f} ms of CPU each"
        yield f"start rate: {_each(rates, '.3f')} times that without; median {median(rates):.3f}"
        for name, turns in (("with", on), ("without", off)):
            yield f"{name}: {_each([t.jobs_per_second for t in turns], '.1f')} jobs/s"
            yield f"{name}: {_each([t.cpu_ms_per_job for t in turns], '.2f')} ms of CPU per start"
        mb, peak = median(t.resident_mb for t in off), median(t.peak_mb for t in off)
        yield f"memory, all logs read: {self.first.resident_mb - mb:+.1f} MB of {mb:.1f} MB"
        yield f"peak memory: {self.first.peak_mb - peak:+.1f} MB of {peak:.1f} MB"


def measure_progress(
    running: int, others: int, rounds: int, rest_seconds: float, report: Report
) -> Progress:
    """Measure with `running` jobs, and with `others` that start in each turn of each round."""
    off = own_operator()
    on = replace(off, name="with --progress", command=[*off.command, "--progress"])
    with Site(off.adapter, report, serves_logs=True) as site, growing(site.training_log):
        grant_logs(site)
        with working_operator(site, off, SAMPLE.removeprefix("probe-")):
            copies = Copies(capture(site.client, site.adapter, SAMPLE))
        names = job_names("running", running)
        made = (copies.make(number, name) for number, name in enumerate(names))
        put_all(site.etcd_pid, (entry for entries in made for entry in entries))
        site.wait_until_shown()
        all_read = max(PERIOD_SECONDS, running / READS_PER_SECOND)
        first = _take_turn(site, on, f"{TURN}-0", others, all_read, LATER_SECONDS)
        report(f"first: {first}")
        pairs = []
        for number in range(1, rounds + 1):
            pair = {}
            for operator in (on, off) if number % 2 else (off, on):
                name = f"{TURN}-{number}-{int(operator is on)}"
                pair[operator.name] = _take_turn(site, operator, name, others, rest_seconds)
                report(f"{operator.name}: {pair[operator.name]}")
            pairs.append((pair[on.name], pair[off.name]))
    return Progress(running, others, first, tuple(pairs))


def grant_logs(site: Site) -> None:
    """Allow the operator's account to read all logs."""
    api, name = "/apis/rbac.authorization.k8s.io/v1", {"name": "logs"}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", **name}
    subject = {"kind": "ServiceAccount", "namespace": ACCOUNT[0], "name": ACCOUNT[1]}
    rules = [{"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]}]
    site.client.create(f"{api}/clusterroles", {"metadata": name, "rules": rules})
    binding = {"metadata": name, "roleRef": role, "subjects": [subject]}
    site.client.create(f"{api}/clusterrolebindings", binding)


@contextmanager
def growing(log: Path, line: str = LINE, seconds: float = 1.0) -> Iterator[None]:
    """Add a line to the log every `seconds` while the block runs."""
    end = threading.Event()

    def write() -> None:
        with log.open("a") as file:
            for step in count(1):
                file.write(line.format(clock.utc_now().isoformat(), step))
                file.flush()
                if end.wait(seconds):
                    return

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield
    finally:
        end.set()
        writer.join()


def _take_turn(site: Site, operator: Operator, name: str, others: int, *rests_for: float) -> Turn:
    probe, names = f"{name}-probe", job_names(name, others)
    with site.start_operator(operator, name) as process:
        start_jobs(site, [probe])
        wait_running(site, process, [probe], TIMEOUT_SECONDS)
        idle = partial(rests, process.cpu_seconds, IDLE_SHARE)
        wait_for("the operator is idle", idle, TIMEOUT_SECONDS)
        watched = tuple(_rest_for(site, process, seconds) for seconds in rests_for)
        resident, cpu = process.memory_mb(procfs.RESIDENT), process.cpu_seconds()
        asked = start_jobs(site, names)
        ran = wait_running(site, process, names, TIMEOUT_SECONDS)
        turn = Turn(
            rests=watched,
            jobs_per_second=others / (max(ran) - min(asked.values())),
            cpu_ms_per_job=(process.cpu_seconds() - cpu) * 1000 / others,
            resident_mb=resident,
            peak_mb=process.memory_mb(procfs.PEAK),
        )
    site.clean(TURN)
    return turn


def _rest_for(site: Site, process: RunningOperator, seconds: float) -> Rest:
    counts, cpu, began = site.counts(), process.cpu_seconds(), clock.monotonic()
    clock.sleep(seconds)
    more = site.counts() - counts
    took, used = clock.monotonic() - began, process.cpu_seconds() - cpu
    return Rest(took, used, more[READ], more[STATUS])


def _rest(rest: Rest) -> str:
    return f"{rest.reads} in {rest.seconds:.0f} s with {rest.status_writes} status writes"


def _writes(quiet: list[Rest]) -> int:
    return sum(rest.status_writes for rest in quiet)


def _each(values: list[float], form: str) -> str:
    return " ".join(format(value, form) for value in values)
