"""`logs`: what is said where there is nothing to print, or not yet."""

from argparse import ArgumentParser
from functools import partial

import pytest

from api.constants import Role
from pdj.act import follow
from pdj.commands import logs
from pdj.errors import Problem, TimedOut
from pdj.facts.picture import JobPicture
from pdj.gather.joblog import JobLog
from pdj.gather.merge import LogLine, Source
from pdj.session import Session
from reconcile.objects.kept_log import pack_log
from tests.memory.builders import a_job, a_pod, stamp
from tests.unit.pdj.cluster import Cluster, Watched


def session(*words: str) -> Session:
    """A session of `logs` with these arguments."""
    parser = ArgumentParser()
    logs.configure(parser)
    options = parser.parse_args(["train", *words])
    options.namespace = "team"
    made = Session(options)
    made.__dict__["client"] = Cluster()
    return made


def show(monkeypatch: pytest.MonkeyPatch, *words: str, with_pods: bool = True) -> int:
    """Run `logs` of a job of two workers in its second attempt, which have not started."""
    job = a_job().with_workers(2).with_status(phase="Completed", attempt=2).build()
    pods = tuple(a_pod(job, Role.WORKER, index, attempt=2).build() for index in (0, 1))
    picture = JobPicture(job, pods if with_pods else ())
    monkeypatch.setattr(follow, "look", lambda *_: picture)
    monkeypatch.setattr("pdj.gather.joblog.has_started", lambda *_: False)
    return logs.run(session(*words))


@pytest.mark.parametrize(
    "words",
    [("--role", "ps"), ("--index", "7"), ("--attempt", "3"), ("-c", "sidecar")],
    ids=" ".join,
)
def test_a_pod_that_the_job_never_had_is_no_log_that_is_gone(monkeypatch, words):
    with pytest.raises(Problem, match=r"the pods are of attempt 2: worker-0, worker-1$"):
        show(monkeypatch, *words)


@pytest.mark.parametrize("words", [(), ("--attempt", "1"), ("--role", "worker")], ids=str)
def test_a_log_that_is_gone_is_told(monkeypatch, capsys, words):
    assert show(monkeypatch, *words) == 0
    assert "are gone" in capsys.readouterr().err
    assert show(monkeypatch, "--index", "7", with_pods=False) == 0
    assert "are gone" in capsys.readouterr().err


def test_pods_that_never_started_left_no_log(monkeypatch, capsys):
    job = a_job().with_workers(1).with_status(phase="Failed", attempt=1, startTime=stamp())
    job.with_condition("Running", False).with_condition("Failed", True, 60, "ImageError")
    monkeypatch.setattr(follow, "look", lambda *_: JobPicture(job.build()))
    assert logs.run(session()) == 0
    assert capsys.readouterr().err == "no pod of the job has ever started\n"


@pytest.mark.parametrize(
    ("pod", "shown"), [("train-worker-0", "first\nlast\n"), ("train-worker-1", "recorded\n")]
)
def test_what_was_kept_of_an_ended_attempt_is_shown(monkeypatch, capsys, pod, shown):
    failure = {"attempt": 1, "pod": "train-worker-0", "message": "recorded", "exitCode": 3}
    job = a_job().with_workers(1).with_status(phase="Running", attempt=2, failures=[failure])
    monkeypatch.setattr(follow, "look", lambda *_: JobPicture(job.build()))
    made = session("--attempt", "1")
    kept = {"binaryData": {pod: pack_log(b"\x1b[32mfirst\x1b[0m\nlast\n")}}
    made.__dict__["client"] = cluster = Cluster()
    home = job.build()["metadata"]["namespace"]
    cluster.objects[f"/api/v1/namespaces/{home}/configmaps/train.log-1"] = kept
    assert logs.run(made) == 0
    assert capsys.readouterr().out == shown


@pytest.mark.parametrize("is_replaced", [False, True], ids=["deleted", "replaced"])
def test_following_does_not_wait_for_a_job_that_is_gone(monkeypatch, capsys, is_replaced):
    job = a_job().with_workers(1).build()
    another = {**job, "metadata": {**job["metadata"], "uid": "another"}}
    later, pictures = JobPicture(another) if is_replaced else None, iter([JobPicture(job)])
    monkeypatch.setattr(follow, "LiveJob", partial(Watched, lambda: next(pictures, later)))
    with pytest.raises(Problem, match="has been deleted"):
        logs.run(session("-f", "--timeout", "5"))
    assert capsys.readouterr().err == ""


def test_the_log_of_a_pod_that_was_not_seen_to_start_is_read_at_the_end(monkeypatch):
    job = a_job().with_workers(1).with_status(phase="Completed", attempt=1).build()
    behind = JobPicture(job, (a_pod(job, Role.WORKER, 0).build(),))
    monkeypatch.setattr(follow, "LiveJob", partial(Watched, lambda: behind))
    read = list[str]()
    monkeypatch.setattr(JobLog, "_start", lambda _, source: read.append(source.pod))
    made = session("-f")
    made.__dict__["client"] = Cluster(pods=[a_pod(job, Role.WORKER, 0).ended(0).build()])
    assert logs.run(made) == 0
    assert read == ["train-worker-0"]


def test_following_what_is_gone_says_so(monkeypatch, capsys):
    job = a_job().with_workers(1).with_status(phase="Completed", attempt=1).build()
    monkeypatch.setattr(follow, "LiveJob", partial(Watched, lambda: JobPicture(job)))
    assert logs.run(session("-f")) == 0
    assert "the pods with the logs are gone" in capsys.readouterr().err


def test_following_says_that_it_waits_for_the_job(monkeypatch, capsys):
    monkeypatch.setattr(follow, "LiveJob", partial(Watched, lambda: None))
    with pytest.raises(TimedOut, match=r"^train: timed out after 0\.3 s$"):
        logs.run(session("-f", "--timeout", "0.3"))
    said = capsys.readouterr()
    assert said.err == "--- there is no job train in namespace team yet: waiting for it\n"
    assert said.out == ""


def test_a_log_that_never_pauses_is_followed_until_the_timeout(monkeypatch, capsys):
    line = LogLine(0, "", Source("train-worker-0", "uid", "worker", 0, 1, "main"), b"on and on")
    monkeypatch.setattr(follow, "LiveJob", partial(Watched, lambda: None))
    monkeypatch.setattr(JobLog, "take", lambda *_: [line])
    with pytest.raises(TimedOut):
        logs.run(session("-f", "--timeout", "0.1"))
    assert "on and on" in capsys.readouterr().out
