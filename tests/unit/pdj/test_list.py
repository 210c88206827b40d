"""Which jobs a list shows, in how many requests, and as which table the API server sends them."""

import copy
import itertools
import json
import re
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from api.constants import MAX_REPLICAS
from api.crd import COLUMNS, WIDE_COLUMNS
from api.objects import Raw, format_time, name_of
from kube.client import Client
from kube.clock import Clock
from kube.errors import Transient
from paddlejob import client as python
from paddlejob.errors import NotSendable
from pdj.commands.list import _row
from pdj.errors import Usage
from pdj.facts.choice import Choice
from pdj.gather.jobs import list_rows, look
from pdj.main import main
from pdj.session import Session
from pdj.ui.feeds import JobsFeed
from tests.memory import recorded
from tests.memory.builders import NOW, a_job, a_pod

MANY = 5500
MOST_OF_A_LIST, MOST_OF_THE_PAGE = 12, 24
"""Requests for so many jobs: a page of 500 or of 250 each, and the page's watch."""
RECORDED = json.loads((Path(recorded.__file__).parent / "recorded.json").read_text())
STATUSES = [
    each["status"]
    for state in RECORDED.values()
    for each in state["objects"]
    if each["kind"] == "PaddleJob"
]


def listed(name: str, phase: str = "", age: float = 0, restarts: int = 0) -> Raw:
    created = format_time(NOW.fromtimestamp(NOW.timestamp() - age, NOW.tzinfo))
    return {
        "metadata": {"name": name, "namespace": "default", "creationTimestamp": created},
        "status": {"phase": phase, "restartCount": restarts} if phase else {},
    }


JOBS = (
    listed("old", "Failed", age=9000, restarts=3),
    listed("new"),
    listed("busy", "Running", age=60, restarts=1),
    listed("waits", "Pending", age=3600),
)


@pytest.mark.parametrize(
    ("choice", "names", "more"),
    [
        (Choice(), "busy new old waits", 0),
        (Choice("running"), "busy", 0),
        (Choice("Pending, failed"), "old waits", 0),
        (Choice(active=True), "busy new waits", 0),
        (Choice("Failed", active=True), "", 0),
        (Choice(since=3600), "busy new waits", 0),
        (Choice(since=3599), "busy new", 0),
        (Choice(limit=3), "busy new old", 1),
        (Choice(limit=9), "busy new old waits", 0),
        (Choice(sort="age"), "new busy waits old", 0),
        (Choice(sort="restarts", limit=2), "old busy", 2),
        (Choice(sort="phase"), "new old waits busy", 0),
    ],
)
def test_the_chosen_jobs_in_their_order(choice, names, more):
    jobs, left = choice.of(JOBS, NOW)
    assert (" ".join(map(name_of, jobs)), left) == (names, more)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"phase": "Runing"}, "no phase 'Runing'; there are: Pending, "),
        ({"phase": "Failed,Gone"}, "no phase 'Gone'; there are: "),
        ({"sort": "colour"}, "jobs cannot be sorted by 'colour'; there are: name, age, "),
        ({"limit": 0}, "the limit must be 1 or more, not 0"),
    ],
)
def test_a_value_that_cannot_be_meant_is_refused_in_a_sentence(words, said):
    with pytest.raises(Usage, match=said):
        Choice(**words)
    with pytest.raises(NotSendable, match=said):
        python.Client("default").jobs(**words)


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--phase=Runing", "no phase 'Runing'"),
        ("--since=yesterday", "not a time such as 30s"),
        ("--limit=-1", "not a whole number"),
        ("--limit=0", "the limit must be 1 or more"),
        ("--sort=colour", "invalid choice: 'colour'"),
    ],
)
def test_a_command_with_a_bad_value_is_used_wrongly(option, said, capfd, tmp_path):
    try:
        code = main(["--kubeconfig", str(tmp_path / "none"), "list", option])
    except SystemExit as error:
        code = error.code  # type: ignore[assignment]
    assert code == 2
    assert said in capfd.readouterr().err


