"""What leads to the API server fails for a while; jobs do not have to wait when it is over."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from localcluster import Cluster
from localcluster.machine import clock
from tests.conftest import new_namespace
from tests.live.lab import Lab, paddle_job, shell
from tests.live.operated import operator_behind, readiness
from tests.live.proxy import Act, Counted, FaultProxy, answer, cut

WAITS = shell("exec sleep 3600")
AWAY_SECONDS = 25.0
BACK_SECONDS = 5.0
CROWD = 12
THAWED_SECONDS = 15.0
NOTICED_SECONDS = 75.0
EXPIRED = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}


@pytest.fixture
def proxy(unattended: Cluster) -> Iterator[FaultProxy]:
    with closing(FaultProxy(unattended)) as proxy:
        yield proxy


@pytest.fixture
def proxied(unattended: Cluster, proxy: FaultProxy, tmp_path: Path) -> Iterator[Lab]:
    """A namespace whose operator works through the proxy, and has seen one job run."""
    with new_namespace(unattended) as namespace:
        lab = Lab(unattended, namespace)
        with operator_behind(proxy, namespace, tmp_path) as operator:
            lab.submit(paddle_job("before", {"worker": (1, WAITS)}))
            lab.wait_phase("before", "Running")
            lab.wait(lambda: readiness(operator) == 200, "ready")
            yield lab


def once_each(act: Act) -> Act:
    """Do this with the first request of each path alone."""
    seen: set[str] = set()

    def do(handler: BaseHTTPRequestHandler) -> bool:
        path = handler.path.partition("?")[0]
        is_first = path not in seen
        seen.add(path)
        return is_first and act(handler)

    return do


def check_pods_come(lab: Lab, name: str, most_seconds: float) -> None:
    started = clock.monotonic()
    lab.submit(paddle_job(name, {"worker": (1, WAITS)}))
    lab.wait(lambda: lab.pods(name), f"pods of {name}")
    took = clock.monotonic() - started
    assert took <= most_seconds


def run_crowd(lab: Lab) -> None:
    """Many jobs at once, after which many connections lie idle."""
    names = [f"crowd-{number}" for number in range(CROWD)]
    lab.submit(*(paddle_job(name, {"worker": (1, WAITS)}) for name in names))
    lab.wait_all(names, "Running")


def test_jobs_get_their_pods_soon_after_the_api_server_is_back(proxied, proxy):
    uids = [pod["metadata"]["uid"] for pod in proxied.pods("before")]
    with proxy.rule("", "", cut):
        clock.sleep(AWAY_SECONDS)
    expired = answer(410, json.dumps(EXPIRED).encode(), "application/json")
    with proxy.rule("GET", "watch=true", once_each(expired)):
        check_pods_come(proxied, "after", BACK_SECONDS)
    assert [pod["metadata"]["uid"] for pod in proxied.pods("before")] == uids


def test_connections_that_are_dead_and_look_alive_hold_nobody_up_twice(proxied, proxy):
    run_crowd(proxied)
    proxy.freeze(lambda path: not path)
    check_pods_come(proxied, "after", THAWED_SECONDS)


def test_watch_that_is_dead_and_looks_alive_is_noticed_and_a_quiet_one_let_be(proxied, proxy):
    watches = Counted()

    def opened() -> Counter[str]:
        return Counter(path.partition("?")[0].rpartition("/")[2] for path in watches.paths)

    with proxy.rule("GET", "watch=true", watches):  # cuts them, so that all are opened anew
        proxied.wait(lambda: {"paddlejobs", "services"} <= opened().keys(), "they are back")
        run_crowd(proxied)
        before = opened()
        proxy.freeze(lambda path: not path or "paddlejobs" in path)
        check_pods_come(proxied, "after", NOTICED_SECONDS)
        assert opened()["paddlejobs"] == before["paddlejobs"] + 1
        assert opened()["services"] == before["services"]
