"""A job's training as a user sees it: what the log says, how old it is, and nothing beyond."""

import argparse
import re
import threading
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from api.catalogue.reasons import REASONS
from api.constants import Reason
from api.objects import Raw
from api.training import Point, SavedCheckpoint, TrainingProgress
from kube.clock import Clock
from kube.errors import Forbidden, NotFound, Transient
from kube.logs import MAX_TAIL_BYTES
from pdj.commands import list as list_command
from pdj.facts.facts import Facts
from pdj.facts.picture import JobPicture
from pdj.facts.training import Training
from pdj.gather.progress import TrainingReader, _with_seen, read_training
from pdj.judge.judge import judge
from pdj.session import Screen, Session
from pdj.text.explain import draw_story
from pdj.text.progress import describe_training, wrap
from pdj.text.status import draw_job
from pdj.ui.detail import describe_job
from tests.memory.builders import NOW, a_job, at, stamp
from tests.unit.pdj.cluster import Cluster

CLOCK_SECONDS = 100.0


class Still(Clock):
    def now(self) -> datetime:
        return at(CLOCK_SECONDS)

    def monotonic(self) -> float:
        return CLOCK_SECONDS


class Logs(Cluster):
    """A cluster with these logs by pod; what is an error is raised."""

    def __init__(self, **by_pod: bytes | Exception) -> None:
        super().__init__(logs={name.replace("_", "-"): log for name, log in by_pod.items()})
        self._lock = threading.Lock()
        self.asked: list[tuple[str, Raw]] = []

    def read_log(self, path: str, query: Raw, _seconds: float) -> bytes:
        """The log as a kubelet sends it: its last lines, up to the limit."""
        pod = path.split("/")[-2].removeprefix("train-")
        with self._lock:
            self.asked.append((pod, query))
        lines = self._found(self.logs, pod).split(b"\n")[:-1][-query["tailLines"] :]
        return b"".join(line + b"\n" for line in lines)[: query["limitBytes"]]


def log(*lines: tuple[float, str | bytes]) -> bytes:
    """A log with times, in seconds after the beginning."""
    return b"".join(
        f"{at(seconds):%Y-%m-%dT%H:%M:%S.%f}000Z ".encode()
        + (text if isinstance(text, bytes) else text.encode())
        + b"\n"
        for seconds, text in lines
    )


def a_picture(phase: str = "Running", workers: int = 3, **template: Any) -> JobPicture:
    """A job of workers whose pods all run."""
    job = a_job().with_workers(workers, template or None).with_status(phase=phase)
    return JobPicture(job.with_condition("Running", True, reason=Reason.ALL_PODS_RUNNING).build())


def read(logs: Logs, picture: JobPicture | None = None) -> Any:
    """The training of a job with these logs."""
    return read_training(logs, (picture or a_picture()).job, Still())


def shown(logs: Logs) -> str:
    """What `status` says of it."""
    return "  ".join(describe_training(read(logs)))


TRAINS = log(
    *((50 + i, f"step {1200 + i}/40000 loss: {2.4 - i / 100:.2f} 268 samples/s") for i in range(40))
)


def test_status_shows_what_the_log_says():
    logs = Logs(worker_0=TRAINS + log((97, "paddlejob: step=1240 total=40000 checkpoint=1000")))
    assert shown(logs) == "step 1,240/40,000 (3 %)  checkpoint 1,000 (3s ago)  last output 3s ago"
    assert shown(Logs(worker_0=TRAINS)) == (
        "step 1,239/40,000 (3 %)  loss 2.01  268 samples/s  done in 10h  last output 11s ago"
    )
    lines = draw_job(Facts(a_picture(), read(logs)), Screen(has_colour=False).paint, NOW, 50)
    assert lines[1:4] == [
        "│  AllPodsRunning for 0s",
        "│  step 1,240/40,000 (3 %)",
        "│  checkpoint 1,000 (3s ago)  last output 3s ago",
    ]


