"""What is read from lines in the form of many tools: all of it is right, and the rest is unknown.

The forms are in `forms_of_paddle`, `forms_of_others` and `forms_of_people`.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from reconcile.words.progress import MAX_INNER, MAX_LINES, Line, ProgressReader
from tests.unit.reconcile import forms_of_others, forms_of_paddle, forms_of_people

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
FORMS = forms_of_paddle.FORMS | forms_of_others.FORMS | forms_of_people.FORMS


def say(text: str) -> dict[str, Any]:
    """What the lines say; nothing of what they do not."""
    times = (START + timedelta(seconds=10 * i) for i in range(100))
    lines = [Line(time, line) for time, line in zip(times, text.split("\n"), strict=False)]
    read = ProgressReader().read(lines)
    epoch = "" if read.epoch is None else f"{read.epoch}/{read.epochs}".removesuffix("/None")
    said = {
        "step": read.step,
        "total": read.total,
        "epoch": epoch or None,
        "loss": dict(read.metrics).get("loss"),
        "rate": read.samples_per_second,
        "eta": read.remaining_seconds,
    }
    return {name: value for name, value in said.items() if value is not None}


@pytest.mark.parametrize(("text", "said"), FORMS.values(), ids=FORMS)
def test_a_form_is_read_whole_and_nothing_is_made_up(text, said):
    assert say(text) == said


def test_samples_show_that_it_trains():
    """Else a training whose steps nobody knows would have stalled by `of: Step`."""
    lines = [f"Train Epoch: 2 [{samples}/60000 (1%)]\tLoss: 0.3" for samples in (640, 1280, 1280)]
    read = ProgressReader().read(
        Line(START + timedelta(seconds=10 * i), line) for i, line in enumerate(lines)
    )
    assert read.last_step_time == START + timedelta(seconds=10)


def test_losses_without_steps_show_that_it_trains():
    texts = ["{'loss': 0.5, 'epoch': 0.1}", *["{'loss': 0.4, 'epoch': 0.2}"] * 2, "no news"]
    read = ProgressReader().read(
        Line(START + timedelta(seconds=10 * i), text) for i, text in enumerate(texts)
    )
    assert read.last_step_time == START + timedelta(seconds=10)


def test_a_loop_inside_the_training_shows_that_it_runs_but_not_for_ever():
    reader, steps = ProgressReader(), []
    reader.read([Line(START, "step 340/1000 loss 0.3")])
    for at in range(1, MAX_INNER + 2):
        now = START + timedelta(seconds=at)
        read = reader.read([Line(now, f"step {at}/500 loss 0.4")])
        assert read.last_step_time == now
        steps.append((read.step, dict(read.metrics)["loss"]))
    assert steps == [(340, "0.3")] * MAX_INNER + [(MAX_INNER + 1, "0.4")]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("Eval begin...", "step {}/400 - loss: 0.5", (45, None, None)),
        ("Epoch 1/20", "step {}/400 - loss: 0.5", (45, None, None)),
        ("Epoch 1/20", "Epoch 3/20 step {}/400 loss: 0.5", (845, 8000, 3)),
        ("Total optimization steps = 1,250", "global_step: {}, loss: 0.5", (45, 1250, None)),
    ],
    ids=["evaluation", "epoch", "epoch beside the step", "total of a head"],
)
def test_after_lines_that_were_not_read_nothing_is_taken_from_those_before(before, after, said):
    """As for a new leader, which has not seen them either."""
    reader = ProgressReader()
    reader.read([Line(START, before)])
    read = reader.read([Line(START, after.format(at)) for at in range(46 - MAX_LINES, 46)])
    assert (read.step, read.total, read.epoch) == said


def test_an_estimate_is_that_of_the_last_step():
    reader = ProgressReader()
    texts = ["iter: 1, eta: 0:10:00, loss: 1", "saving", "iter: 2, loss: 1", "iter: 3, loss: 1"]
    read = [reader.read([Line(START, text)]).remaining_seconds for text in texts]
    assert read == [600, 600, None, None]
    assert reader.read([Line(START, "iter: 4, eta: 9999 days, 0:00:00")]).remaining_seconds is None
