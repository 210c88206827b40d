"""Input that nobody meant: each says so where its user looks, and the jobs of others go on.

A status filled with garbage, a thousand jobs with the same mistake, a template of ten thousand
variables, and somebody's ConfigMap of 1 MiB with a job's name.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from api.status import status_schema
from kube.client import MERGE_PATCH
from kube.errors import ApiError
from localcluster import Cluster
from tests.conftest import new_namespace
from tests.live.apiserver import DRY_RUN, jobs_path
from tests.live.lab import CORE, Lab, Raw, paddle_job, shell
from tests.live.operated import operator_beside

JSON_TYPES: dict[str, Any] = {
    "string": "x",
    "integer": 7,
    "number": 1.5,
    "boolean": True,
    "array": ["x"],
    "object": {"x": "y"},
}
UNREADABLE: dict[str, tuple[Raw, str]] = {
    "indexes": ({"worker": {"completedIndexes": "all"}}, "status.worker.completedIndexes is 'all'"),
    "attempt": ({"attempt": 2**31 - 1}, "status.attempt is '2147483647'"),
    "restarts": ({"restartCount": 2**31 - 1}, "status.restartCount is '2147483647'"),
    "failures": ({"failureCount": 2**31 - 1}, "status.failureCount is '2147483647'"),
    "list": ({"startTime": ["x"]}, "status.startTime is"),
    "end": ({"completionTime": ["x"]}, "status.completionTime is"),
    "year": ({"startTime": "0000-01-01T00:00:00Z"}, "status.startTime is '0000-01-01T00:00:00Z'"),
}
"""What the API server lets through, and how the job's condition begins."""
WAITS = shell("exec sleep 3600")
CLIENTS = 4
VARIABLES = 10_000
MEBIBYTE = 1024 * 1024


@dataclass
class Scene:
    bad: Lab
    other: Lab

    def create(self, job: Raw) -> None:
        self.bad.cluster.client.create(jobs_path(self.bad.namespace), job)

    def pending(self, job: str) -> Raw:
        return self.bad.condition(job, "Pending")


@pytest.fixture(scope="module")
def scene(unattended: Cluster) -> Iterator[Scene]:
    with (
        new_namespace(unattended) as bad,
        new_namespace(unattended) as other,
        operator_beside(unattended, namespace=""),
    ):
        yield Scene(Lab(unattended, bad), Lab(unattended, other))


def mistakes(schema: Raw, above: tuple[str, ...] = ()) -> Iterator[tuple[str, Raw]]:
    """A status with a value of a wrong type for each field and each other type of JSON."""
    for name, inner in schema["properties"].items():
        path = (*above, name)
        for kind, value in JSON_TYPES.items():
            # Kubernetes takes a list of any text for a time: the job says so instead, see below.
            is_taken = kind == "array" and inner.get("format") == "date-time"
            if kind != inner["type"] and not is_taken:
                yield ".".join(path), nest(path, value)
        if "properties" in inner:
            yield from mistakes(inner, path)


def nest(path: tuple[str, ...], value: Any) -> Raw:
    for name in reversed(path):
        value = {name: value}
    return dict(value)


def test_api_server_refuses_every_wrong_type_in_a_status_and_names_the_field(scene: Scene) -> None:
    scene.create(paddle_job("typed", {"worker": (1, WAITS)}, suspend=True))
    path = f"{jobs_path(scene.bad.namespace, 'typed', 'status')}?{DRY_RUN}"

    def refusal(status: Raw) -> str:
        with pytest.raises(ApiError) as refused:
            scene.bad.cluster.client.patch(path, {"status": status}, MERGE_PATCH)
        return refused.value.message

    wrong = list(mistakes(status_schema()))
    with ThreadPoolExecutor(CLIENTS) as pool:
        for (field, _), message in zip(
            wrong, pool.map(lambda each: refusal(each[1]), wrong), strict=True
        ):
            assert f"status.{field}" in message


@pytest.fixture(scope="module")
def garbled(scene: Scene) -> dict[str, str]:
    """The pods' UIDs of jobs that ran before another tool wrote to their statuses."""
    uids = {}
    for name in UNREADABLE:
        scene.create(paddle_job(name, {"worker": (1, WAITS)}))
    for name, (status, _) in UNREADABLE.items():
        scene.bad.wait_phase(name, "Running")
        (pod,) = scene.bad.pods(name)
        uids[name] = pod["metadata"]["uid"]
        write_status(scene, name, status)
    return uids


def write_status(scene: Scene, name: str, status: Raw) -> None:
    path = jobs_path(scene.bad.namespace, name, "status")
    scene.bad.cluster.client.patch(path, {"status": status}, MERGE_PATCH)


@pytest.mark.parametrize("name", UNREADABLE)
def test_job_says_that_its_status_cannot_be_read_and_goes_on_when_it_can(scene, garbled, name):
    lab, (status, told) = scene.bad, UNREADABLE[name]
    lab.wait(lambda: scene.pending(name).get("reason") == "StatusUnreadable", "it says so")
    assert scene.pending(name)["message"].startswith(told)
    lab.wait(lambda: lab.events(name, "StatusUnreadable"), "an Event says so")
    assert [pod["metadata"]["uid"] for pod in lab.pods(name)] == [garbled[name]]
    write_status(scene, name, dict.fromkeys(status))
    lab.wait(lambda: not scene.pending(name) and lab.status(name).get("attempt") == 1, "it goes on")
    assert lab.status(name)["phase"] == "Running"
    assert [pod["metadata"]["uid"] for pod in lab.pods(name)] == [garbled[name]]


def test_config_map_of_a_jobs_name_is_left_alone_and_the_job_says_so(scene: Scene) -> None:
    body = {"metadata": {"name": "taken"}, "data": {"large": "x" * (MEBIBYTE - 100)}}
    made = scene.bad.cluster.client.create(
        f"{CORE}/namespaces/{scene.bad.namespace}/configmaps", body
    )
    scene.create(paddle_job("taken", {"worker": (1, WAITS)}))
    scene.bad.wait(lambda: scene.pending("taken").get("reason") == "NameConflict", "it says so")
    assert "ConfigMap taken" in scene.pending("taken")["message"]
    assert scene.bad.get(CORE, "configmaps/taken") == made


def with_variables(count: int, size: int) -> Raw:
    env = [{"name": f"VARIABLE_{number}", "value": "x" * size} for number in range(count)]
    return shell("exec sleep 3600", env=env)


def test_ten_thousand_variables_reach_the_pod(scene: Scene) -> None:
    scene.create(paddle_job("wide", {"worker": (1, with_variables(VARIABLES, 8))}))
    (pod,) = scene.bad.wait(lambda: scene.bad.pods("wide"), "its pod")
    names = {each["name"] for each in pod["spec"]["containers"][0]["env"]}
    assert {f"VARIABLE_{number}" for number in range(VARIABLES)} <= names


def test_template_that_fits_nowhere_is_refused_at_once(scene: Scene) -> None:
    with pytest.raises(ApiError, match="too large"):
        scene.create(paddle_job("widest", {"worker": (1, with_variables(VARIABLES, 300))}))