def test_a_read_is_one_bounded_request_to_the_trainers_container():
    logs = Logs(worker_0=TRAINS)
    containers = [{"name": "proxy"}, {"name": "paddle"}]
    read(logs, a_picture(spec={"containers": containers}))
    ((pod, query),) = logs.asked
    assert (pod, query["container"]) == ("worker-0", "paddle")
    assert (query["tailLines"], query["limitBytes"]) == (40, 64 << 10)


@pytest.mark.parametrize("phase", ["Pending", "Restarting", "Suspended", "Completed", "Failed"])
def test_a_job_that_does_not_run_is_not_asked(phase):
    logs = Logs(worker_0=TRAINS)
    assert read(logs, a_picture(phase)) is None
    assert logs.asked == []


def test_without_the_right_to_logs_the_operators_reading_is_shown():
    def read_status(seconds: float) -> Any:
        known = TrainingProgress(
            attempt=1,
            step=7,
            total_steps=9,
            epoch="1/3",
            checkpoint=SavedCheckpoint(5, "", stamp(40)),
            last_output_time=stamp(seconds),
            quiet_until="2026-01-02T04:00:00Z",
        )
        job = a_picture().job
        job = replace(job, status=replace(job.status, attempt=1, progress=known))
        return read_training(Logs(worker_0=Forbidden("no right")), job, Still())

    assert "  ".join(describe_training(read_status(90))) == (
        "epoch 1/3  step 7/9 (77 %)  checkpoint 5 (1m ago)  "
        "a pause until 04:00:00Z was announced  last output 10s ago"
    )
    assert not read_status(-3600).is_suspicious, "the status may be old"


