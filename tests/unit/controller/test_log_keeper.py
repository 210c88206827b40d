"""The ends of failed pods' logs: read once, kept for four attempts, and never waited for."""

from typing import Any

import pytest

from api.constants import ANNOTATION_KEEP_LOGS
from api.job import parse_job
from api.objects import Raw
from controller.cache.trim import trim
from controller.client.resources import PADDLE_JOB
from controller.work.log_keeper import BURST, LINES, MAX_AT_ONCE, LogKeeper
from controller.workqueue.rate_limiter import TokenBucket
from kube.errors import ApiError, Forbidden, NotFound, Transient
from kube.logs import MAX_TAIL_BYTES
from reconcile.model.plan import KeepLog
from reconcile.objects.kept_log import MAX_ATTEMPTS, keep_log, kept_log_name, unpack_log
from tests.memory.builders import a_job, a_pod, view_of

POD = "train-worker-0"


class Api:
    """ConfigMaps, and the log of a pod of which every line is so long."""

    def __init__(self) -> None:
        self.maps: dict[str, Raw] = {}
        self.asked: list[int] = []
        self.length = 100
        self.error: ApiError | None = None

    def read_log(self, _path: str, query: dict[str, Any], _seconds: float) -> bytes:
        """The last lines, cut as the API server cuts them."""
        self.asked.append(query["tailLines"])
        if self.error:
            raise self.error
        lines = (f"2026-01-02T03:04:05Z {n:0{self.length}}\n" for n in range(300))
        return "".join([*lines][-query["tailLines"] :]).encode()[: query["limitBytes"]]

    def create(self, _path: str, body: Raw) -> Raw:
        self.maps[body["metadata"]["name"]] = body
        return body

    def find(self, path: str) -> Raw | None:
        return self.maps.get(path.rpartition("/")[2])

    def delete(self, path: str, _uid: str) -> None:
        del self.maps[path.rpartition("/")[2]]


@pytest.fixture
def api() -> Api:
    return Api()


@pytest.fixture
def keeper(api: Api, clock: Any, log: Any) -> LogKeeper:
    return LogKeeper(api, TokenBucket(1, BURST, clock), log)  # type: ignore[arg-type]


def job(attempt: int = 1, asks: str = "true") -> Raw:
    """A job of one worker, which asks for its logs to be kept."""
    made = a_job().with_workers(1).with_status(attempt=attempt)
    return made.with_metadata(annotations={ANNOTATION_KEEP_LOGS: asks}).build()


def item(attempt: int = 1) -> KeepLog:
    """What is to be kept of the attempt."""
    raw = job(attempt)
    pod = a_pod(raw, attempt=attempt).ended(3).build()
    view = view_of(raw, pod)
    made = keep_log(view, view.pods[POD])
    assert made
    return made


OWNER = parse_job(job()).owner


def lines_of(api: Api, attempt: int = 1) -> list[int]:
    """The numbers of the lines that are kept."""
    kept = api.maps[kept_log_name("train", attempt)]
    return [int(line) for line in unpack_log(kept, POD)]


def test_the_last_lines_are_kept_without_their_times(api: Api, keeper: LogKeeper) -> None:
    keeper.keep(OWNER, item())
    assert lines_of(api) == [*range(100, 300)]
    assert OWNER.controls(api.maps["train.log-1"])


def test_bar_that_overwrites_itself_is_kept_whole(api: Api, keeper: LogKeeper, mocker: Any) -> None:
    log = b"2026-01-02T03:04:05Z 50% done\r100% done\n2026-01-02T03:04:06Z end"
    mocker.patch.object(api, "read_log", return_value=log)
    keeper.keep(OWNER, item())
    kept = api.maps[kept_log_name("train", 1)]
    assert unpack_log(kept, POD) == ["50% done", "100% done", "end"]


def test_of_long_lines_fewer_are_read(api: Api, keeper: LogKeeper) -> None:
    api.length = MAX_TAIL_BYTES // 100
    keeper.keep(OWNER, item())
    assert api.asked == [*LINES[:2]]
    assert lines_of(api)[-1] == 299


def test_older_attempts_give_way_but_nothing_of_others(api: Api, keeper: LogKeeper) -> None:
    api.maps["train.log-1"] = {"metadata": {"name": "train.log-1", "namespace": "default"}}
    for attempt in range(2, 2 * MAX_ATTEMPTS):
        keeper.keep(OWNER, item(attempt))
    last = range(MAX_ATTEMPTS, 2 * MAX_ATTEMPTS)
    assert sorted(api.maps) == ["train.log-1", *(kept_log_name("train", n) for n in last)]


@pytest.mark.parametrize("error", [Forbidden("no"), NotFound("no"), Transient("no")], ids=str)
def test_a_log_that_cannot_be_read_is_gone(api: Api, keeper: LogKeeper, error: ApiError) -> None:
    api.error = error
    keeper.keep(OWNER, item())
    assert api.maps == {}


def test_jobs_that_fail_in_their_thousands_do_not_set_the_pace(api: Api, keeper: LogKeeper) -> None:
    for _ in range(2 * BURST):
        keeper.keep(OWNER, item())
    assert len(api.asked) == BURST


def test_nodes_that_do_not_answer_leave_workers_to_others(api: Api, keeper: LogKeeper) -> None:
    def read_log(*_: object) -> bytes:
        if len(reads) < 2 * MAX_AT_ONCE:  # as if another worker came while this one waits
            reads.append(None)
            keeper.keep(OWNER, item())
        return b""

    reads: list[None] = []
    api.read_log = read_log  # type: ignore[method-assign, assignment]
    keeper.keep(OWNER, item())
    assert len(reads) == MAX_AT_ONCE


def test_nothing_is_kept_unless_the_job_asks(api: Api) -> None:
    raw = job(asks="false")
    view = view_of(raw, a_pod(raw).ended(3).build())
    assert keep_log(view, view.pods[POD]) is None
    running = view_of(job(), a_pod(job()).running().build())
    assert keep_log(running, running.pods[POD]) is None


def test_what_the_job_asks_is_in_the_store() -> None:
    assert parse_job(trim(PADDLE_JOB, job())).keeps_logs
