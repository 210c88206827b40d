"""`debug`: whose log is the operator's, and what is left out."""

from typing import Any

import pytest

from api.objects import Raw
from kube.client import Client
from kube.errors import Forbidden
from pdj.gather.bundle import MAX_LOG_BYTES, OPERATOR, REDACTED, collect, redact
from pdj.gather.jobs import JobPicture
from tests.memory.builders import a_job

ACCOUNT = {"kind": "ServiceAccount", "name": "manager", "namespace": "systems"}


def a_pod_of(namespace: str, account: str) -> Raw:
    metadata = {"name": "pod", "namespace": namespace, "labels": dict([OPERATOR.split("=")])}
    return {"metadata": metadata, "spec": {"serviceAccountName": account}}


class Cluster(Client):
    """Pods with the operator's label, in whose logs the namespace stands, and a binding."""

    def __init__(self, may_read_bindings: bool) -> None:
        self.may_read_bindings = may_read_bindings
        self.queries: list[Any] = []

    def list(self, path: str, *_: Any) -> tuple[list[Raw], str]:
        if path.endswith("clusterrolebindings"):
            if not self.may_read_bindings:
                raise Forbidden(path)
            return [{"metadata": {"name": "b"}, "subjects": [ACCOUNT]}], ""
        if path == "/api/v1/pods":
            owners = (("systems", "manager"), ("paddle-system", "x"), ("tenant", "manager"))
            return [a_pod_of(*each) for each in owners], ""
        return [], ""

    def text(self, path: str, query: Any = None) -> str:
        self.queries.append(query)
        return f'{path} {{"job": "default/train"}}\n'


@pytest.mark.parametrize(
    ("may_read_bindings", "namespace"), [(True, "systems"), (False, "paddle-system")]
)
def test_a_tenants_pod_with_the_operators_label_is_not_read(
    may_read_bindings: bool, namespace: str
) -> None:
    cluster = Cluster(may_read_bindings)
    files = dict(collect(cluster, JobPicture(a_job().with_workers(1).build()), False))
    (line,) = files["operator.log"].splitlines()
    assert line.startswith(f"/api/v1/namespaces/{namespace}/")
    assert "operator.log: tenant/pod is not read: " in files["problems.txt"]
    assert [query["limitBytes"] for query in cluster.queries] == [MAX_LOG_BYTES]


class OwnNamespace(Client):
    """An operator of the job's namespace alone, and a user who has no rights elsewhere."""

    def __init__(self) -> None:
        pass

    def list(self, path: str, *_: Any) -> tuple[list[Raw], str]:
        if path.endswith("/namespaces/default/pods"):
            return [a_pod_of("default", "manager"), a_pod_of("default", "tenant")], ""
        if path.endswith("/namespaces/default/rolebindings"):
            return [{"metadata": {}, "subjects": [ACCOUNT | {"namespace": "default"}]}], ""
        if "namespaces/default/" not in path:
            raise Forbidden(path)
        return [], ""

    def text(self, path: str, query: Any = None) -> str:
        return '{"job": "default/train"}\n'


def test_an_operator_of_the_jobs_namespace_is_read() -> None:
    files = dict(collect(OwnNamespace(), JobPicture(a_job().with_workers(1).build()), False))
    assert len(files["operator.log"].splitlines()) == 1
    assert "operator.log: default/pod is not read: " in files["problems.txt"]


def test_headers_of_probes_are_left_out_as_variables_are() -> None:
    headers = [{"name": "Authorization", "value": "secret"}]
    pod = {"containers": [{"livenessProbe": {"httpGet": {"httpHeaders": headers}}}]}
    assert "secret" not in str(redact(pod))
    assert REDACTED in str(redact(pod))
