"""What is watched for a person: a server on which no watch lasts is asked seldom."""

import json
import threading
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any

import pytest

from api.job import parse_job
from api.objects import Raw, uid_of
from kube.client import Client
from kube.clock import Clock
from kube.errors import ApiError, Forbidden, Gone, Throttled, Transient, Unreachable
from pdj.act.follow import read_log
from pdj.act.wait import wait_for, wait_until_gone
from pdj.commands import status
from pdj.errors import Problem, TimedOut
from pdj.facts.facts import Facts
from pdj.facts.picture import JobPicture, has_ended
from pdj.gather import live
from pdj.gather.jobs import Handle, NoOperator
from pdj.gather.live import LiveJob, pictures
from pdj.gather.logs import Wish
from pdj.gather.progress import TrainingReader
from pdj.gather.watch import Keeper
from pdj.session import Session
from pdj.ui import feeds
from tests.live import patience
from tests.memory.builders import NOW, a_job, stamp
from tests.unit.controller.fakes import eventually
from tests.unit.pdj.cluster import SERVED, Watched

SECONDS = 10
MOST = 10
JOB = a_job("mine").with_workers(1).build()


class OwnTime(Clock):
    """Each thread has a time of its own, which passes in its pauses alone.

    A watch ends after SECONDS of its time; another thread waits for that in its first pause.
    """

    def __init__(self) -> None:
        self._own = threading.local()

    def now(self) -> datetime:
        return NOW

    def monotonic(self) -> float:
        return getattr(self._own, "passed", 0.0)

    def wait(self, event: threading.Event, seconds: float) -> bool:
        self._own.passed = self.monotonic() + seconds
        watches = [each for each in threading.enumerate() if each.name == "watch"]
        if threading.current_thread() in watches:
            if self._own.passed >= SECONDS:
                event.set()
        else:
            for each in watches:
                each.join(patience.SECONDS)
        return event.is_set()


class Server(Client):
    """Counts requests in SECONDS. Each watch tells these events and ends, or raises this."""

    headers: dict[str, str]

    def __init__(self, *events: Raw, error: ApiError | None = None) -> None:
        self.events, self.error = events, error
        self.headers = {}
        self.requests = 0
        self.clock = OwnTime()
        self.answers: dict[str, Raw | ApiError] = dict(SERVED)

    def get(self, path: str, *_: Any) -> Raw:
        self._count()
        items = [JOB] if path.endswith("paddlejobs") else []
        answer = self.answers.get(path.rpartition("/")[2]) or self.answers.get(path)
        if isinstance(answer, ApiError):
            raise answer
        return answer or {"items": items, "metadata": {"resourceVersion": "1"}}

    def read_log(self, *_: Any) -> bytes:
        self._count()
        return f"{stamp(0)} step 1".encode()

    def stream(self, *_: Any) -> Any:
        self._count()
        if self.error is not None:
            raise self.error
        return self

    def chunks(self) -> Iterator[bytes]:
        return (json.dumps(event).encode() + b"\n" for event in self.events)

    def release(self) -> None:
        """There is no connection."""

    close = release

    def _count(self) -> None:
        self.requests += self.clock.monotonic() < SECONDS
        assert self.requests < 100, "it asks without a pause"


def handle(server: Server, timeout: float | None = None) -> Handle:
    return Handle(server, "default", "mine", server.clock, timeout)


def session(server: Server) -> Session:
    options: Raw = {"namespace": "default", "job": "mine", "watch": True, "output": None}
    options["timeout"] = SECONDS  # of each thread's own time
    made = Session(Namespace(**options), clock=server.clock)
    made.__dict__["client"] = server
    return made


def show(make: Callable[[Any, OwnTime], feeds.Feed]) -> Callable[[Server], None]:
    """Have a page that shows a feed of the server."""

    def take(server: Server) -> None:
        feed = make(server, server.clock)
        for _ in range(3):
            feed.take()
        feed.close()

    return take


