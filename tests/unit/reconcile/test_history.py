"""The curve: the points that a status keeps of an attempt's losses, and how they are drawn."""

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest

from api.objects import Raw
from api.status import parse_status
from api.training import MAX_POINTS, Point, TrainingProgress, add_point, parse_history
from paddlejob.picture import History
from pdj.text.curve import describe_curve, draw_curve, to_svg
from reconcile.model.plan import Settings
from reconcile.model.training import Reading
from reconcile.words.progress import Line, Progress, ProgressReader
from tests.memory.builders import NOW, a_job, at
from tests.memory.world import World


class Trained:
    """A job that runs, whose log is read."""

    def __init__(self) -> None:
        self.world = World(settings=Settings(progress=True))
        self.world.run(a_job().with_workers(1).with_spec(backoffLimit=3))
        self.reader = ProgressReader()
        self.attempt = 1

    def read(self, text: str, seconds: float = 300.0) -> None:
        """The log has this line after so long."""
        self.world.advance(seconds)
        self.reader.read([Line(self.world.now, text)])
        progress = self.reader.read([])
        self.world.training = Reading(progress, self.attempt)
        self.world.settle()

    @property
    def points(self) -> list[Point]:
        status = parse_status(self.world.status())
        return status.progress.curve_of(status.attempt)

    @property
    def raw(self) -> list[str]:
        found: list[str] = self.world.status().get("progress", {}).get("history", [])
        return found

    def set(self, history: object) -> None:
        """Somebody edits it by hand."""

        def edit(job: Raw) -> None:
            job["status"]["progress"]["history"] = history

        self.world.change("PaddleJob", "train", edit)


def test_a_point_is_added_with_each_write_and_without_one_of_its_own():
    with_losses, without = Trained(), Trained()
    for step in range(1, 40):
        with_losses.read(f"step {step}/100 loss {1 / step}", 30)
        without.read(f"step {step}/100 lr 0.1", 30)
    assert with_losses.world.version == without.world.version
    assert [(point.step, point.loss) for point in with_losses.points[:2]] == [(1, 1.0), (2, 0.5)]
    assert with_losses.points[-1].step == 39
    assert without.raw == []


def test_a_job_of_100000_steps_keeps_3_kib_from_its_start_to_its_end():
    job = Trained()
    for step in range(0, 100_001, 500):
        job.read(f"step {step}/100000 loss {3.123456 / (step + 1)}", 33)
        assert len(job.raw) <= MAX_POINTS
    assert len(json.dumps(job.raw)) <= 3 << 10
    steps = [point.step for point in job.points]
    assert (steps[0], steps[-1]) == (0, 100_000)
    assert max(b - a for a, b in pairwise(steps)) <= 100_000 / 12
    assert len(steps) >= MAX_POINTS / 2


def test_a_week_of_writes_is_spread_over_the_week():
    points: list[Point] = []
    for number in range(2016):
        point = Point(number, NOW + timedelta(minutes=5 * number), 1.0)
        points = add_point(map(str, points), point)
    assert MAX_POINTS / 2 <= len(points) <= MAX_POINTS
    assert max(b.step - a.step for a, b in pairwise(points)) <= 2016 / 10


def test_a_new_leader_and_the_end_keep_it():
    job = Trained()
    for step in (10, 20):
        job.read(f"step {step}/100 loss 0.{step}")
    job.world.restart()
    job.reader = ProgressReader()
    job.read("step 30/100 loss 0.3")
    job.world.kubelet.end("train-worker-0", 0)
    job.world.training = replace(job.world.training or Reading(Progress(), 1), is_final=True)
    job.world.settle()
    assert job.world.phase() == "Completed"
    assert [point.step for point in job.points] == [10, 20, 30]


def test_another_attempt_has_a_curve_of_its_own():
    job = Trained()
    job.read("step 10/100 loss 0.5")
    job.world.kubelet.end("train-worker-0", 1)
    job.world.kubelet.let_go()
    assert job.points == []
    job.world.after(60)
    job.world.run()
    assert job.world.status()["attempt"] == 2
    job.attempt, job.reader = 2, ProgressReader()
    job.read("step 5/100 loss 0.6")
    assert [point.step for point in job.points] == [5]


GOOD = f"10 {at(0).isoformat().replace('+00:00', 'Z')} 0.5"
EDITED: dict[str, object] = {
    "no list": {"step": 1},
    "a text": "10 2026 0.5",
    "numbers": [1, None, 2.5, True],
    "objects": [{"step": 1}, ["10"]],
    "empty": ["", " ", "  "],
    "words": ["a b c", "10 yesterday 0.5", "ten 2026-01-02T03:04:05Z 0.5"],
    "no zone": ["10 2026-01-02T03:04:05 0.5"],
    "not finite": [GOOD.replace("0.5", each) for each in ("nan", "inf", "-inf", "1e400")],
    "not as we write it": [GOOD.replace("0.5", each) for each in ("0.50", "5e-1", "+0.5", "0_1")],
    "steps": [GOOD.replace("10 ", f"{each} ", 1) for each in (-1, 10**18, "1_0", "1e3", "010")],
    "more words": [f"{GOOD} x", f" {GOOD}", f"{GOOD}\n"],
    "year 1": ["10 0001-01-01T00:00:00Z 0.5"],
    "long": ["1" * 5000],
}


