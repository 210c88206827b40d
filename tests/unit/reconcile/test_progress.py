"""What the lines of a log say of the training: the tools' formats, and what a tenant may write."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from re import _parser  # type: ignore[attr-defined]
from string import ascii_letters
from typing import Any

import pytest

from reconcile.words import forms, progress, step_patterns
from reconcile.words.progress import (
    MAX_CHARACTERS,
    MAX_LINE_CHARACTERS,
    MAX_LINES,
    Checkpoint,
    Line,
    Progress,
    ProgressReader,
    read_lines,
)
from reconcile.words.step_patterns import STEP_PATTERNS
from tests.unit.reconcile.test_log_forms import FORMS

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
BAR = "|███████      | "


def read_progress(lines: Iterable[Line]) -> Progress:
    """Of lines that are read at once."""
    return ProgressReader().read(lines)


def read(*texts: str, start: datetime = START) -> Progress:
    """Of lines that were written ten seconds apart."""
    return read_progress(Line(start + timedelta(seconds=10 * i), t) for i, t in enumerate(texts))


OCR = (
    "[2025/09/24 12:13:19] ppocr INFO: epoch: [3/500], global_step: 500, lr: 0.005000, "
    "loss: 0.609742, avg_batch_cost: 2.03538 s, ips: 7.86095 samples/s, eta: 2 days, 20:01:28"
)
SEG = (
    "2021-03-30 06:55:57 [INFO]\t[TRAIN] epoch: 1, iter: 20/500, loss: 2.0859, lr: 0.009657, "
    "ips: 3.7425 samples/sec | ETA 00:04:16"
)
FORMERS = (
    "[2026-01-19 17:43:11,367] [    INFO] - loss: 22.9955, learning_rate: 1.666667e-06, "
    "global_step: 1, interval_runtime: 3.1, interval_samples_per_second: 2.58, "
    "progress_or_epoch: 0.0012"
)
DETECTION = (
    "[11/22 10:00:00] ppdet.engine INFO: Epoch: [0] [  20/1000] learning_rate: 0.0001 "
    "loss: 1.2345 eta: 1:02:03 batch_cost: 0.3000 ips: 3.2000 images/s"
)
CLAS = (
    "[2024/01/02 10:00:00] ppcls INFO: [Train][Epoch 2/20][Iter: 10/100]lr: 0.1, loss: 2.3, "
    "batch_cost: 0.2s, ips: 320.0 samples/s, eta: 0:10:00"
)
NLP = (
    "global step 200, epoch: 1, batch: 3, loss: 1.234567, avg_batch_cost: 0.2 sec, "
    "speed: 3.10 step/s"
)
FORMATS: dict[str, tuple[str, int | None, int | None, str | None, str | None]] = {
    "ocr": (OCR, 500, None, "0.609742", "7.86095"),
    "seg": (SEG, 20, 500, "2.0859", "3.7425"),
    "formers": (FORMERS, 1, None, "22.9955", "2.58"),
    "detection": (DETECTION, 20, None, "1.2345", "3.2"),
    "clas": (CLAS, 110, 2000, "2.3", "320"),
    "nlp": (NLP, 200, None, "1.23457", None),
    "trainer": (
        "{'loss': 0.1252, 'learning_rate': 4e-05, 'global_step': 200, 'epoch': 2.67}",
        *(200, None, "0.1252", None),
    ),
    "hapi": ("step 10/100 - loss: 0.3512 - acc: 0.9000 - 12ms/step", 10, None, "0.3512", None),
    "hapi-head": ("Epoch 2/5\nstep 10/100 - loss: 0.3 - 12ms/step", 110, 500, "0.3", None),
    "keras": ("Epoch 2/5\n 10/100 [==>....] - 2s 12ms/step - loss: 0.3", 110, 500, "0.3", None),
    "tqdm": (f" 33%{BAR}200/600 [01:11<01:58,  3.37it/s]", 200, 600, None, None),
    "tqdm-loss": (f" 33%{BAR}200/600 [01:11<01:58,  3.37it/s, loss=0.31]", 200, 600, "0.31", None),
    "tqdm-name": (f"train:  33%{BAR}200/600 [01:11<01:58,  3.37it/s]", 200, 600, None, None),
    "tqdm-epoch": (f"Epoch 2/5:  33%{BAR}20/60 [00:11<00:18,  3.3it/s]", 80, 300, None, None),
    "tqdm-one-epoch": (f"Epoch 2:  33%{BAR}20/60 [00:11<00:18,  3.3it/s]", 20, None, None, None),
    "plain": ("epoch 1 step 10 loss 0.3", 10, None, "0.3", None),
    "plain-comma": ("epoch: 1, step: 10, loss: 0.3", 10, None, "0.3", None),
    "plain-equals": ("epoch=1 step=10 loss=0.3", 10, None, "0.3", None),
    "batch-id": ("epoch: 1, batch_id: 10, loss is: 0.3", 10, None, "0.3", None),
    "totals": ("Epoch [2/5], Step [10/100], Loss: 0.3", 110, 500, "0.3", None),
    "epoch-of-total": ("Epoch 2/5 - iter 10 - loss: 0.3", 10, None, "0.3", None),
    "step-of-epoch": ("epoch 2 iter 10/100 loss 0.3", 10, None, "0.3", None),
    "step-total": ("step 10/100 loss 0.3", 10, 100, "0.3", None),
    "step-colon": ("INFO step: 10 / 100, loss: 0.3", 10, 100, "0.3", None),
    "step-only": ("step 10: loss = 0.3", 10, None, "0.3", None),
    "iteration": ("iteration 10, loss: 0.3", 10, None, "0.3", None),
    "iter-equals": ("iter=10 loss=0.3", 10, None, "0.3", None),
    "json": ('{"step": 10, "loss": 0.3}', 10, None, "0.3", None),
    "images": ("step 10/100 loss 0.3 268 images/s", 10, 100, "0.3", "268"),
    "pytorch-example": ("Train Epoch: 2 [10/100 (10%)]\tLoss: 0.3", None, None, "0.3", None),
    "imagenet": ("Epoch: [2][10/100]\tTime 0.1 (0.2)\tLoss 0.3 (0.4)", 10, None, "0.3", None),
    "gan": ("[2/5][10/100] Loss: 0.3", 10, None, "0.3", None),
    "tutorial": ("[2,    10] loss: 0.300", 10, None, "0.3", None),
    "megatron": (
        " iteration       10/     100 | consumed samples: 160 | lm loss: 3.0E-01 |",
        *(10, 100, "0.3", None),
    ),
    "transformer": ("| epoch   2 |   10/  100 batches | loss  0.30", 10, None, "0.3", None),
    "paddlex": ("[TRAIN] Epoch=2/5, Step=10/100, loss=0.3, eta=1:2:3", 110, 500, "0.3", None),
    "paddle3d": ("[TRAIN] epoch=2/5, iter=10/100, loss=0.3, lr=0.1", 10, 100, "0.3", None),
    "video": (
        "epoch:[  2/5 ] train step:10   loss: 0.3 lr: 0.1 ips: 9.5 instance/sec.",
        *(10, None, "0.3", "9.5"),
    ),
    "rec": (
        "epoch: 0, batch_id: 10, auc:0.5,loss: [0.3], avg_samples: 2.0, ips: 20.1 ins/s",
        *(10, None, "0.3", "20.1"),
    ),
    "fluid": ("Pass 2, Batch 10, Cost 0.2, Loss 0.3", 10, None, "0.3", None),
    "hapi-bar": ("step  10/100 [=>....] - loss: 0.3 - ETA: 5s - 12ms/step", 10, None, "0.3", None),
    "tqdm-no-total": ("10it [00:10, 19.9it/s, loss=0.3]", 10, None, "0.3", None),
    "tqdm-units": (f" 33%{BAR}1.2k/3.60k [01:11<01:58, 3.3kit/s]", 1200, 3600, None, None),
    "lightning": (f"Epoch 2:  33%{BAR}10/100 [0:1, loss=0.3, v_num=0]", 10, None, "0.3", None),
    "units": ("step: 1.2k/40k loss 0.3", 1200, 40000, "0.3", None),
    "step-of": ("Step 10 of 100, loss 0.3. Next", 10, 100, "0.3", None),
    "total-apart": ("current_step: 10, total_steps: 100, loss: 0.3", 10, 100, "0.3", None),
    "total-equals": ("step=10 total=100 loss=0.3", 10, 100, "0.3", None),
    "eta": ("step 10/100, eta: 1:02:03, loss: 0.3, ips: 1,268.5", 10, 100, "0.3", "1268.5"),
    "steps": ("Steps 10/100, loss 0.3", 10, 100, "0.3", None),
    "counted": ("Processed 10/100 steps, loss 0.3", 10, 100, "0.3", None),
    "batch": ("Epoch 2/5\nbatch 10/100 loss 0.3", 110, 500, "0.3", None),
    "fraction": ("10/100 loss 0.3", 10, 100, "0.3", None),
    "fraction-in-parentheses": ("(10 / 100) loss 0.3", 10, 100, "0.3", None),
    "tabs": ("step\t10\tloss\t.3", 10, None, "0.3", None),
    "quoted": ('{"loss": "0.3", "step": "10", "epoch": "2"}', 10, None, "0.3", None),
    "epoch-apart": ("Epoch 2/5 (10.0%) step 10/100 loss 0.3", 110, 500, "0.3", None),
    "tqdm-epoch-apart": (
        f"Epoch: 2/5 - loss 0.3:  10%{BAR}10/100 [00:01<00:10,  9.0it/s]",
        *(110, 500, "0.3", None),
    ),
    "global-of": ("epoch 2/5, global_step 10 of 100, loss 0.3", 10, 100, "0.3", None),
    "mmengine": ("Iter(train) [ 10/100]  lr: 1e-4  eta: 1:02:03  loss: 0.3", 10, 100, "0.3", None),
    "mmdetection": ("Epoch(train)  [2][ 10/100]  lr: 2e-2  loss: 0.3", 10, None, "0.3", None),
    "validation-beside": ("Step 10, Train Loss: 0.3, Val Loss: 0.4", 10, None, "0.3", None),
    "per-second": ("step 10 loss 0.3 268 samples per second", 10, None, "0.3", "268"),
    "chinese-done": ("已完成 10/100 步，损失 0.3", 10, 100, "0.3", None),
    "brackets": ("2026-01-02 10:00:00 [INFO] [10/100] loss: 0.3", 10, 100, "0.3", None),
    "tokens": ("step 10, loss 0.3, ips: 12.3 tokens/s", 10, None, "0.3", None),
    "chinese": ("第 2/5 轮，第 10/100 步，损失：0.3", 110, 500, "0.3", None),
    "chinese-names": ("轮次: 2, 步数: 10, 损失值: 0.3", 10, None, "0.3", None),
    "chinese-step": ("训练步 10/100 损失=0.3", 10, 100, "0.3", None),
    "chinese-mixed": ("第 2 个 epoch，迭代 10，loss：0.3", 10, None, "0.3", None),
    "epoch-alone": ("Epoch 2/5, Loss: 0.3", None, None, "0.3", None),
    "loss-alone": ("{'loss': 0.3, 'epoch': 0.2}", None, None, "0.3", None),
    "marked": ("paddlejob: step=10 total=100 loss=0.3 samples_per_second=5", 10, 100, "0.3", "5"),
    "marked-commas": ("paddlejob:step=1,200, total=4,000, loss=0.3,", 1200, 4000, "0.3", None),
    "marked-word": ("paddlejob: step=10 total=100 eta:total=7", 10, 100, None, None),
    "marked-logged": ("[INFO] paddlejob: step=10 total=100 loss=0.3", 10, 100, "0.3", None),
}


@pytest.mark.parametrize(("text", "step", "total", "loss", "rate"), FORMATS.values(), ids=FORMATS)
def test_a_format_is_read(text, step, total, loss, rate):
    progress = read(*text.split("\n"))
    assert (progress.step, progress.total, progress.samples_per_second) == (step, total, rate)
    assert {name.lower(): value for name, value in progress.metrics}.get("loss") == loss


def test_each_pattern_is_the_first_for_some_format():
    texts = [each[0] for each in FORMATS.values()] + [each[0] for each in FORMS.values()]
    lines = [line for text in texts for line in text.split("\n")]
    first = {
        next((tool for tool, p in STEP_PATTERNS.items() if p.search(line.lower())), "")
        for line in lines
    }
    assert {*STEP_PATTERNS} <= first


ODD: dict[str, tuple[list[str], int | None, int | None]] = {
    "one-long-line": (["x" * 10_000_000 + " step 7/9"], 7, 9),
    "overwritten-bar": ([f" 1%{BAR}1/60 [0:1]\r 5%{BAR}3/60 [0:1]"], 3, 60),
    "colours": (["\x1b[32mstep\x1b[0m 7/9"], 7, 9),
    "invalid-utf-8": ([b"\xff\xfe step 7/9 \xc3".decode(errors="replace")], 7, 9),
    "backwards": (["step 8/9", "step 2/9"], 2, 9),
    "beyond-its-total": (["step 12/9"], 12, None),
    "too-many-digits": (["step " + "9" * 400], None, None),
    "evaluation": (["step 7/9", f"Evaluating: 50%{BAR}1/2 [0:1]"], 7, 9),
    "evaluation-of-hapi": (["step 7 loss 1", "Eval begin...", "step 1/2 - loss: 3"], 7, None),
    "evaluation-of-seg": (["step 7/9", "INFO Start evaluating (total: 2)", "1/2 [==>] - 1s"], 7, 9),
    "evaluation-of-trainer": (
        ["step 7/9", "INFO - ***** Running Evaluation *****", f" 50%{BAR}1/2 [0:1]"],
        *(7, 9),
    ),
    "evaluation-has-ended": (
        ["***** Running Evaluation *****", "eval_loss: 3, eval_runtime: 1", f" 50%{BAR}7/9 [0:1]"],
        *(7, 9),
    ),
    "testing": (["step 7/9", f"Testing: 50%{BAR}1/2 [0:1]", "[Test] step 1/2"], 7, 9),
    "bar-of-epochs": (["step 7/9", f"Epochs: 50%{BAR}1/2 [0:1]"], 7, 9),
    "loading-without-a-total": (["Reading: 100it [00:01, 99.1it/s]"], None, None),
    "loading": ([f"Loading examples: 50%{BAR}1/2 [0:1]"], None, None),
    "mapping": ([f"Map (num_proc=4): 50%{BAR}1/2 [0:1, 9 examples/s]"], None, None),
    "file": ([f"model.safetensors: 50%{BAR}1/2 [0:1]"], None, None),
    "bytes": ([f" 50%{BAR}1/2 [00:01<00:02, 3.1MB/s]"], None, None),
    "a-date": (["01/02 10:00:00 loss 0.3", "[2026/01/02] loss 0.3"], None, None),
    "a-rank": (["[rank 0/4] loss: 0.3", "Epoch [3/10] loss: 0.3"], None, None),
    "a-setting": (["max_steps: 100", "save_steps: 10", "batch: 32", "epoch 3 (12 s)"], None, None),
    "loss-of-validation": (["step 7", "val loss 0.4"], 7, None),
    "thousands": (["step 1,200/40,000 loss 1"], 1200, 40000),
    "exponent": (["step 1e5"], None, None),
    "duration": (["step: 12ms"], None, None),
    "list": (["step 7,0.5"], 7, None),
    "folder-of-a-step": (["global_step: 9, loss: 1", "saved to out/global_step7/a.pt"], 9, None),
    "nothing": (["loading data"], None, None),
    "empty": ([], None, None),
    "marked-first": (["paddlejob: step=3 total=9", "step 7/8"], 3, 9),
    "marked-float": (["paddlejob: step=12.0 total=90.0"], 12, 90),
    "marked-fraction": (["paddlejob: step=1.5 total=9"], None, None),
    "marked-pause": (["step 7/8", "paddlejob: quiet=60", "step 8/8"], 8, 8),
    "marked-nonsense": (["paddlejob: step=nan total=-1 loss=;rm"], None, None),
}


@pytest.mark.parametrize(("texts", "step", "total"), ODD.values(), ids=ODD)
def test_an_odd_log(texts, step, total):
    progress = read(*texts)
    assert (progress.step, progress.total) == (step, total)


METRICS = {
    "which are numbers": (
        "step 1 loss: nan, lr: 1e400, acc: 0.5x, " + "n" * 41 + ": 1, über: 2, loſs 3",
        {"loss": "nan"},
    ),
    "which Python reads": ("step 1 loss: ınf, lr: İnf, acc: -ınf, ppl: 2", {"ppl": "2"}),
    "eight": (
        "step 1 " + " ".join(f"m{i}={i}" for i in range(12)),
        {f"m{i}": str(i) for i in range(8)},
    ),
    "no percentage": (f"train: 33%{BAR}2/6 [0:1, loss=0.3]", {"loss": "0.3"}),
    "no date": ('{"time": "2026-01-02 03:04:05", "step": 10, "loss": 0.5}', {"loss": "0.5"}),
}


@pytest.mark.parametrize(("text", "metrics"), METRICS.values(), ids=METRICS)
def test_numbers_of_the_training_are_shown(text, metrics):
    assert dict(read(text).metrics) == metrics


@pytest.mark.parametrize("ahead", [timedelta(), timedelta(hours=1)], ids=["right", "an-hour-ahead"])
def test_the_end_is_reckoned_from_the_steps_own_times(ahead):
    progress = read("step 10/100", "step 20/100", "step 20/100", start=START + ahead)
    assert progress.remaining_seconds == 80
    assert progress.last_step_time == START + ahead + timedelta(seconds=10)
    assert progress.last_output_time == START + ahead + timedelta(seconds=20)


def test_the_pace_is_that_of_the_last_minutes_and_steps():
    """After steps in a second, steps in a minute, and after those a few that take an hour."""
    quick, slow, slowest = 1000 * [1], 30 * [60], 5 * [3600]
    reader, time, left = ProgressReader(), START, []
    for step, seconds in enumerate(quick + slow + slowest):
        time += timedelta(seconds=seconds)
        left.append((reader.read([Line(time, f"step {step}/2000")]), 2000 - step))
    pace = [(each.remaining_seconds or 0) / steps for each, steps in left]
    assert (pace[999], pace[1029]) == (1, 60)
    assert 60 < pace[-1] < 3600


def test_lines_that_come_together_say_nothing_of_the_pace():
    """PaddlePaddle's launcher copies a log every 2 s."""

    def chunk(first: int, seconds: float) -> list[Line]:
        times = (START + timedelta(seconds=seconds + i / 1000) for i in range(20))
        return [Line(time, f"step {first + i}/1000") for i, time in enumerate(times)]

    assert read_progress(chunk(1, 0)).remaining_seconds is None
    left = read_progress(chunk(1, 0) + chunk(21, 2)).remaining_seconds
    assert left == pytest.approx(96, rel=0.02)


