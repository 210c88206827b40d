"""The command: what it measures, what it refuses, and that it loses no results."""

import io
import json
import locale
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmarks import __main__ as command
from benchmarks.operators import Operator
from benchmarks.scenarios.sidebyside import Turns
from benchmarks.series import FULL, Series, Sizes
from kube.errors import ApiError
from localcluster.machine.errors import BuildError, StartError
from localcluster.machine.report import Report
from tests.unit.benchmarks.measured import a_series, some_turns

Run = Callable[..., int]
UNBUILDABLE = """
from benchmarks.adapter import Adapter
from localcluster.machine.errors import BuildError

class Peer(Adapter):
    def prepare(self, report):
        raise BuildError("no compiler")

ADAPTER = Peer(name="peer", command=("peer",))
"""
FAILURES = [
    pytest.param(TimeoutError("no sign of life"), id="timeout"),
    pytest.param(StartError("other died (1)"), id="crash"),
    pytest.param(ApiError("no such kind", code=404), id="refused"),
]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Calls the command; nothing is measured, everything holds."""

    def measure(operator: Operator, sizes: Sizes, report: Report) -> Series:
        return a_series()

    def measure_turns(operators: list[Operator], *_: object) -> tuple[Turns, ...]:
        return tuple(some_turns(operator.name, 2.0) for operator in operators)

    def call(*arguments: str) -> int:
        monkeypatch.setattr(sys, "argv", ["benchmarks", *arguments])
        return command.main()

    monkeypatch.setattr(command, "measure_series", measure)
    monkeypatch.setattr(command, "measure_side_by_side", measure_turns)
    return call


@pytest.fixture
def ascii_locale() -> Iterator[None]:
    """Files are ASCII where nobody says otherwise."""
    usual = locale.setlocale(locale.LC_CTYPE)
    locale.setlocale(locale.LC_CTYPE, "C")
    yield
    locale.setlocale(locale.LC_CTYPE, usual)


@pytest.mark.usefixtures("ascii_locale")
def test_results_are_written_where_the_page_cannot_be_printed(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="latin-1"))
    with pytest.raises(UnicodeEncodeError):
        run("--output", str(tmp_path))
    assert "≤ 10" in (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert {path.name for path in tmp_path.iterdir()} == {"RESULTS.md", "RESULTS.json", "chart.svg"}


def test_a_bad_folder_is_told_before_anything_is_measured(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "measure_series", None)
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError):
        run("--output", str(tmp_path / "file"))


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize(
    ("broken", "name"), [("measure_series", "other"), ("measure_side_by_side", "side by side")]
)
def test_what_fails_beside_our_operator_takes_nothing_with_it(
    run: Run,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    failure: Exception,
    broken: str,
    name: str,
) -> None:
    def measure(operator: Operator | list[Operator], *_: object) -> Series:
        if isinstance(operator, Operator) and operator.name != "other":
            return a_series()
        raise failure

    monkeypatch.setattr(command, broken, measure)
    assert run("--operator", "/bin/other") == 0
    told = capsys.readouterr().out
    assert f"left out: {name}: {failure}" in told
    assert "# Results of the benchmarks" in told


def test_what_cannot_be_built_is_told_before_anything_is_measured(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "measure_series", None)
    (tmp_path / "peer.py").write_text(UNBUILDABLE)
    with pytest.raises(BuildError, match="no compiler"):
        run("--peer", str(tmp_path / "peer.py"))


@pytest.mark.parametrize(
    ("arguments", "bursts"),
    [
        pytest.param([], FULL.bursts, id="usual"),
        pytest.param(["--burst", "100"], {100: 5}, id="usual rounds"),
        pytest.param(["--quick", "--burst", "100"], {100: 1}, id="usual rounds, quick"),
        pytest.param(["--burst", "7", "--burst", "1000"], {7: 1, 1000: 1}, id="unusual size"),
    ],
)
def test_sizes_of_bursts(
    run: Run, monkeypatch: pytest.MonkeyPatch, arguments: list[str], bursts: dict[int, int]
) -> None:
    asked: list[Sizes] = []

    def measure(operator: Operator, sizes: Sizes, report: Report) -> Series:
        asked.append(sizes)
        return a_series()

    monkeypatch.setattr(command, "measure_series", measure)
    run(*arguments)
    assert [sizes.bursts for sizes in asked] == [bursts]


REFUSED = {
    "burst of none": (["--burst", "0"], "no number of jobs"),
    "burst of less than none": (["--burst=-1"], "no number of jobs"),
    "burst of no number": (["--burst", "some"], "no number of jobs"),
    "nobody to compare": (["--against", "f", "--only-others", "--peer", "x"], "leaves out"),
    "no command": (["--operator", "go="], "no command: go="),
    "nobody": (["--only-others"], "names no other operator"),
    "nobody to check": (["--only-others", "--operator", "x", "--check"], "--check"),
    "nothing to check": (["--against", "f", "--check"], "has a few"),
}


@pytest.mark.parametrize(("arguments", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(
    run: Run, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    with pytest.raises(SystemExit) as refused:
        run(*arguments)
    assert refused.value.code == 2
    assert message in capsys.readouterr().err


def test_another_checkout_is_measured_in_turn_and_alone(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[list[str], int, int]] = []

    def measure(operators: list[Operator], jobs: int, rounds: int, _: Report) -> tuple[Turns, ...]:
        asked.append(([each.name for each in operators], jobs, rounds))
        return some_turns("own", 1.0, 2.0), some_turns("before", 2.0, 2.0)

    monkeypatch.setattr(command, "measure_side_by_side", measure)
    monkeypatch.setattr(command, "measure_series", None)
    (tmp_path / "old").mkdir()
    assert run("--burst", "7", "--against", str(tmp_path / "old"), "--output", str(tmp_path)) == 0
    assert asked == [(["paddlejob-operator", "before"], 7, FULL.rounds_side_by_side)]
    page = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert "must be" not in page.lower()
    assert json.loads((tmp_path / "RESULTS.json").read_text())["side_by_side"][1]["bursts"]


def test_targets_are_of_this_projects_operator(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    others = ["--operator", "one=/bin/one", "--operator", "two=/bin/two"]
    run(*others)
    assert "must be" in capsys.readouterr().out.lower()
    run(*others, "--only-others")
    assert "must be" not in capsys.readouterr().out.lower()
