"""`python -m benchmarks`: measure, print progress, write the results."""

import argparse
import shlex
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.figures import broken
from benchmarks.machine import describe_machine
from benchmarks.operators import (
    Operator,
    other_operator,
    own_operator,
    own_operator_of,
    peer_operator,
)
from benchmarks.report import Run, build_page, write_report
from benchmarks.scenarios.progress import measure_progress
from benchmarks.scenarios.sidebyside import Turns, measure_side_by_side
from benchmarks.series import FULL, QUICK, Series, Sizes, attempt, measure_series
from localcluster.machine import clock
from localcluster.machine.report import Report

PROGRESS, QUICK_PROGRESS = (1000, 200, 6, 8.0), (60, 20, 1, 5.0)
"""How many jobs run, jobs in a burst, rounds, and seconds without new jobs before each burst."""


def main() -> int:
    """Measure every requested operator; returns 1 if `--check` finds anything broken."""
    arguments = _parse_arguments()
    if arguments.output is not None:
        arguments.output.mkdir(parents=True, exist_ok=True)
    machine, started = describe_machine(), clock.monotonic()

    def report(text: str) -> None:
        print(f"{clock.monotonic() - started:6.1f} s  {text}", flush=True)

    if arguments.progress:
        asked = QUICK_PROGRESS if arguments.quick else PROGRESS
        print(*measure_progress(*asked, report).lines(), sep="\n")
        return 0
    operators, sizes = _operators(arguments), _sizes(arguments)
    for operator in operators:
        operator.adapter.prepare(report)
    series: tuple[Series, ...] = ()
    if arguments.against:
        turns = _measure_turns(operators, sizes, report)
    else:
        series, turns = _measure_all(operators, sizes, report)
    command = shlex.join(["python", "-m", "benchmarks", *sys.argv[1:]])
    is_judged = not (arguments.only_others or arguments.against)
    run = Run(command, clock.monotonic() - started, machine, series, turns, is_judged)
    if arguments.output is not None:
        write_report(run, arguments.output)
        report(f"written to {arguments.output}")
    print(build_page(run))  # raises if the pipe is closed, or the terminal lacks a letter
    wrong = broken(series[0]) if arguments.check else []
    for line in wrong:
        print(f"BROKEN: {line}", file=sys.stderr)
    return 1 if wrong else 0


def _measure_all(
    operators: list[Operator], sizes: Sizes, report: Report
) -> tuple[tuple[Series, ...], tuple[Turns, ...]]:
    """Measure all operators. Raises if the first one fails; any other that fails is left out."""

    def leave_out(text: str) -> None:
        report(f"left out: {text}")

    first, *others = operators
    finished = [(first, measure_series(first, sizes, report))]
    for operator in others:
        measure = partial(measure_series, operator, sizes, report)
        if (series := attempt(operator.name, measure, leave_out)) is not None:
            finished.append((operator, series))
    turns = None
    if len(finished) > 1:
        measure_turns = partial(_measure_turns, [each for each, _ in finished], sizes, report)
        turns = attempt("side by side", measure_turns, leave_out)
    return tuple(series for _, series in finished), turns or ()


def _measure_turns(operators: list[Operator], sizes: Sizes, report: Report) -> tuple[Turns, ...]:
    jobs = next(iter(sizes.bursts))
    return measure_side_by_side(operators, jobs, sizes.rounds_side_by_side, report)


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    add = parser.add_argument
    many: dict[str, Any] = {"action": "append", "default": []}
    other = (
        "measure another operator for the same CRD; COMMAND gets KUBECONFIG. NAME consists of"
        " letters, digits, '.', '_' and '-'. To set a variable, write `env A=1 COMMAND`"
    )
    peer = "measure an operator with another CRD, described by an adapter"
    burst = "number of jobs in a burst, instead of the usual; repeat for more bursts"
    progress = "measure only what the operator's flag --progress costs; takes eleven minutes"
    against = "measure only bursts, alternately with the operator of the checkout in FOLDER"
    add("--quick", action="store_true", help="small sizes, in less than two minutes")
    add("--check", action="store_true", help="fail if a machine-independent figure is wrong")
    add("--operator", type=other_operator, metavar="[NAME=]COMMAND", help=other, **many)
    add("--peer", type=Path, metavar="FILE", help=peer, **many)
    add("--burst", type=_parse_jobs, metavar="JOBS", help=burst, **many)
    add("--against", type=Path, metavar="FOLDER", help=against)
    add("--progress", action="store_true", help=progress)
    add("--only-others", action="store_true", help="leave this project's operator out")
    add("--output", type=Path, metavar="FOLDER", help="where to write the results")
    arguments = parser.parse_args()
    if arguments.only_others and not arguments.operator + arguments.peer:
        parser.error("--only-others needs another operator: name it with --operator or --peer")
    if arguments.only_others and (arguments.against or arguments.check):
        parser.error("--check and --against need the operator that --only-others leaves out")
    if arguments.against and arguments.check:
        parser.error("--check needs all figures, and --against measures only a few")
    return arguments


def _parse_jobs(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"no number of jobs: {text}")
    return int(text)


def _sizes(arguments: argparse.Namespace) -> Sizes:
    """The sizes to measure. A burst of an unusual size is measured once."""
    sizes = QUICK if arguments.quick else FULL
    asked = {jobs: sizes.bursts.get(jobs, 1) for jobs in arguments.burst}
    return replace(sizes, bursts=asked or sizes.bursts)


def _operators(arguments: argparse.Namespace) -> list[Operator]:
    own = [] if arguments.only_others else [own_operator()]
    before = [own_operator_of(arguments.against)] if arguments.against else []
    return [*own, *before, *arguments.operator, *map(peer_operator, arguments.peer)]


if __name__ == "__main__":
    sys.exit(main())