FORMING = "LAUNCH INFO 2026-11-23 08:14:15,698 Waiting peer ready..."
RUNS = "LAUNCH INFO 2026-11-23 08:14:16,201 Run Pod: gbkuxk, replicas 2, status ready"


@pytest.mark.parametrize(
    ("texts", "formed_at"),
    [
        ([FORMING, RUNS, "loading data"] * 3, 0),
        ([FORMING, RUNS, "loading data"] * 4, 30),
        (["step 5", *[FORMING, RUNS, "step 5"] * 3], 10),
        ([FORMING, RUNS, FORMING, RUNS], None),
        ([FORMING, RUNS, FORMING, RUNS, FORMING, "step 5"], None),
        (["step 5", FORMING, FORMING, "paddlejob: step=6", FORMING], None),
    ],
    ids=["thrice", "the last three", "the same step", "twice", "a step", "marked"],
)
def test_launchers_that_form_again_and_again_are_noticed(texts, formed_at):
    since = None if formed_at is None else START + timedelta(seconds=formed_at)
    assert read(*texts).forming_since == since


def test_after_a_step_back_the_pace_is_unknown():
    assert read("step 10/100", "step 20/100", "step 5/100").remaining_seconds is None


@pytest.mark.parametrize(
    ("folder", "path"),
    [
        ("./out", "./out/checkpoint-20"),
        ("./ernie-checkpoint-3", "./ernie-checkpoint-3/checkpoint-20"),
        ("./öut", ""),
    ],
    ids=["usual", "named like one itself", "cannot be printed"],
)
def test_a_checkpoint_counts_once_a_later_step_was_made(folder, path):
    saving = f"Saving model checkpoint to {folder}/checkpoint-20"
    assert read("step 20", saving, "step 20").checkpoint is None
    checkpoint = Checkpoint(20, path, START + timedelta(seconds=10))
    assert read("step 20", saving, "step 21").checkpoint == checkpoint


