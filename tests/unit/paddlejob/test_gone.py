"""A job that has been deleted, or replaced by another of its name, is not taken for another."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import paddlejob
from api.constants import PLURAL
from api.objects import Raw
from localcluster.client.kubeconfig import write_kubeconfig
from paddlejob import Client, Job
from tests.live import patience
from tests.live.lab import paddle_job, shell
from tests.unit.pdj.cluster import SERVED

NAME = "<b>one"
MISSING = {"kind": "Status", "reason": "NotFound", "message": "it is not found", "code": 404}


def a_job(uid: str) -> Raw:
    raw = paddle_job("one", {"worker": (1, shell("true"))})
    raw["metadata"] |= {"name": NAME, "namespace": "default", "uid": uid}
    return raw


@pytest.fixture(params=[None, a_job("of-another")], ids=["deleted", "replaced"])
def job(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Job]:
    """A job of a cluster that has it no longer."""
    with found_as(request.param, tmp_path) as job:
        yield job


@contextmanager
def found_as(found: Raw | None, folder: Path) -> Iterator[Job]:
    """The job of a cluster that has this one of its name."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            answer = SERVED.get(path) or {"items": [found] if found else []}
            if "/" in path.partition(f"{PLURAL}/")[1]:
                answer = found or MISSING
            body = json.dumps(answer).encode()
            self.send_response(404 if answer is MISSING else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}"
        file = write_kubeconfig(folder / "kubeconfig", url, b"", "")
        try:
            with Client("default", kubeconfig=file) as client:
                yield Job(client, a_job("of-this"))
        finally:
            server.shutdown()
            thread.join()


CALLS: dict[str, Callable[[Job], object]] = {
    "logs": lambda job: list(job.logs()),
    "follow": lambda job: list(job.logs(follow=True, timeout=patience.SECONDS)),
    "wait": lambda job: job.wait(timeout=patience.SECONDS),
    "watch": lambda job: job.watch(timeout=patience.SECONDS),
    "phase": lambda job: job.phase,
    "progress": lambda job: job.progress,
    "explain": lambda job: job.explain(),
    "scale": lambda job: job.scale(2),
    "suspend": lambda job: job.suspend(),
    "restart": lambda job: job.restart(),
    "delete": lambda job: job.delete(timeout=patience.SECONDS),
}


@pytest.mark.parametrize("name", CALLS)
def test_every_call_says_that_the_job_is_gone(job, name):
    threads = set(threading.enumerate())
    with pytest.raises(
        paddlejob.PaddleJobError, match=r"there is no job|has been deleted"
    ) as caught:
        CALLS[name](job)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert not any("Keeper" in repr(each) for each in set(threading.enumerate()) - threads)


def test_a_notebook_shows_why_there_is_no_picture(job):
    shown = job._repr_html_()
    assert "<div>&lt;Job default/&lt;b&gt;one&gt;: " in shown
    assert "there is no job" in shown or "has been deleted" in shown


def test_a_job_without_a_name_is_not_the_list_of_all(job):
    with pytest.raises(paddlejob.PaddleJobError, match="'' is not a name for a job"):
        job._client.job("")
