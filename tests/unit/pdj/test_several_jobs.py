"""Commands for several jobs: one that fails keeps none of the others from its turn."""

import threading
from argparse import Namespace
from typing import Any

import pytest

from api.objects import Raw
from kube.client import STRICT
from kube.errors import (
    AlreadyExists,
    ApiError,
    Forbidden,
    Invalid,
    NotFound,
    Unauthorized,
    error_from_status,
)
from pdj.commands import delete, logs, restart, resume, submit, suspend, wait
from pdj.errors import Problem
from pdj.gather import joblog
from pdj.gather.jobs import JobPicture, NoOperator, get_job
from pdj.session import Session
from tests.memory.builders import a_job, a_pod

JOBS = "/apis/batch.paddlepaddle.org/v1/namespaces/team/paddlejobs"
GROUP = "batch.paddlepaddle.org/v1"
SERVED = {"groups": [{"versions": [{"groupVersion": GROUP}]}], "kind": "APIGroupList"}
KINDS = {"resources": [{"name": "paddlejobs"}], "kind": "APIResourceList"}


class Cluster:
    """The API server as the commands ask it; `refusals` are by name."""

    def __init__(self, *names: str, is_served: bool = True, **refusals: ApiError) -> None:
        self.names = list(names)
        self.refusals = refusals
        self.changed: list[str] = []
        self.elsewhere: list[Raw] = []
        self._groups = SERVED if is_served else {**SERVED, "groups": []}

    def get(self, path: str) -> Raw:
        if path in ("/apis", f"/apis/{GROUP}"):
            return self._groups if path == "/apis" else KINDS
        name = self._known(path)
        return {"metadata": {"name": name, "namespace": "team", "uid": f"uid-{name}"}, "spec": {}}

    def list(self, path: str, query: Raw) -> tuple[list[Raw], str]:
        """The jobs of a name in all namespaces."""
        assert path == "/apis/batch.paddlepaddle.org/v1/paddlejobs"
        return [{"metadata": each} for each in self.elsewhere], ""

    def merge_patch(self, path: str, body: Raw) -> Raw:
        self.changed.append(self._known(path))
        return body

    def delete(self, path: str, uid: str) -> None:
        self.changed.append(self._known(path))
        self.names.remove(self.changed[-1])

    def create(self, path: str, body: Raw, query: Raw | None = None) -> Raw:
        name = self._allowed(body["metadata"]["name"])
        if query == STRICT:
            if name in self.names:
                raise AlreadyExists("exists")
            self.changed.append(name)
        return body

    def _known(self, path: str) -> str:
        name = self._allowed(path.removeprefix(f"{JOBS}/"))
        if name not in self.names:
            raise NotFound("not found")
        return name

    def _allowed(self, name: str) -> str:
        if name in self.refusals:
            raise self.refusals[name]
        return name


def session(cluster: Cluster, **options: Any) -> Session:
    """A command's, with this cluster for the real one."""
    usual = {"namespace": "team", "wait": False, "timeout": None, "replace": False}
    made = Session(Namespace(**usual | {"dry_run": "none", "output": None} | options))
    made.__dict__["client"] = cluster
    return made


@pytest.mark.parametrize("command", [delete, restart, resume, suspend])
def test_the_jobs_after_a_missing_one_get_their_turn(command, capsys):
    cluster = Cluster("first", "last")
    options = {"ignore_not_found": False, "orphans": False, "submit_again": False}
    assert command.run(session(cluster, jobs=["first", "none", "last"], **options)) == 1
    assert cluster.changed == ["first", "last"]
    assert capsys.readouterr().err == "error: there is no job none in namespace team\n"


def test_every_refusal_is_told(capsys):
    cluster = Cluster("a", "b", "c", a=Forbidden("no a"), c=Forbidden("no\x1b c"))
    assert suspend.run(session(cluster, jobs=["a", "b", "c"])) == 1
    assert cluster.changed == ["b"]
    said = ["error: not allowed: no a", "error: not allowed: no\\x1b c"]
    assert capsys.readouterr().err.splitlines() == said


def test_what_fails_for_all_is_told_once():
    with pytest.raises(Unauthorized):
        suspend.run(session(Cluster(a=Unauthorized("expired")), jobs=["a", "b"]))
    with pytest.raises(Exception, match="does not know PaddleJobs"):
        suspend.run(session(Cluster(is_served=False), jobs=["a", "b"]))


