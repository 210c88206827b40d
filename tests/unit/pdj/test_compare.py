"""Two jobs side by side: their losses by step and by time, and what differs in their specs."""

from datetime import timedelta
from typing import Any

import pytest

from api.objects import Raw
from api.training import Point
from pdj.facts.training import Training
from pdj.text.compare import MAX_DIFFERENCES, ROWS, compare, draw_comparison
from reconcile.words.progress import Progress
from tests.memory.builders import NOW, a_job, a_template, stamp

END = NOW + timedelta(hours=2)


def job(name: str, *env: tuple[str, str], workers: int = 2, **spec: Any) -> Raw:
    """A job that trains with these variables."""
    variables = [{"name": key, "value": value} for key, value in env]
    containers = [{"name": "paddle", "image": "train:1", "env": variables}]
    made = a_job(name).with_workers(workers, a_template(containers=containers)).with_spec(**spec)
    return made.with_status(phase="Running", startTime=stamp(), attempt=1).build()


def training(*points: tuple[int, float, float]) -> Training:
    """Steps, seconds and losses."""
    made = tuple(Point(step, NOW + timedelta(seconds=at), loss) for step, at, loss in points)
    return Training(END, Progress(step=made[-1].step, total=100, last_output_time=END), points=made)


def drawn(a: Raw, b: Raw, *trainings: Training | None) -> dict[str, list[str]]:
    """The rows by their titles."""
    lines = draw_comparison(compare([a, b], trainings or (None, None), END))
    cells = [[each for each in line.split("   ") if each.strip()] for line in lines if line]
    return {first.strip(): [each.strip() for each in rest] for first, *rest in cells}


def test_losses_are_shown_by_step_and_by_time():
    first = training((10, 0, 2.0), (20, 60, 1.0), (40, 180, 0.5))
    second = training((10, 0, 3.0), (30, 60, 1.0))
    rows = drawn(job("a"), job("b"), first, second)
    assert rows["step"] == ["40/100 (40 %)", "30/100 (30 %)"]
    assert rows["curve"] == ["loss 2 █▃▁ 0.5", "loss 3 █▁ 1"]
    assert rows["loss, step 10"] == ["2", "3"]
    assert rows["loss, step 20"] == ["1", "2"], "on the line between 10 and 30"
    assert rows["loss, step 30"] == ["0.75", "1"]
    assert rows["loss, step 40"] == ["0.5", "-"], "nobody knows"
    assert rows["loss, after 1m"] == ["1", "1"]
    assert rows["loss, after 3m"] == ["0.5", "-"]
    assert rows["time"] == ["2h", "2h"]


def test_what_differs_is_named_and_nothing_else():
    a = job("a", ("LR", "0.1"), ("SEED", "1"), ("ONLY_A", "x"), backoffLimit=3)
    b = job("b", ("SEED", "1"), ("LR", "0.2"), workers=4, backoffLimit=3)
    rows = drawn(a, b)
    env = "spec.worker.template.spec.containers[paddle].env"
    assert {name: cells for name, cells in rows.items() if name.startswith("spec")} == {
        f"{env}[LR].value": ["0.1", "0.2"],
        f"{env}[ONLY_A].name": ["ONLY_A", "-"],
        f"{env}[ONLY_A].value": ["x", "-"],
        "spec.worker.replicas": ["2", "4"],
    }


def test_long_values_are_shown_from_where_they_differ():
    image = "registry.example.com/team-vision/ppocr-train:2026-11-0"
    rows = drawn(job("a", ("IMAGE", f"{image}1")), job("b", ("IMAGE", f"{image}2")))
    (cells,) = [cells for name, cells in rows.items() if "IMAGE" in name]
    assert cells == ["…train:2026-11-01", "…train:2026-11-02"]


def test_a_job_compared_with_itself_differs_in_nothing():
    assert not [name for name in drawn(job("a"), job("a")) if name.startswith(("spec", "loss"))]


def test_steps_that_were_trained_again_count_once():
    again = training((10, 0, 2.0), (30, 60, 1.0), (20, 120, 1.5), (40, 180, 0.5))
    rows = drawn(job("a"), job("b"), again, None)
    assert rows["loss, step 20"] == ["1.5", "-"]
    assert "loss, step 30" not in rows
    assert rows["loss, after 2m"] == ["1.5", "-"]


@pytest.mark.parametrize(
    "value", ["\x1b[31mred", "long " * 100, "two\nlines"], ids=["escape", "long", "lines"]
)
def test_values_of_others_stay_in_their_cells(value):
    jobs = [job("a", ("X", value)), job("b", ("X", "1"))]
    lines = draw_comparison(compare(jobs, (None, None), END))
    assert all("\x1b" not in line and len(line) < 200 for line in lines)


def test_there_are_few_rows_however_many_points_and_differences():
    points = [(step, step, 1.0) for step in range(60)]
    many = [(f"V{number}", "1") for number in range(100)]
    trained = (training(*points), training(*points))
    lines = draw_comparison(compare([job("a", *many), job("b")], trained, END))
    assert len(lines) == 6 + 2 * ROWS + 2 + MAX_DIFFERENCES + 1
    assert lines[-1] == "150 more fields differ"


def test_extreme_losses_are_compared():
    rows = drawn(
        job("a"), job("b"), training((0, 0, 1e308), (10, 9, -1e308)), training((5, 0, 1.0))
    )
    assert rows["loss, step 5"] == ["0", "1"]