@pytest.mark.parametrize("edited", EDITED.values(), ids=EDITED)
def test_what_is_not_as_we_write_it_does_no_harm(edited):
    job = Trained()
    job.read("step 10/100 loss 0.5")
    job.set(edited)
    assert job.points == []
    job.read("step 20/100 loss 0.25")
    assert [(point.step, point.loss) for point in job.points] == [(20, 0.25)]
    assert job.raw == [str(point) for point in job.points]


def test_points_out_of_order_and_of_a_clock_that_was_ahead_are_dropped():
    times = [str(Point(step, at(seconds), 0.5)) for step, seconds in ((1, 0), (2, 60), (3, 30))]
    assert [point.step for point in parse_history(times)] == [1, 2]
    job = Trained()
    job.read("step 10/100 loss 0.5")
    job.world.set_clock_back(3600)
    job.reader = ProgressReader()
    job.read("step 20/100 loss 0.25", 60)
    assert [point.step for point in job.points] == [20]


def test_a_status_of_the_release_before_gets_one():
    job = Trained()
    job.read("step 10/100 loss 0.5")
    job.world.change("PaddleJob", "train", lambda raw: raw["status"]["progress"].pop("history"))
    assert job.points == []
    job.read("step 20/100 loss 0.25")
    assert len(job.points) == 1


ODD = {
    "1e400": (["step 1/9 loss 1e400", "step 2/9 loss 0.5"], [(2, 0.5)]),
    "inf": (["step 1/9 loss 0.5", "step 2/9 loss inf"], [(1, 0.5)]),
    "nan": (["step 1/9 loss nan", "step 2/9 loss 0.5"], [(2, 0.5)]),
    "-0": (["step 1/9 loss -0", "step 2/9 loss -0.0"], [(1, 0.0), (2, 0.0)]),
    "back": ([f"step {n}/90 loss 0.5" for n in (50, 20)], [(50, 0.5), (20, 0.5)]),
    "a jump": ([f"step {n}/90 loss 0.5" for n in (1, 80)], [(1, 0.5), (80, 0.5)]),
    "10^18": (["paddlejob: step=1 loss=1", f"paddlejob: step={10**18} loss=1"], [(1, 1.0)]),
    "two at once": (["step 1/9 loss 0.5", "step 1/9 loss 0.6"], [(1, 0.5)]),
    "no step": (["loss 0.5", "loss 0.4"], []),
}


@pytest.mark.parametrize(("texts", "points"), ODD.values(), ids=ODD)
def test_odd_lines_make_no_odd_points(texts, points):
    job = Trained()
    for text in texts:
        job.read(text)
    assert [(point.step, point.loss) for point in job.points] == points
    assert "-0" not in "".join(text.split()[2] for text in job.raw)


# What people see


def curve(*pairs: tuple[int, float]) -> list[Point]:
    """Points a minute apart."""
    return [Point(step, at(60 * number), loss) for number, (step, loss) in enumerate(pairs)]


def test_it_is_drawn_in_a_line():
    assert describe_curve(curve((1, 3.0), (2, 2.0), (3, 1.0))) == "loss 3 █▄▁ 1"
    assert describe_curve(curve((1, 0.5), (2, 0.5))) == "loss 0.5 ▄▄ 0.5"
    assert describe_curve(curve((1, 0.5))) == describe_curve([]) == ""
    many = describe_curve(curve(*((step, 100.0 - step) for step in range(60))))
    assert many.startswith("loss 100 █") and many.endswith("▁ 41")
    assert len(many.split()[2]) == 30


def texts(points: list[Point], checkpoint: int | None = None) -> list[str]:
    """The texts of the picture, which is well-formed."""
    tree = draw_curve(points, checkpoint)
    assert tree is not None
    return [each for each in ET.fromstring(to_svg(tree)).itertext() if each.strip()]


def test_the_picture_has_axes_with_numbers_and_marks():
    points = curve((10, 2.0), (20, 1.0), (1000, 0.5))
    found = texts(points, checkpoint=500)
    assert found[1:] == ["0.5", "1.25", "2", "10", "1,000", "checkpoint 500"]
    assert texts(points, checkpoint=5000) == texts(points)
    again = curve((10, 2.0), (20, 1.0), (15, 1.2), (30, 0.9))
    assert texts(again)[-3:] == ["0s", "3m", "steps begin again"]
    assert draw_curve(points[:1]) is None


@pytest.mark.parametrize("losses", [(1e308, -1e308), (5e-324, 0.0), (0.0, 0.0)], ids=str)
def test_extreme_losses_are_drawn_within_the_picture(losses):
    points = curve((0, losses[0]), (10**15, losses[1]))
    drawn = to_svg(draw_curve(points) or "")
    line = ET.fromstring(drawn).find("polyline")
    assert line is not None
    numbers = [float(n) for pair in line.attrib["points"].split() for n in pair.split(",")]
    assert all(0 <= number <= 360 for number in numbers)
    assert describe_curve(points)


def test_a_notebook_shows_it():
    points = History(curve((1, 0.5), (2, 0.25)))
    assert points[1].loss == 0.25
    assert "<polyline" in (points._repr_html_() or "")
    assert History()._repr_html_() is None


def test_a_progress_has_no_point_without_a_step_a_time_and_a_loss():
    assert TrainingProgress().point is None
    assert TrainingProgress(step=1).point is None