@pytest.mark.parametrize(
    ("quiet", "seconds"),
    {"600": 600, "600.0": 600, "600s": 600, "10m": 600, "1.5h": 5400, "1,200": 1200}.items(),
)
def test_quiet_is_in_seconds_or_has_a_unit(quiet, seconds):
    assert read(f"paddlejob: quiet={quiet}").quiet_until == START + timedelta(seconds=seconds)


@pytest.mark.parametrize("quiet", ["0", "0m", "soon", "-5", "nan", "1e4", "10mm", "m"])
def test_quiet_that_is_no_duration_announces_no_pause(quiet):
    assert read(f"paddlejob: step=1 quiet={quiet}").quiet_until is None


def test_quiet_ends_after_six_hours():
    assert read("paddlejob: step=1 quiet=9999999").quiet_until == START + timedelta(hours=6)


HOSTILE = {
    "digits": "1",
    "spaces": " ",
    "names": "a_",
    "steps": "step ",
    "epochs": "epoch 1/",
    "bars": "9%|",
    "loads": "loading ",
    "saves": "Saving model checkpoint to ",
    "pairs": "a:1 ",
    "marks": "paddlejob: a=1 ",
    "both": "step epoch 1/",
    "files": ".json: 9%|b/s|",
    "escapes": "\x1b[",
    "padded": "step         ",
    "chinese": "迭代 ",
    "chinese epochs": "第1轮",
    "quoted": r"\n  File ",
    "grows in lower case": "İ",
}


