"""Whatever others wrote is text on a terminal; columns hold for Chinese, too."""

import os
from dataclasses import replace
from datetime import timedelta

import pytest

from api.status import Failure
from pdj.facts.facts import Facts
from pdj.facts.picture import JobPicture
from pdj.facts.training import Training
from pdj.gather.facts import gather
from pdj.gather.progress import _of_status
from pdj.judge.judge import judge
from pdj.session import Screen
from pdj.text.status import describe_failure, draw_job
from pdj.text.tables import age, bar, duration, table
from pdj.text.terminal import log_line, pad, plain, shorten, width
from tests.memory.builders import NOW, a_job, at, stamp
from tests.unit.pdj.cluster import Cluster


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("a\r\nb", "a\\x0d\\x0ab"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\u2066x\u2069", "\\u2066x\\u2069"),
        ("\x9b2J", "\\x9b2J"),
        ("\ud800", "\\ud800"),
        ("tab\tstays", "tab\tstays"),
        ("训练 done é", "训练 done é"),
    ],
)
def test_no_character_that_a_terminal_obeys_is_left(text, shown):
    assert plain(text) == shown


@pytest.mark.parametrize(
    ("text", "colourless", "coloured"),
    [
        ("\x1b[32m[INFO]\x1b[0m ok", "[INFO] ok", "\x1b[32m[INFO]\x1b[0m ok\x1b[0m"),
        ("\x1b[1;38;5;9mx", "x", "\x1b[1;38;5;9mx\x1b[0m"),
        ("\r 1%|x |\r99%|xx|\r", "99%|xx|", "99%|xx|"),
        ("\x1b[8mhidden\x1b[2J", "\\x1b[8mhidden\\x1b[2J", "\\x1b[8mhidden\\x1b[2J"),
        ("\x1b[Aupper: 100%", "upper: 100%", "upper: 100%"),
    ],
)
def test_log_line_has_its_colours_on_a_terminal_alone_and_of_a_bar_the_last_state(
    text, colourless, coloured
):
    assert (log_line(text), log_line(text, has_colour=True)) == (colourless, coloured)


def test_chinese_takes_two_columns():
    assert width("训练") == 4
    assert pad("训练", 6) == "训练  "
    assert shorten("训练作业", 5) == "训练…"


def test_a_line_with_tabs_takes_one_line_of_the_terminal():
    """Or `status --watch` would leave a piece of it behind each time it draws again."""
    assert shorten("a\tb" * 30, 80).expandtabs() == shorten("a b" * 30, 80)


def test_tables_are_aligned():
    assert table([("A", "B"), ("训练", "x")]) == ["A      B", "训练   x"]


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(-3, "0s"), (0, "0s"), (59, "59s"), (61, "1m1s"), (3600, "1h"), (90000, "1d1h"), (4e6, "46d")],
)
def test_ages_are_those_of_kubectl(seconds, shown):
    assert duration(seconds) == shown
    assert age(NOW - timedelta(seconds=seconds), NOW) == shown


def test_a_bar_is_full_only_when_all_is_done():
    assert bar(0, 4, 4) == "░░░░"
    assert bar(3, 4, 4) == "███░"
    assert bar(99, 100, 4) == "███░"
    assert bar(4, 4, 4) == "████"


def test_colours_are_for_terminals_alone():
    assert Screen(has_colour=False).paint("x", "red") == "x"
    assert Screen(has_colour=True).paint("x", "red", "bold") == "\033[31;1mx\033[0m"