SCREENS: dict[str, Callable[[Server], object]] = {
    "wait": lambda server: wait_for(handle(server, SECONDS), lambda _job: False),
    "logs --follow": lambda server: [*read_log(handle(server, SECONDS), Wish(follow=True))],
    "delete --wait": lambda server: wait_until_gone(handle(server, SECONDS), uid_of(JOB)),
    "status --watch": lambda server: status.run(session(server)),
    "page": show(lambda client, clock: feeds.JobsFeed(client, "", clock)),
    "page of a job": show(lambda server, _clock: feeds.JobFeed(handle(server), "en")),
}
NEWS = {
    "type": "MODIFIED",
    "object": {**JOB, "metadata": {**JOB["metadata"], "resourceVersion": "2"}},
}
EXPIRED = {"kind": "Status", "code": 410, "reason": "Expired"}
ENDS: dict[str, Callable[[], Server]] = {
    "ends": Server,
    "ends after news": lambda: Server(NEWS),
    "ends after garbage": lambda: Server({"type": "ADDED"}),
    "expires": lambda: Server(error=Gone("too old", code=410)),
    "expires in an event": lambda: Server({"type": "ERROR", "object": EXPIRED}),
    "is cut": lambda: Server(error=Transient("cut")),
    "is throttled": lambda: Server(error=Throttled("later", code=429)),
    "gets no answer": lambda: Server(error=Unreachable("closed")),
}


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("end", ENDS)
def test_server_on_which_no_watch_lasts_gets_ten_requests_in_ten_seconds(screen, end, monkeypatch):
    # Events are read at their own pace.
    monkeypatch.setattr(feeds, "gather", lambda _client, picture, _read, known: Facts(picture))
    server = ENDS[end]()
    with suppress(TimedOut):
        SCREENS[screen](server)
    assert 4 <= server.requests <= MOST


def test_log_of_a_running_job_adds_two_requests():
    server, running = Server(), parse_job(JOB | {"status": {"phase": "Running"}})
    reader = TrainingReader(server, server.clock)
    for _ in range(SECONDS):
        reader.read(running)
        server.clock.wait(threading.Event(), 1)
    assert server.requests == 2


def watch(server: Server) -> LiveJob:
    return LiveJob(handle(server))


def test_kind_that_is_not_served_ends_the_watch():
    server = Server()
    server.answers |= {"paddlejobs": Transient("HTTP 404, no Status", code=404)}
    server.answers |= {"/apis": {"kind": "APIGroupList"}}
    with watch(server) as live, pytest.raises(NoOperator):
        eventually(lambda: live.picture() is not None)


def test_answer_that_is_no_list_is_no_deletion():
    server = Server()
    server.answers["paddlejobs"] = {"status": "ok"}
    with watch(server) as live:
        eventually(lambda: live.trouble is not None)
        assert not live.is_known


def test_jobs_are_shown_without_the_right_to_pods():
    server = Server()
    server.answers["pods"] = Forbidden("no pods", code=403)
    with watch(server) as live:
        eventually(lambda: live.is_known)
        eventually(lambda: getattr(live.picture(), "pods_problem", "") == "no pods")


def test_job_that_the_watch_does_not_show_yet_is_not_gone(monkeypatch):
    done = JobPicture(JOB | {"status": {"phase": "Completed"}})
    shown = iter([None, None, done])
    monkeypatch.setattr(live, "LiveJob", partial(Watched, lambda: next(shown)))
    monkeypatch.setattr(live, "look", lambda *_: JobPicture(JOB))
    assert [*pictures(handle(Server()))] == [JobPicture(JOB), done]


OTHER = {**JOB, "metadata": {**JOB["metadata"], "uid": "another"}}


@pytest.mark.parametrize("later", [None, JobPicture(OTHER)], ids=["none", "another"])
def test_job_that_the_watch_shows_no_more_is_gone(monkeypatch, later):
    shown = iter([JobPicture(JOB), later])
    monkeypatch.setattr(live, "LiveJob", partial(Watched, lambda: next(shown)))
    with pytest.raises(Problem, match="has been deleted"):
        list(pictures(handle(Server())))


def test_job_of_a_version_that_cannot_be_read_is_waited_for(monkeypatch):
    odd = JobPicture(JOB | {"status": {"phase": "Completed", "roles": 1, "attempt": "first"}})
    with pytest.raises(Problem, match="cannot read"):
        _ = odd.job
    monkeypatch.setattr(live, "LiveJob", partial(Watched, lambda: odd))
    assert wait_for(handle(Server()), has_ended) == odd.raw
    with pytest.raises(Problem, match="the job mine has ended: Completed"):
        wait_for(handle(Server()), lambda _job: False)


def test_a_server_that_does_not_answer_holds_up_no_end():
    asked, answers = threading.Event(), threading.Event()

    class Silent(Server):
        def get(self, *_: Any, **__: Any) -> Raw:
            asked.set()
            answers.wait(patience.SECONDS)
            raise Transient("no answer")

    with Keeper(Silent(), "/jobs", {}, threading.Event(), Clock()) as keeper:
        assert asked.wait(patience.SECONDS)
    assert keeper._thread.is_alive()
    answers.set()
    keeper._thread.join()