@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_gives_the_patterns_no_more_than_was_read(monkeypatch, piece):
    """Words that grow as they are translated, and lines that quote many."""
    given: list[int] = []
    form_of = forms.form_of

    def count(line: str) -> forms.Form:
        given.append(len(line))
        return form_of(line)

    monkeypatch.setattr(progress, "form_of", count)
    pieces = [f"{piece}{ascii_letters[i % 52]}{ascii_letters[i // 52 % 52]}" for i in range(2000)]
    texts = ["".join(pieces[50 * i :])[:MAX_LINE_CHARACTERS] for i in range(MAX_LINES)]
    read_progress([Line(START, text) for text in texts])
    assert len(given) <= MAX_LINES
    words = len(given) * step_patterns.MAX_WORDS * len(" epoch ")
    assert sum(given) <= MAX_CHARACTERS + words


def test_no_expression_has_a_repeat_without_a_bound():
    """So the work for a line grows with its length, not with its square."""
    values = [value for each in vars(step_patterns).values() for value in all_of(each)]
    expressions = [getattr(value, "expression", value) for value in values]
    patterns = [each.pattern for each in expressions if isinstance(each, re.Pattern)]
    assert len(patterns) > len(STEP_PATTERNS)
    for pattern in patterns:
        assert _parser.parse(pattern).getwidth()[1] < 2000, pattern


