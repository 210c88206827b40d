"""Judges the mutants of `mutants.txt`: `python -m tests.faults.mutants [NAME…]`.

Each change is made in a copy of the project, where one test of the named file must fail. The model
of the cluster may be as naive as the code; these show that it is not naive in the same way.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from tests.faults.mutation import Mutant, judge_all


def read(table: str) -> Iterator[Mutant]:
    """The mutants of a table. Raises ValueError with the line that does not fit."""
    lines = [(number, line) for number, line in enumerate(table.splitlines(), 1) if line.strip()]
    rest = iter([(number, line) for number, line in lines if not line.startswith("#")])
    path = killer = ""
    for number, line in rest:
        if line.startswith("["):
            path, _, killer = line.strip("[]").partition(", ")
            continue
        (_, place), (_, wrong) = next(rest, (0, "")), next(rest, (0, ""))
        function, _, right = place.strip().partition(": ")
        if not (killer and right and wrong.startswith("    => ")):
            raise ValueError(f"mutants.txt:{number}: not a mutant of three lines: {line}")
        yield Mutant(line, path, function, right, wrong.removeprefix("    => "), killer)


MUTANTS = tuple(read(Path(__file__).with_suffix(".txt").read_text()))


def main(names: list[str]) -> int:
    """Judge the mutants whose names hold one of the words; 1 where one lives."""
    chosen = [m for m in MUTANTS if not names or any(name in m.name for name in names)]
    survivors = cached = 0
    for verdict in judge_all(chosen):
        survivors += not verdict.killer
        cached += verdict.is_cached
        end = f"killed by {verdict.killer}" if verdict.killer else "LIVES"
        if not verdict.is_cached:
            sys.stdout.write(f"{verdict.seconds:5.0f} s  {verdict.mutant.name}\n         {end}\n")
            sys.stdout.flush()
    total = len(chosen)
    sys.stdout.write(f"{total - survivors} of {total} mutants killed, {cached} of them earlier:")
    sys.stdout.write(" neither their module nor their tests have changed since\n")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