def test_a_dumb_terminal_is_as_a_pipe(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    far, near = os.openpty()
    with os.fdopen(near, "w") as out:
        for term, shown in (("dumb", False), ("xterm", True)):
            monkeypatch.setenv("TERM", term)
            screen = Screen(out)
            assert (screen.is_terminal, screen.has_colour) == (shown, shown)
    os.close(far)


def test_a_terminal_that_says_no_size_has_the_usual_one(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    far, near = os.openpty()  # 0 lines of 0 columns
    with os.fdopen(near, "w") as out:
        screen = Screen(out)
        assert (screen.columns(), screen.height()) == (80, 23)
        screen.redraw(["one", "two"])
    assert os.read(far, 100) == b"one\r\ntwo\r\n"
    os.close(far)


STEP = {"attempt": 1, "step": 1, "lastOutputTime": stamp(20)}
SILENT = STEP | {"lastOutputTime": stamp(-300)}
PAUSE = SILENT | {"quietUntil": stamp(200)}


@pytest.mark.parametrize(
    ("known", "says"),
    [
        ({"phase": "Pending"}, "  Pending  Single  age 1m40s  waits for 1m40s"),
        ({"phase": "Starting"}, "  Starting  Single  age 1m40s  waits for 1m40s"),
        ({"lostSeconds": 10}, "  Running  Single  age 1m40s  runs for 1m40s"),
        ({"progress": {"attempt": 1}}, "runs for 1m40s"),
        ({"lostSeconds": 10, "progress": STEP}, "for 1m40s, 90% of it training"),
        ({"lostSince": stamp(40), "progress": STEP}, "for 1m40s, 40% of it training"),
        ({"startTime": stamp(-500), "progress": SILENT}, "for 10m, 33% of it training"),
        ({"startTime": stamp(-500), "progress": PAUSE}, "for 10m, 100% of it training"),
    ],
    ids=[
        "it waits",
        "it starts",
        "nothing is known of its time",
        "it has no step",
        "it has lost time",
        "it does",
        "it is silent",
        "it has announced a pause",
    ],
)
def test_how_long_a_job_waits_or_runs_and_trains(known, says):
    status = {"phase": "Running", "startTime": stamp(), **known}
    job = a_job().with_workers(1).with_status(**status).build()
    head = draw_job(Facts(JobPicture(job)), Screen(has_colour=False).paint, at(100), 100)[0]
    assert head.startswith("default/train  ")
    assert head.endswith(says)


@pytest.mark.parametrize("time", ["2026-01-02T03:04:05", "2026-02-30T00:00:00Z", "noon"])
def test_odd_times_in_a_status_end_no_command(time):
    """Whoever may write statuses may write them; the API server takes some of them."""
    progress = {"attempt": 1, "step": 1, "lastOutputTime": time, "lastStepTime": time}
    job = a_job().with_workers(1).with_status(
        phase="Running", attempt=1, startTime=time, lostSince=time, progress=progress,
    ).with_condition("Running", True)  # fmt: skip
    raw = job.build()
    raw["status"]["conditions"][0]["lastTransitionTime"] = time
    picture = JobPicture(raw)
    training = Training(NOW, _of_status(picture.job.status.progress))
    assert draw_job(Facts(picture, training), Screen().paint, NOW, 80)


def test_pods_that_cannot_be_seen_are_counted_by_the_operator():
    job = a_job().with_workers(4).with_status(worker={"running": 2, "succeeded": 1}).build()
    picture = JobPicture(job, pods_problem="you may not")
    lines = draw_job(Facts(picture), Screen(has_colour=False).paint, at(0), 100)
    assert any(line.endswith("2/4 running, 1 done") for line in lines)


def test_a_warning_that_came_again_is_told_once():
    job = a_job().with_workers(1).build()
    messages = ["first", *"12345", "5", "2"]
    events = [
        {
            "metadata": {},
            "type": "Warning",
            "involvedObject": job["metadata"],
            "reason": "Odd",
            "message": each,
        }
        for each in messages
    ]
    told = judge(gather(Cluster(events=events), JobPicture(job))).warnings
    assert list(told) == [f"train: Odd: {each}" for each in "13452"]


@pytest.mark.parametrize(
    ("ended", "how"),
    [({"exit_code": 1}, "exit code 1"), ({"exit_code": 247, "signal": 9}, "SIGKILL"), ({}, "")],
)
def test_a_failure_is_told_by_the_line_that_says_why(ended, how):
    message = "ValueError: bad batch\nepoch 1\nepoch 2"
    failure = Failure(2, "a-worker-0", "worker", 0, "n1", None, None, "PodFailed", message, "09:20")
    line = describe_failure(replace(failure, **ended))
    told = f"a-worker-0 on n1, {how}" if how else "a-worker-0 on n1"
    assert line == f"PodFailed, {told} at 09:20: ValueError: bad batch"
