"""The command: what it measures, what it refuses, and that it loses no results."""

import io
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
from localcluster.machine.errors import StartError
from localcluster.machine.report import Report
from tests.unit.benchmarks.measured import a_series, some_turns

Run = Callable[..., int]
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


def test_targets_are_of_this_projects_operator(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    others = ["--operator", "one=/bin/one", "--operator", "two=/bin/two"]
    run(*others)
    assert "must be" in capsys.readouterr().out.lower()
    run(*others, "--only-others")
    assert "must be" not in capsys.readouterr().out.lower()