FORBIDDEN = 'pods "train-worker-0" is forbidden: User "u" cannot get resource "pods/log"'
FORMING = "LAUNCH INFO 2026-01-02 03:04:05,678 Waiting peer ready..."
BAR = b"".join(b"\r %d%%|x| %d/9000 [0:1]" % (i // 90, i) for i in range(9000))
ODD: dict[str, tuple[bytes | Exception, str]] = {
    "no-right": (Forbidden(FORBIDDEN), f"progress unknown: {FORBIDDEN}"),
    "no-log": (NotFound("no such\npod"), "progress unknown: no such\\x0apod"),
    "node-away": (Transient("no answer"), "progress unknown: no answer"),
    "rotated-away": (b"", "no output yet"),
    "kubelets-own-words": (b"failed to watch file\n", "no output yet"),
    "epochs-alone": (
        log((99, "Epoch 3/10, Loss: 0.3")),
        "epoch 3/10  loss 0.3  last output 1s ago",
    ),
    "no-step": (log((99, "loading data")), "no step in the last lines  last output 1s ago"),
    "silent": (log((-900, "step 7/9")), "step 7/9 (77 %)  this step for 16m  last output 16m ago"),
    "one-step-for-ever": (
        log(*((i, "step 7/9") for i in range(98))),
        "step 7/9 (77 %)  last output 3s ago",
    ),
    "clock-ahead": (
        log((3700, "paddlejob: step=7 checkpoint=5")),
        "step 7  checkpoint 5  last output 1h in the future: the node's clock is ahead",
    ),
    "bar-in-a-kubelets-entry": (
        log((98, BAR[-16_000:])),
        "step 8,999/9,000 (99 %)  last output 2s ago",
    ),
    "long-lines": (
        log(*((i, "x" * 5000 + f" step {i}/99") for i in range(98))),
        "step 97/99 (97 %)  last output 3s ago",
    ),
    "bar-of-one-long-line": (
        log((98, BAR)),
        "progress unknown: the last line is longer than 64 KiB",
    ),
    "no-number": (
        log((99, "step 3/9 loss: nan acc: 1e400 \x1b[31m")),
        "step 3/9 (33 %)  loss nan  last output 1s ago",
    ),
    "forms-again-and-again": (
        log(*((i, FORMING) for i in range(98))),
        "no step in the last lines  last output 3s ago  "
        "the launchers form their group again and again, and nothing is trained",
    ),
    "pause": (
        log((40, "paddlejob: step=7 quiet=600")),
        "step 7  a pause until 03:14:45Z was announced  last output 1m ago",
    ),
}


@pytest.mark.parametrize(("text", "words"), ODD.values(), ids=ODD)
def test_an_odd_log_has_a_clear_word(text, words):
    assert shown(Logs(worker_0=text)) == words


def silent_since(**seconds: float) -> Logs:
    """Workers of which each wrote a line every ten seconds, the last one then."""
    return Logs(
        **{
            pod: log(*((last - 10 * i, f"step {900 - i}") for i in reversed(range(40))))
            for pod, last in seconds.items()
        }
    )


FIRST = "worker-1 fell silent first, at 03:03:32Z; the others wrote until 03:04:05Z"


@pytest.mark.parametrize(
    ("seconds", "first"),
    [
        ({"worker_0": 0, "worker_1": -33, "worker_2": -1}, FIRST),
        ({"worker_0": 99, "worker_1": 0, "worker_2": 99}, ""),  # the first worker still writes
        ({"worker_0": 0, "worker_1": -2, "worker_2": -0.1}, ""),  # all at once, as launchers copy
        ({"worker_0": 0, "worker_1": -7000, "worker_2": -7000}, ""),  # these never write
        ({"worker_0": 0}, ""),  # the others have no log
    ],
)
def test_who_was_silent_first_is_named_if_there_are_grounds(seconds, first):
    training = read(silent_since(**seconds))
    assert training.first_silent == (("worker-1", at(-33), at(0)) if first else None)
    assert ("fell silent first" in describe_training(training)[-1]) == bool(first)
    assert describe_training(training)[-1].endswith(first)


@pytest.mark.parametrize(
    ("language", "cause", "line"),
    [
        ("en", "Why: AllPodsRunning (since 0s): Every pod runs.", "  progress unknown: no answer"),
        ("zh", "原因：AllPodsRunning（已持续 0s）：所有 Pod 都在运行。", "  进度未知：no answer"),
    ],
)
def test_explain_claims_no_more_than_is_known(language, cause, line):
    client = Logs(worker_0=Transient("no answer"))
    lines = draw_story(
        judge(Facts(a_picture(), read(client))), language,
        Screen(has_colour=False).paint, NOW,
    )  # fmt: skip
    assert cause in lines
    assert line in lines


@pytest.mark.parametrize(
    ("lines", "doubt"),
    [
        ([(-600, "paddlejob: step=7 quiet=0")], "may hang"),
        ([(-600, "paddlejob: step=7 quiet=1200")], ""),
        ([(90 + i, FORMING) for i in range(3)], "again and again"),
    ],
    ids=["a long silence that nobody announced", "one that was announced", "a gang forms anew"],
)
def test_what_may_be_no_training_is_a_doubt(lines, doubt):
    logs = Logs(worker_0=log(*lines))
    (finding,) = judge(Facts(a_picture(), read(logs))).findings
    assert doubt in finding.meaning.cause[0]
    assert (finding.meaning == REASONS[Reason.ALL_PODS_RUNNING]) == (not doubt)


def test_a_reader_rests_and_keeps_the_last_checkpoint():
    clock = Still()
    logs = Logs(worker_0=log((98, "paddlejob: step=7 checkpoint=5")))
    reader, job = TrainingReader(logs, clock), a_picture().job
    first = reader.read(job)
    assert reader.read(job) is first
    assert len(logs.asked) == 1
    logs.logs["worker-0"] = log((99, "paddlejob: step=8"))
    clock.monotonic = lambda: CLOCK_SECONDS + 6  # type: ignore[method-assign]
    second = reader.read(job)
    assert second
    assert second.progress.step == 8
    assert second.progress.checkpoint
    assert second.progress.checkpoint.step == 5


def run_list(logs: Logs, *words: str) -> None:
    """Run `list` with these options on a cluster of these jobs and logs."""
    parser = argparse.ArgumentParser()
    list_command.configure(parser)
    session = Session(parser.parse_args(words), clock=Still())
    session.options.namespace = "default"
    session.__dict__["client"] = logs
    assert list_command.run(session) == 0


def test_list_reads_a_line_for_each_running_job_only_if_asked(capsys):
    jobs = [a_picture(phase).raw for phase in ("Running", "Completed", "Running")]
    for job, name in zip(jobs, ("train", "ended", "other"), strict=True):
        job["metadata"]["name"] = name
    odd = {"metadata": {"name": "odd"}, "spec": {"worker": 7}, "status": {"phase": "Running"}}
    logs = Logs(worker_0=TRAINS, other_worker_0=Forbidden(FORBIDDEN))
    logs.lists["paddlejobs"] = [*jobs, odd]
    for words, requests in (([], 0), (["--progress"], 2)):
        run_list(logs, *words)
        assert len(logs.asked) == requests
    out, notes = capsys.readouterr()
    table = [re.split(" {3,}", line) for line in out.splitlines()[5:]]
    assert [row[7:9] for row in table] == [
        ["STEP", "LAST OUTPUT"],
        ["-", "-"],
        ["-", "-"],
        ["<unknown>", "-"],
        ["1,239/40,000 (3 %)", "11s ago"],
    ]
    assert notes == f"progress unknown: {FORBIDDEN}\n"


def test_list_shows_queues_if_asked(capsys):
    jobs = [a_picture("Running").raw, a_picture("Pending").raw]
    jobs[1]["metadata"].update(name="queued", labels={"kueue.x-k8s.io/queue-name": "team"})
    logs = Logs()
    logs.lists["paddlejobs"] = jobs
    run_list(logs, "--queue")
    table = [re.split(" {3,}", line) for line in capsys.readouterr().out.splitlines()]
    assert {row[0]: row[7] for row in table} == {"NAME": "QUEUE", "train": "-", "queued": "team"}


@pytest.mark.parametrize(("loss", "drawn"), [("0.5", "loss 0.7 █▁ 0.5"), ("nan", ""), ("inf", "")])
def test_the_curve_since_the_page_was_opened_has_only_losses_that_are_numbers(loss, drawn):
    training = None
    for step, each in ((2, "0.7"), (3, loss)):
        logs = Logs(worker_0=log((90 + 3 * step, f"step {step}/9 loss: {each}")))
        training = _with_seen(read(logs), training)
    message = describe_job(Facts(a_picture(), training), "en")["training"]
    assert message["parts"] == ["step 3/9 (33 %)", f"loss {loss}", "last output 1s ago"]
    assert message["percent"] == 33
    curve = message["curve"]
    assert (curve[2][2] if curve else "") == drawn


def test_a_nodes_clock_that_is_behind_takes_no_point_of_the_status_away():
    early = Training(NOW, points=(Point(1, NOW + timedelta(hours=1), 0.9),))
    training = _with_seen(read(Logs(worker_0=log((99, "step 3/9 loss: 0.5")))), early)
    assert training.points == early.points


def test_parts_are_wrapped_whole():
    assert wrap(["aaa", "bb", "训练"], 7) == ["aaa  bb", "训练"]


def test_an_answer_at_its_limit_is_asked_for_again_from_its_end():
    logs = Logs(worker_0=log(*((i, "x" * 5000) for i in range(90)), (90, "step 3/9")))
    training = read(logs)
    assert (training.progress.step, training.progress.last_output_time) == (3, at(90))
    assert [query["tailLines"] for _, query in logs.asked] == [40, 1]
    assert all(query["limitBytes"] == MAX_TAIL_BYTES for _, query in logs.asked)
    assert training.read_at - at(90) == timedelta(seconds=10)