class Crowd(Client):
    """An API server with many jobs, of which it sends pages, as a table if that is asked for."""

    def __init__(self, jobs: list[Raw], columns: Any = (*COLUMNS, *WIDE_COLUMNS)) -> None:
        self.jobs, self.columns = jobs, columns
        self.asked: list[str] = []

    def get(
        self, path: str, query: Raw | None = None, accept: str = "", max_bytes: int | None = None
    ) -> Raw:
        self.asked.append(accept)
        assert query is not None
        start, limit = int(query.get("continue", 0)), int(query["limit"])
        end = start + limit
        metadata = {"resourceVersion": "1"} | ({"continue": end} if end < len(self.jobs) else {})
        items = copy.deepcopy(self.jobs[start:end])
        if "as=Table" not in accept:
            return {"metadata": metadata, "items": items}
        definitions = [{"name": "Name"}, *({"name": title} for title, *_ in self.columns)]
        return {
            "kind": "Table",
            "metadata": metadata,
            "columnDefinitions": definitions,
            "rows": [self._row(job) for job in items],
        }

    def stream(self, *_: Any, **__: Any) -> Any:
        self.asked.append("watch")
        raise Transient("no watch lasts here")

    def _row(self, job: Raw) -> Raw:
        cells = [name_of(job), *(_cell(job, path) for _, _, path, _ in self.columns)]
        return {"cells": cells, "object": {"metadata": job["metadata"]}}


def _cell(job: Raw, path: str) -> Any:
    value: Any = job
    for step in path.split(".")[1:]:
        value = (value or {}).get(step)
    return value


def crowd(many: int) -> list[Raw]:
    base = a_job("job").with_workers(1).build()
    return [
        {
            **base,
            "metadata": {**base["metadata"], "name": f"job-{at}", "uid": f"uid-{at}"},
            "status": STATUSES[at % len(STATUSES)] if at % 2 else {},
        }
        for at in range(many)
    ]


def test_many_jobs_take_few_requests_and_no_whole_objects():
    server = Crowd(crowd(MANY))
    assert len(list_rows(server, "")) == MANY
    assert len(server.asked) < MOST_OF_A_LIST
    assert all("as=Table" in accept for accept in server.asked)


@pytest.mark.parametrize("status", STATUSES)
def test_a_row_of_the_table_shows_what_the_object_shows(status):
    job = crowd(1)[0] | {"status": status}
    session = Session(Namespace())
    (row,) = list_rows(Crowd([job]), "")
    assert _row(session, row) == _row(session, job)


@pytest.mark.parametrize("without", [*COLUMNS[:4], *WIDE_COLUMNS])
def test_a_crd_without_one_of_the_columns_has_its_objects_listed(without):
    columns = [each for each in (*COLUMNS, *WIDE_COLUMNS) if each != without]
    assert list_rows(Crowd(crowd(3), columns), "") == crowd(3)


def test_a_status_without_a_reason_is_read_whole():
    jobs = crowd(2)
    jobs[0]["status"] = {k: v for k, v in STATUSES[0].items() if k not in ("reason", "message")}
    session = Session(Namespace())
    assert [*map(_row, itertools.repeat(session), list_rows(Crowd(jobs), ""))] == [
        _row(session, job) for job in jobs
    ]


class Untabled(Crowd):
    """One whose proxy knows no tables."""

    def get(self, path: str, query: Raw | None = None, *_: Any, **__: Any) -> Raw:
        return super().get(path, query)


def test_a_server_without_tables_has_its_objects_listed():
    assert list_rows(Untabled(crowd(3)), "") == crowd(3)


def test_the_page_of_many_jobs_takes_few_requests():
    server = Crowd(crowd(MANY))
    feed = JobsFeed(server, "", Clock())
    try:
        news = (each for messages in iter(feed.take, None) for each in messages)
        rows = next(each["rows"] for each in news if "rows" in each)
    finally:
        feed.close()
    assert len(rows) == MANY
    first = [*itertools.takewhile("watch".__ne__, server.asked)]  # a slow one lists again
    assert len(first) < MOST_OF_THE_PAGE


class Endless(Client):
    """An API server on which more pods have the job's labels than a job can have."""

    def __init__(self) -> None:
        self.pages_sent = 0

    def get(self, path: str, query: Raw | None = None, *_: Any, **__: Any) -> Raw:
        job = a_job("train").with_workers(1).build()
        if not query:
            return job
        self.pages_sent += 1
        pods = [a_pod(job).build()] * int(query["limit"])
        return {"items": pods, "metadata": {"continue": str(self.pages_sent)}}


def test_no_more_pods_are_read_than_a_job_can_have():
    server = Endless()
    picture = look(server, "default", "train")
    assert len(picture.pods) == MAX_REPLICAS
    assert re.search(f"more than {MAX_REPLICAS}", picture.pods_problem)
    assert server.pages_sent == MAX_REPLICAS // 500 + 1
