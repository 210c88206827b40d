"""`python -m benchmarks`: measure, print what is going on, write the results."""

import argparse
import shlex
import sys
from dataclasses import replace
from pathlib import Path

from benchmarks.figures import broken
from benchmarks.jobwatch import Report
from benchmarks.machine import describe_machine
from benchmarks.operators import Operator, other_operator, own_operator, peer_operator
from benchmarks.report import Run, build_page, write_report
from benchmarks.scenarios.sidebyside import Turns, measure_side_by_side
from benchmarks.series import FAILURES, FULL, QUICK, BurstSize, Series, Sizes, measure_series
from localcluster import clock


def main() -> int:
    """Measure every operator that was asked for; 1 if `--check` found something broken."""
    arguments = _parse_arguments()
    if arguments.output is not None:
        arguments.output.mkdir(parents=True, exist_ok=True)
    report = _with_elapsed(clock.monotonic())
    machine, started = describe_machine(), clock.monotonic()
    sizes = _sizes(arguments)
    operators = _operators(arguments)
    for operator in operators:
        operator.adapter.prepare(report)
    series, turns = _measure(operators, sizes, report)
    command = shlex.join(["python", "-m", "benchmarks", *sys.argv[1:]])
    seconds, is_judged = clock.monotonic() - started, not arguments.only_others
    run = Run(command, seconds, machine, series, turns, is_judged)
    if arguments.output is not None:
        write_report(run, arguments.output)
        report(f"written to {arguments.output}")
    print(build_page(run))  # fails on a closed pipe, or where the terminal lacks its letters
    wrong = broken(series[0]) if arguments.check else []
    for line in wrong:
        print(f"BROKEN: {line}", file=sys.stderr)
    return 1 if wrong else 0


def _measure(
    operators: list[Operator], sizes: Sizes, report: Report
) -> tuple[tuple[Series, ...], tuple[Turns, ...]]:
    """All of the first operator; an other one that fails takes nothing of the results with it."""
    series, finished = [], []
    for operator in operators:
        report(f"=== {operator.name}")
        try:
            series.append(measure_series(operator, sizes, report))
            finished.append(operator)
        except FAILURES as error:
            if operator is operators[0]:
                raise
            report(f"left out: {operator.name}: {error}")
    turns: tuple[Turns, ...] = ()
    if len(finished) > 1:
        try:
            jobs, rounds = sizes.bursts[0].jobs, sizes.rounds_side_by_side
            turns = measure_side_by_side(finished, jobs, rounds, report)
        except FAILURES as error:
            report(f"left out: side by side: {error}")
    return tuple(series), turns


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    add = parser.add_argument
    add("--quick", action="store_true", help="small sizes, in less than two minutes")
    add("--check", action="store_true", help="fail on what does not depend on the machine")
    add(
        "--operator",
        action="append",
        type=_parse_operator,
        default=[],
        metavar="[NAME=]COMMAND",
        help="measure another operator for the same CRD; COMMAND gets KUBECONFIG. NAME is of"
        " letters, digits, '.', '_' and '-'; a variable in front is written `env A=1 COMMAND`",
    )
    add(
        "--peer",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="measure an operator with another CRD, described by an adapter",
    )
    add(
        "--burst",
        action="append",
        type=_parse_jobs,
        default=[],
        metavar="JOBS",
        help="jobs of a burst, in place of the usual ones; repeat for more sizes",
    )
    add("--only-others", action="store_true", help="leave this project's operator out")
    add("--output", type=Path, default=None, metavar="FOLDER", help="where to write the results")
    arguments = parser.parse_args()
    if len(set(arguments.burst)) < len(arguments.burst):
        parser.error("--burst: each size once")
    if arguments.only_others and not arguments.operator + arguments.peer:
        parser.error("--only-others names no other operator: use --operator or --peer")
    if arguments.only_others and arguments.check:
        parser.error("--check is for this project's operator, which --only-others leaves out")
    return arguments


def _parse_operator(text: str) -> Operator:
    try:
        return other_operator(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _parse_jobs(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"no number of jobs: {text}")
    return int(text)


def _sizes(arguments: argparse.Namespace) -> Sizes:
    """A usual size of a burst keeps its rounds."""
    sizes = QUICK if arguments.quick else FULL
    usual = {size.jobs: size for size in sizes.bursts}
    asked = tuple(usual.get(jobs, BurstSize(jobs)) for jobs in arguments.burst)
    return replace(sizes, bursts=asked or sizes.bursts)


def _operators(arguments: argparse.Namespace) -> list[Operator]:
    own = [] if arguments.only_others else [own_operator()]
    return [*own, *arguments.operator, *(peer_operator(path) for path in arguments.peer)]


def _with_elapsed(started: float) -> Report:
    return lambda text: print(f"{clock.monotonic() - started:6.1f} s  {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
