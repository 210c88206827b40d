"""The command: what it measures, what it refuses, and that it loses no results."""

import io
import locale
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmarks import __main__ as command
from benchmarks.jobwatch import Report
from benchmarks.operators import Operator
from benchmarks.series import Series, Sizes
from tests.unit.benchmarks.builders import a_series

Run = Callable[..., int]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Calls the command; nothing is measured, everything holds."""

    def measure(operator: Operator, sizes: Sizes, report: Report) -> Series:
        return a_series()

    def call(*arguments: str) -> int:
        monkeypatch.setattr(sys, "argv", ["benchmarks", *arguments])
        return command.main()

    monkeypatch.setattr(command, "measure_series", measure)
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
    measured: list[Operator] = []
    monkeypatch.setattr(command, "measure_series", lambda operator, *_: measured.append(operator))
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError):
        run("--output", str(tmp_path / "file"))
    assert not measured
