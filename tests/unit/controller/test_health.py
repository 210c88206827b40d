"""The endpoints that a kubelet and Prometheus ask."""

import threading
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from controller.health import HealthServer, check, exposition, parse_address


@pytest.fixture
def problems() -> list[str]:
    return []


@pytest.fixture
def served(problems, metrics) -> Iterator[HealthServer]:
    routes = {"/readyz": check(lambda: problems), "/metrics": exposition(metrics)}
    server = HealthServer("127.0.0.1:0", routes)
    thread = threading.Thread(target=server.run)
    thread.start()
    yield server
    server.stop()
    thread.join(30)


def get(server: HealthServer, path: str, accept: str = "") -> tuple[int, str, str]:
    request = urllib.request.Request(
        f"http://127.0.0.1:{server.port}{path}", headers={"Accept": accept}
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read().decode(), answer.headers["Content-Type"]
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode(), error.headers["Content-Type"]


def test_ok_without_problems(served):
    assert get(served, "/readyz")[:2] == (200, "ok\n")


def test_each_problem_is_a_line(served, problems):
    problems += ["not synced: pods", "thread worker-1 has ended"]
    assert get(served, "/readyz")[:2] == (503, "not synced: pods\nthread worker-1 has ended\n")


def test_a_query_is_ignored(served):
    assert get(served, "/readyz?verbose")[0] == 200


def test_other_paths_are_not_found(served):
    assert get(served, "/nothing")[0] == 404


@pytest.mark.parametrize(
    ("accept", "type_"),
    [("", "text/plain"), ("application/openmetrics-text", "application/openmetrics-text")],
    ids=["text", "OpenMetrics"],
)
def test_metrics_come_in_the_format_asked_for(served, accept, type_):
    code, body, content_type = get(served, "/metrics", accept)
    assert code == 200
    assert content_type.startswith(type_)
    assert "workqueue_depth" in body


def test_a_taken_port_fails_the_start(served):
    with pytest.raises(OSError, match=rf"127\.0\.0\.1:{served.port}: .* in use"):
        HealthServer(f"127.0.0.1:{served.port}", {})


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (":8080", ("", 8080)),
        ("127.0.0.1:1", ("127.0.0.1", 1)),
        ("[::]:8081", ("::", 8081)),
    ],
)
def test_addresses_are_read(text, address):
    assert parse_address(text) == address


@pytest.mark.parametrize("text", ["", "8080", "host:", "host:x", ":99999"])
def test_what_is_no_address_is_refused(text):
    with pytest.raises(ValueError, match="not an address"):
        parse_address(text)