def all_of(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [*value.values()]
    return [*value] if isinstance(value, tuple) and not hasattr(value, "search") else [value]


@pytest.mark.parametrize(
    ("text", "step", "loss"),
    [
        (f"step 7/9 {'a=1, ' * 800}loss=0.25", 7, "0.25"),
        (f"step 7/9 {'a=1, ' * 2000}loss=0.25", 7, "0.25"),
        (f"{'a=1, ' * 408}step 1234567 {'a=1, ' * 2000}loss=0.25", None, "0.25"),
        (f"{'a=1, ' * 1000}tokens_of_a_step: 7{' ' * 2030}loss=0.25", None, "0.25"),
        ('{"step":7,' + '"a":1,' * 2000 + '"loss":0.25}', 7, "0.25"),
    ],
    ids=["4 KiB", "both ends", "a cut number", "a cut name", "without spaces"],
)
def test_a_long_line_is_read_at_both_ends(text, step, loss):
    (line,) = read_lines(f"2026-01-02T03:04:05Z {text}\n".encode())
    assert len(line.text) <= MAX_LINE_CHARACTERS
    progress = read_progress([line])
    assert (progress.step, dict(progress.metrics).get("loss")) == (step, loss)


@pytest.mark.parametrize("year", ["0001", "9999"])
def test_times_at_the_end_of_the_calendar_are_no_times(year):
    """Nothing can be added to them or taken away."""
    assert read_lines(f"{year}-01-01T00:00:00Z step 1\n".encode()) == []
