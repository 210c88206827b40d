"""The YAML that the manuals print, with what printing has broken mended, and where.

`python -m tests.manuals.reader` lists the objects and the mended lines. The manuals lie in
../shared/manuals beside the checkout, or where PADDLEJOB_MANUALS says.
"""

import itertools
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.manuals import grammar

Raw = dict[str, Any]
CHECKOUT = Path(__file__).parents[2]
MANUALS = Path(os.environ.get("PADDLEJOB_MANUALS") or CHECKOUT.parent / "shared" / "manuals")
ABSENT = f"the manuals are not here: {MANUALS} (PADDLEJOB_MANUALS names another folder)"
START = re.compile(r"\s*apiVersion: ")
YAML_LINE = re.compile(r'\s*$|---$|\s*- \S|\s*"?\s*[\w./-]+:( |$)', re.ASCII)
TAB_WIDTH = 8
LOST_VALUE = re.compile(r'"\s+value: "$')
"""Quotes that have lost what stood between them."""
LOST_VALUES = {"- name: FLAGS_rpc_deadline": "36000000"}
"""By the line before: 000 and 001 print the same job, and 001 has kept the value."""
FIELDS = {"apiVersion", "kind", "metadata", "spec"}


@dataclass(frozen=True)
class Mend:
    """One line of a manual that does not stand there as it must."""

    manual: str
    line: int
    what: str


@dataclass(frozen=True)
class Printed:
    """An object as a manual prints it; `line` is its first, `block` that of all printed with it."""

    manual: str
    block: int
    line: int
    thing: Raw
    mends: tuple[Mend, ...]

    @property
    def kind(self) -> str:
        return str(self.thing["kind"])

    @property
    def name(self) -> str:
        return str(self.thing["metadata"]["name"])

    def __str__(self) -> str:
        return f"{self.manual}:{self.line}-{self.kind}-{self.name}"

    def mended(self) -> list[str]:
        """What was mended and where, a line for each run of lines."""
        runs: list[tuple[Mend, int]] = []
        for mend in self.mends:
            if runs and (runs[-1][1], runs[-1][0].what) == (mend.line - 1, mend.what):
                runs[-1] = (runs[-1][0], mend.line)
            else:
                runs.append((mend, mend.line))
        return [
            f"{first.manual}, line {first.line}"
            + f"-{last}" * (last != first.line)
            + ": "
            + first.what
            for first, last in runs
        ]


def printed(folder: Path = MANUALS) -> list[Printed]:
    """Every object in the manuals' order; none where the folder is not there."""
    return [each for file in sorted(folder.glob("*.txt")) for each in _objects(file)]


def blocks(folder: Path = MANUALS) -> list[list[Printed]]:
    """The same objects, those that one block of a manual prints together."""
    by_block = itertools.groupby(printed(folder), key=lambda each: (each.manual, each.block))
    return [list(together) for _, together in by_block]


def commands(manual: str, folder: Path = MANUALS) -> list[str]:
    """Every kubectl command after a prompt, in the manual's order."""
    text = next(folder.glob(f"{manual}_*.txt")).read_text()
    return re.findall(r"^\$ (kubectl .+)$", text, re.MULTILINE)


def _objects(file: Path) -> Iterator[Printed]:
    manual = file.name.partition("_")[0]
    for block, first, lines in _pieces(file.read_text().splitlines()):
        thing, changes = _mended(lines)
        mends = tuple(Mend(manual, first + at, what) for at, what in sorted(changes.items()))
        yield Printed(manual, block, first, thing, mends)


def _pieces(lines: list[str]) -> Iterator[tuple[int, int, list[str]]]:
    """Where the block of each object begins, where the object, and its lines without margin."""
    block = 1
    piece: list[str] = []
    for number, line in enumerate([*lines, "```"], start=1):
        is_yaml = YAML_LINE.match(line)
        starts = START.match(line) and "kind:" in lines[number]
        if piece and (starts or line.startswith("---") or not is_yaml):
            lines_of_it = textwrap.dedent("\n".join(piece)).rstrip().splitlines()
            yield block, number - len(piece), lines_of_it
            piece = []
        if starts or piece:
            piece.append(line)
        if not is_yaml:
            block = number + 1


def _mended(lines: list[str]) -> tuple[Raw, dict[int, str]]:
    """The object, and what was mended by the index of the line: as little as makes it whole."""
    ways: list[Callable[[list[str]], tuple[list[str], dict[int, str]]]] = [
        lambda printed: (printed, {}),
        _without_tabs,
        _with_quotes_and_indentation,
    ]
    for way in ways:
        text, changes = way(lines)
        thing = _whole("\n".join(text))
        if thing is not None:
            return thing, changes
    raise ValueError("no object: \n" + "\n".join(lines))


def _whole(text: str) -> Raw | None:
    """The object, if every field has its place."""
    try:
        thing = yaml.safe_load(text)
    except yaml.YAMLError:
        return None
    is_whole = set(thing) == FIELDS and thing["metadata"] and thing["spec"]
    return thing if is_whole else None


def _without_tabs(lines: list[str]) -> tuple[list[str], dict[int, str]]:
    mended = [line.expandtabs(TAB_WIDTH) for line in lines]
    return mended, {n: "tabs" for n, line in enumerate(lines) if "\t" in line}


def _with_quotes_and_indentation(lines: list[str]) -> tuple[list[str], dict[int, str]]:
    changes: dict[int, str] = {}
    quoted = list(lines)
    for number, line in enumerate(lines):
        if LOST_VALUE.match(line):
            quoted[number] = f'value: "{LOST_VALUES[lines[number - 1].strip()]}"'
            changes[number] = "quotes, and the value between them"
    mended = grammar.indented(quoted)
    for number, line in enumerate(mended):
        if line != lines[number]:
            changes.setdefault(number, "indentation")
    return mended, changes


def main() -> None:
    for each in printed():
        sys.stdout.write(f"{each}\n")
        sys.stdout.writelines(f"  mended {line}\n" for line in each.mended())


if __name__ == "__main__":
    main()