def test_an_api_that_is_only_about_to_be_served_is_told():
    cluster = Cluster(new=error_from_status(404, {}, None))
    with pytest.raises(
        NoOperator, match=r"^HTTP 404, no Status: the API server has just begun to serve"
    ):
        submit.create_jobs(session(cluster), [{"metadata": {"name": "new"}}])
    with pytest.raises(NoOperator, match="has just begun to serve"):
        get_job(cluster, "team", "new")  # type: ignore[arg-type]


def test_the_jobs_after_one_that_exists_are_submitted(capsys):
    cluster = Cluster("old")
    jobs = [{"metadata": {"name": name}, "spec": {}} for name in ("new", "old", "newer")]
    assert submit.create_jobs(session(cluster), jobs) == 1
    assert cluster.changed == ["new", "newer"]
    told = capsys.readouterr()
    assert told.out.splitlines() == ["team/new created", "team/newer created"]
    assert told.err == (
        "error: there is a job old in namespace team already: --replace deletes it and creates "
        "this one\n"
    )


def test_submit_replaces_a_job_of_the_same_name_if_asked_to(monkeypatch, capsys):
    monkeypatch.setattr(restart, "wait_until_gone", lambda *_: None)
    cluster = Cluster("old")
    job = {"metadata": {"name": "old"}, "spec": {"suspend": True}}
    assert submit.create_jobs(session(cluster, replace=True), [job]) == 0
    assert cluster.changed == ["old", "old"]  # deleted and created
    assert capsys.readouterr().out == "team/old replaced\n"


def test_job_of_that_name_in_another_namespace_is_named():
    cluster = Cluster()
    cluster.elsewhere = [{"namespace": "other"}]
    with pytest.raises(Problem, match="no job moons in namespace team; there is one in other"):
        get_job(cluster, "team", "moons")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("refusal", "told"),
    [
        ('unknown field "spec.workers"', 'error: bad: unknown field "spec.workers"\n'),
        ('PaddleJob "bad" is invalid', 'error: PaddleJob "bad" is invalid\n'),
    ],
)
def test_a_refusal_names_the_job_of_several(refusal, told, capsys):
    cluster = Cluster(bad=Invalid(refusal))
    jobs = [{"metadata": {"name": name}, "spec": {}} for name in ("bad", "good")]
    assert submit.create_jobs(session(cluster), jobs) == 1
    assert cluster.changed == ["good"]
    assert capsys.readouterr().err == told


def test_waiting_tells_why_a_job_has_failed(monkeypatch, capsys):
    failed = {"type": "Failed", "status": "True", "reason": "PodFailed", "message": "oh\x1b\nno"}
    status = {"phase": "Failed", "conditions": [failed | {"type": "Pending"}, failed]}
    picture = JobPicture({"metadata": {"name": "bad"}, "status": status})

    class Live:
        changed = threading.Event()
        __enter__, __exit__ = (lambda self: self), (lambda *_: None)

        def picture(self) -> JobPicture:
            return picture

    monkeypatch.setattr(wait, "LiveJob", lambda *_, **__: Live())
    assert wait.wait_for_end(session(Cluster()), "bad") == 1
    assert capsys.readouterr().err == "bad: Failed: PodFailed: oh\\x1b …\n"


@pytest.mark.parametrize("has_right", [True, False])
def test_a_job_whose_logs_cannot_be_followed_is_waited_for(has_right, monkeypatch, capsys):
    class Live:
        changed, is_known = threading.Event(), True
        __enter__, __exit__ = (lambda self: self), (lambda *_: None)

        def __init__(self, phase: str) -> None:
            self.phase = phase

        def picture(self) -> JobPicture:
            if self.phase == "Running" and not has_right:
                raise Forbidden("no pods/log")
            job = a_job("new").with_workers(1).with_status(phase=self.phase).build()
            return JobPicture(job, (a_pod(job).running().build(),))

    monkeypatch.setattr(joblog, "MAX_LOGS", 0)
    monkeypatch.setattr(logs, "LiveJob", lambda *_: Live("Running"))
    monkeypatch.setattr(wait, "LiveJob", lambda *_, **__: Live("Completed"))
    job = {"metadata": {"name": "new"}, "spec": {}}
    made = session(Cluster(), wait=True)
    assert submit.create_jobs(made, [job]) == 0
    why = "more than 0 logs at once" if has_right else "no pods/log"
    assert why in capsys.readouterr().err
