"""`lint` says offline what the API server says, to every job of the corpora and the examples."""

import json
from pathlib import Path

import pytest
import yaml

from api.objects import Raw
from localcluster import Cluster
from pdj.documents.advice import find_advice
from pdj.documents.checks import Whose, find_errors, is_job
from pdj.documents.reader import Document, read_documents
from pdj.documents.render import render
from tests.live.apiserver import DRY_RUN, ApiServer, jobs_path
from tests.memory import bad_jobs
from tests.memory.builders import NOW, a_job
from tests.pod_corpus import RUNTIME_CLASS, all_pods

CHECKOUT = Path(__file__).parents[3]
EXAMPLES = sorted((CHECKOUT / "examples").rglob("*.yaml"))


@pytest.fixture(scope="module")
def server(cluster: Cluster, crd: None) -> ApiServer:
    cluster.kubectl("apply", "-f", "-", stdin=json.dumps(RUNTIME_CLASS))
    return ApiServer(cluster)


@pytest.fixture(scope="module")
def namespace(server: ApiServer) -> str:
    return server.create_namespace()


def document_of(value: Raw, folder: Path) -> Document:
    """The object, written to a file and read as `lint` reads it."""
    file = folder / "job.yaml"
    file.write_text(yaml.safe_dump(value))
    (document,) = read_documents(str(file))
    return document


def refusal(document: Document) -> list[str]:
    """What `lint` says in the API server's place."""
    return [
        f"{error.path}: {error.message}"
        for error in find_errors(document)
        if error.whose is Whose.API_SERVER
    ]


def assert_agrees(server: ApiServer, namespace: str, name: str, document: Document) -> None:
    """The API server takes the job if and only if `lint` finds nothing."""
    job = document.value
    job = job | {"metadata": job["metadata"] | {"namespace": namespace}}
    said = server.create(jobs_path(namespace), job, DRY_RUN).message
    assert bool(refusal(document)) == bool(said), (name, refusal(document), said)


def test_bad_jobs(server: ApiServer, namespace: str, tmp_path: Path) -> None:
    for bad in (*bad_jobs.schema(), *bad_jobs.rules(), *bad_jobs.python_only()):
        assert_agrees(server, namespace, bad.name, document_of(bad.job, tmp_path))


def test_bad_jobs_are_refused_at_the_field_at_fault(tmp_path: Path) -> None:
    for bad in (*bad_jobs.schema(), *bad_jobs.rules(), *bad_jobs.python_only()):
        paths = [error.path for error in find_errors(document_of(bad.job, tmp_path))]
        field = bad.field.partition("[")[0]
        assert any(path.startswith(field) or bad.field in path for path in paths), (bad, paths)


def test_every_field_of_a_pod(server: ApiServer, namespace: str, tmp_path: Path) -> None:
    for name, pod in all_pods().items():
        template = {"metadata": pod["metadata"], "spec": pod["spec"]}
        job = a_job("corpus").with_workers(1, template).build()
        assert_agrees(server, namespace, name, document_of(job, tmp_path))


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_examples(server: ApiServer, namespace: str, file: Path) -> None:
    for document in read_documents(str(file)):
        if is_job(document):
            assert_agrees(server, namespace, file.name, document)
            assert not find_errors(document)
            assert file.parent.name != "recipes" or not find_advice(document)
            assert {each["kind"] for each in render(document.value, NOW)} >= {"Pod"}


WORDS: list[Raw] = [
    {"metadata": {"labels": {"a": "b c"}}},
    {"metadata": {"labels": {"a/b/c": "d"}}},
    {"metadata": {"labels": {"a": 1}}},
    {"metadata": {"annotations": {"a": True}}},
    {"metadata": {"nmae": "x"}},
    {"metadata": {"labels": None}},
    {"spec": {"ttlSecondsAfterFinished": 2**31}},
    {"spec": {"activeDeadlineSeconds": 1.5}},
    {"spec": {"activeDeadlineSeconds": 2**62}},
    {"spec": {"withGloo": None}},
    {"spec": {"backoffLimit": None}},
    {"spec": {"managedBy": "no-slash"}},
    {"spec": {"suspend": "yes"}},
    {"status": {"phase": "Running"}},
    {"status": {"phase": 1}},
]


@pytest.mark.parametrize("change", WORDS, ids=str)
def test_odd_values(server: ApiServer, namespace: str, change: Raw, tmp_path: Path) -> None:
    job = a_job("odd").with_workers(1).build()
    for part, fields in change.items():
        job[part] = {**job.get(part, {}), **fields}
    assert_agrees(server, namespace, str(change), document_of(job, tmp_path))
