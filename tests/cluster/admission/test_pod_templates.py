"""What is legal in a Pod is legal in a template, field by field; a typo is refused in both."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from api.objects import Raw
from api.schema import load_pod_template
from localcluster import Cluster
from manifests.openapi import reduce_openapi
from tests.live.apiserver import DRY_RUN, ApiServer, jobs_path
from tests.pod_corpus import RUNTIME_CLASS, all_pods

PODS = all_pods()
Place = tuple[str | int, ...]
UNSET_BY_USERS = (
    ".metadata.",  # what the API server writes; the corpus has the rest
    ".readinessProbe.terminationGracePeriodSeconds",  # no Pod may set it
    ".spec.resources.claims",  # neither this
    ".volumeClaimTemplate.spec.volumeName",
    ".volumeClaimTemplate.spec.dataSourceRef.namespace",  # behind a feature gate
)
"""Fields that no pod of the corpus sets, and why."""


def as_job(name: str, template: Raw) -> Raw:
    return {
        "apiVersion": "batch.paddlepaddle.org/v1",
        "kind": "PaddleJob",
        "metadata": {"name": name},
        "spec": {"worker": {"template": template}},
    }


def template_of(pod: Raw) -> Raw:
    return {"metadata": pod["metadata"], "spec": pod["spec"]}


@pytest.fixture(scope="module")
def server(cluster: Cluster, crd: None) -> ApiServer:
    cluster.kubectl("apply", "-f", "-", stdin=json.dumps(RUNTIME_CLASS))
    return ApiServer(cluster)


@pytest.fixture(scope="module")
def namespace(cluster: Cluster, server: ApiServer) -> str:
    """One namespace for all: nothing is stored in it."""
    name = server.create_namespace()
    cluster.kubectl("wait", "-n", name, "--for=create", "serviceaccount/default")
    return name


@pytest.mark.parametrize("name", PODS)
def test_legal_in_a_pod_is_legal_in_a_template(server, namespace, name):
    pods, job = f"/api/v1/namespaces/{namespace}/pods", as_job(name, template_of(PODS[name]))
    assert server.create(pods, PODS[name], DRY_RUN).message == ""
    assert server.create(jobs_path(namespace), job, DRY_RUN).message == ""


def test_typos_are_refused_at_every_depth(server: ApiServer, namespace: str) -> None:
    typos = _misspelt()
    assert len(typos) > 150
    for path, template in typos.items():
        answer = server.create(jobs_path(namespace), as_job("typo", template), DRY_RUN)
        assert 'misspelt"' in answer.message, path


def test_corpus_sets_every_field() -> None:
    schema = load_pod_template()
    used = {each[0] for pod in PODS.values() for each in _walk(template_of(pod), schema, "", ())}
    unset = {p for p in _fields(schema, "") - used if not any(u in p for u in UNSET_BY_USERS)}
    assert unset == set()


def test_snapshot_is_the_api_servers_own(cluster: Cluster) -> None:
    served = json.loads(cluster.kubectl("get", "--raw", "/openapi/v3/api/v1").stdout)
    assert reduce_openapi(served) == load_pod_template()


def _misspelt() -> dict[str, Raw]:
    """Templates of the corpus with one unknown field each: one for every object in a schema."""
    schema, found = load_pod_template(), dict[str, Raw]()
    for pod in PODS.values():
        for path, place, is_object in _walk(template_of(pod), schema, "", ()):
            if is_object:
                found.setdefault(path, _with_typo(template_of(pod), place))
    return found


def _with_typo(template: Raw, place: Place) -> Raw:
    copy: Raw = json.loads(json.dumps(template))
    target: Any = copy
    for step in place:
        target = target[step]
    target["misspelt"] = 1
    return copy


def _walk(value: Any, schema: Raw, path: str, place: Place) -> Iterator[tuple[str, Place, bool]]:
    """Paths in the schema and places in the value, of all in it, and what has named fields."""
    is_object = isinstance(value, dict) and "properties" in schema
    yield path, place, is_object
    if is_object:
        for name, inner in value.items():
            field = schema["properties"][name]
            yield from _walk(inner, field, f"{path}.{name}", (*place, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _walk(inner, schema["items"], f"{path}[]", (*place, index))


def _fields(schema: Raw, path: str) -> set[str]:
    named = schema.get("properties", {})
    found = {f"{path}.{name}" for name in named}
    for name, inner in named.items():
        found |= _fields(inner, f"{path}.{name}")
    return found | (_fields(schema["items"], f"{path}[]") if "items" in schema else set())
