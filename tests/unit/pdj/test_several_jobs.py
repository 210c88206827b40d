"""Commands for several jobs: one that fails keeps none of the others from its turn."""

from argparse import Namespace
from functools import partial
from threading import Event
from typing import Any

import pytest

from kube.clock import Clock
from kube.errors import ApiError, Forbidden, Invalid, Unauthorized, error_from_status
from pdj.act import follow
from pdj.act import submit as submitting
from pdj.commands import delete, restart, resume, submit, suspend
from pdj.commands.wait import await_end
from pdj.errors import TIMED_OUT, Problem
from pdj.facts.picture import JobPicture
from pdj.gather import joblog, live
from pdj.gather.jobs import NoOperator, get_job
from pdj.session import Session
from tests.memory.builders import a_job, a_pod
from tests.unit.pdj.cluster import JOBS, SERVED, Cluster, Watched, placed


def cluster_of(*names: str, **refusals: ApiError) -> Cluster:
    """An API server with these jobs, which refuses others."""
    made = Cluster()
    made.objects |= {f"{JOBS}/{name}": placed(name, uid=f"uid-{name}") for name in names}
    made.objects |= {f"{JOBS}/{name}": error for name, error in refusals.items()}
    return made


def session(cluster: Cluster, **options: Any) -> Session:
    """A command's, with this cluster for the real one."""
    usual: dict[str, Any] = {
        "namespace": "default",
        "wait": False,
        "timeout": None,
        "replace": False,
    }
    usual |= {"dry_run": "none", "output": None, "set": [], "requirements": None}
    usual |= {"code": None, "include": [], "index_url": ""}
    made = Session(Namespace(**usual | options))
    made.__dict__["client"] = cluster
    return made


@pytest.mark.parametrize("command", [delete, restart, resume, suspend])
def test_the_jobs_after_a_missing_one_get_their_turn(command, capsys):
    cluster = cluster_of("first", "last")
    options: dict[str, Any] = {"ignore_not_found": False, "orphans": False, "submit_again": False}
    assert command.run(session(cluster, jobs=["first", "none", "last"], **options)) == 1
    assert cluster.changed == ["first", "last"]
    assert capsys.readouterr().err == "error: there is no job none in namespace default\n"


def test_every_refusal_is_told(capsys):
    cluster = cluster_of("b", a=Forbidden("no a"), c=Forbidden("no\x1b c"))
    assert suspend.run(session(cluster, jobs=["a", "b", "c"])) == 1
    assert cluster.changed == ["b"]
    said = ["error: not allowed: no a", "error: not allowed: no\\x1b c"]
    assert capsys.readouterr().err.splitlines() == said


@pytest.mark.parametrize("command", [delete, restart, resume, suspend])
def test_a_login_that_fails_is_tried_once(command, monkeypatch):
    tried = []

    def login(*_: object) -> Any:
        tried.append(1)
        raise Problem("the login plugin has failed")

    monkeypatch.setattr("pdj.access.login.load_target", login)
    options: dict[str, Any] = {"ignore_not_found": False, "orphans": False, "submit_again": False}
    options |= dict.fromkeys(("kubeconfig", "context"))
    made = session(Cluster(), jobs=["a", "b"], **options)
    del made.__dict__["client"]
    with pytest.raises(Problem):
        command.run(made)
    assert tried == [1]


def test_what_fails_for_all_is_told_once():
    with pytest.raises(Unauthorized):
        suspend.run(session(cluster_of(a=Unauthorized("expired")), jobs=["a", "b"]))
    bare = Cluster()
    bare.objects["/apis"] = SERVED["/apis"] | {"groups": []}
    with pytest.raises(Exception, match="does not know PaddleJobs"):
        suspend.run(session(bare, jobs=["a", "b"]))


def test_an_api_that_is_only_about_to_be_served_is_told():
    cluster = cluster_of(new=error_from_status(404, {}, None))
    with pytest.raises(
        NoOperator, match=r"^HTTP 404, no Status: the API server has just begun to serve"
    ):
        submit.create_jobs(session(cluster), [{"metadata": {"name": "new"}}])
    with pytest.raises(NoOperator, match="has just begun to serve"):
        get_job(cluster, "default", "new")


def test_a_refusal_where_nothing_serves_the_kind_is_not_about_rights():
    cluster = cluster_of(mine=Forbidden("no right"))
    with pytest.raises(Forbidden, match="no right"):
        get_job(cluster, "default", "mine")
    cluster.objects["/apis"] = Forbidden("no discovery")
    with pytest.raises(Forbidden, match="no right"):
        get_job(cluster, "default", "mine")
    cluster.objects["/apis"] = SERVED["/apis"] | {"groups": []}
    with pytest.raises(NoOperator):
        get_job(cluster, "default", "mine")


def test_the_jobs_after_one_that_exists_are_submitted(capsys):
    cluster = cluster_of("old")
    jobs = [{"metadata": {"name": name}, "spec": {}} for name in ("new", "old", "newer")]
    assert submit.create_jobs(session(cluster), jobs) == 1
    assert cluster.changed == ["new", "newer"]
    told = capsys.readouterr()
    assert told.out.splitlines() == ["default/new created", "default/newer created"]
    assert told.err == (
        "error: there is a job old in namespace default already: --replace deletes it and creates "
        "this one\n"
    )


def test_submit_replaces_a_job_of_the_same_name_if_asked_to(monkeypatch, capsys):
    monkeypatch.setattr(submitting, "wait_until_gone", lambda *_: None)
    cluster = cluster_of("old")
    job = {"metadata": {"name": "old"}, "spec": {"suspend": True}}
    assert submit.create_jobs(session(cluster, replace=True), [job]) == 0
    assert cluster.changed == ["old", "old"]  # deleted and created
    assert capsys.readouterr().out == "default/old replaced\n"


def test_job_of_that_name_in_another_namespace_is_named():
    cluster = Cluster(paddlejobs=[{"metadata": {"namespace": "other"}}])
    with pytest.raises(Problem, match="no job moons in namespace default; there is one in other"):
        get_job(cluster, "default", "moons")


@pytest.mark.parametrize(
    ("refusal", "told"),
    [
        ('unknown field "spec.workers"', 'error: bad: unknown field "spec.workers"\n'),
        ('PaddleJob "bad" is invalid', 'error: PaddleJob "bad" is invalid\n'),
    ],
)
def test_a_refusal_names_the_job_of_several(refusal, told, capsys):
    cluster = cluster_of(bad=Invalid(refusal))
    jobs = [{"metadata": {"name": name}, "spec": {}} for name in ("bad", "good")]
    assert submit.create_jobs(session(cluster), jobs) == 1
    assert cluster.changed == ["good"]
    assert capsys.readouterr().err == told


def test_waiting_tells_why_a_job_has_failed(monkeypatch, capsys):
    failed = {"type": "Failed", "status": "True", "reason": "PodFailed", "message": "oh\x1b\nno"}
    status = {"phase": "Failed", "conditions": [failed | {"type": "Pending"}, failed]}
    picture = JobPicture({"metadata": {"name": "bad"}, "status": status})

    monkeypatch.setattr(live, "LiveJob", partial(Watched, lambda: picture))
    made = session(Cluster(), output="name")
    assert await_end(made, made.handle("bad")) == 1
    assert capsys.readouterr().err == "bad: Failed: PodFailed: oh\\x1b …\n"


class Counted(Clock):
    """A clock on which only waits take time."""

    passed = 0.0

    def monotonic(self) -> float:
        return self.passed

    def wait(self, event: Event, seconds: float) -> bool:
        self.passed += seconds
        return False


def test_a_timeout_is_for_all_jobs_together(monkeypatch, capsys):
    picture = JobPicture(placed("a") | {"status": {"phase": "Running"}})
    monkeypatch.setattr(live, "LiveJob", partial(Watched, lambda: picture))
    made = session(cluster_of("a", "b"), jobs=["a", "b"], wait=True)
    made.options.timeout, made.clock = 10.0, (clock := Counted())
    assert suspend.run(made) == TIMED_OUT
    assert clock.passed == 10
    assert capsys.readouterr().err.count(": timed out after 10 s\n") == 2


@pytest.mark.parametrize("has_right", [True, False])
def test_a_job_whose_logs_cannot_be_followed_is_waited_for(has_right, monkeypatch, capsys):
    def picture(phase: str) -> JobPicture:
        if phase == "Running" and not has_right:
            raise Forbidden("no pods/log")
        job = a_job("new").with_workers(1).with_status(phase=phase).build()
        return JobPicture(job, (a_pod(job).running().build(),))

    monkeypatch.setattr(joblog, "MAX_LOGS", 0)
    monkeypatch.setattr(follow, "LiveJob", partial(Watched, lambda: picture("Running")))
    monkeypatch.setattr(live, "LiveJob", partial(Watched, lambda: picture("Completed")))
    job = {"metadata": {"name": "new"}, "spec": {}}
    made = session(Cluster(), wait=True)
    assert submit.create_jobs(made, [job]) == 0
    why = "more than 0 logs at once" if has_right else "no pods/log"
    assert why in capsys.readouterr().err
