"""`debug`: whose log is the operator's, and what is left out."""

import re
from typing import Any

import pytest

from api.objects import Raw
from kube.errors import Forbidden
from pdj.facts.picture import JobPicture
from pdj.gather.bundle import MAX_LOG_BYTES, OPERATOR, REDACTED, collect, redact
from tests.memory.builders import a_job
from tests.unit.pdj.cluster import Cluster

ACCOUNT = {"kind": "ServiceAccount", "name": "manager", "namespace": "systems"}


def a_pod_of(namespace: str, account: str) -> Raw:
    metadata = {"name": "pod", "namespace": namespace, "labels": dict([OPERATOR.split("=")])}
    return {"metadata": metadata, "spec": {"serviceAccountName": account}}


class Tenants(Cluster):
    """Where some lists are forbidden, and any log has a line."""

    def __init__(self, forbidden: str, **lists: list[Raw]) -> None:
        super().__init__()
        self.forbidden, self.lists = forbidden, lists
        self.queries: list[Any] = []

    def list(self, path: str, *_: Any) -> tuple[list[Raw], str]:
        if re.search(self.forbidden, path):
            raise Forbidden(path)
        return super().list(path)

    def text(self, path: str, *query: Any) -> str:
        self.queries += query
        return f'{path} {{"job": "default/train"}}\n'


def collected(cluster: Cluster) -> dict[str, str]:
    return dict(collect(cluster, JobPicture(a_job().with_workers(1).build()), False))


@pytest.mark.parametrize(
    ("forbidden", "namespace"), [("namespaces/", "systems"), ("rolebindings", "paddle-system")]
)
def test_a_tenants_pod_with_the_operators_label_is_not_read(forbidden, namespace):
    owners = (("systems", "manager"), ("paddle-system", "x"), ("tenant", "manager"))
    binding = {"metadata": {"name": "b"}, "subjects": [ACCOUNT]}
    pods = [a_pod_of(*each) for each in owners]
    cluster = Tenants(forbidden, pods=pods, clusterrolebindings=[binding])
    files = collected(cluster)
    (line,) = files["operator.log"].splitlines()
    assert line.startswith(f"/api/v1/namespaces/{namespace}/")
    assert "operator.log: tenant/pod is not read: " in files["problems.txt"]
    assert [query["limitBytes"] for query in cluster.queries] == [MAX_LOG_BYTES]


def test_an_operator_of_the_jobs_namespace_is_read():
    """The user has no rights in other namespaces."""
    pods = [a_pod_of("default", "manager"), a_pod_of("default", "tenant")]
    binding = {"metadata": {}, "subjects": [ACCOUNT | {"namespace": "default"}]}
    cluster = Tenants("^(?!.*namespaces/default/)", pods=pods, rolebindings=[binding])
    files = collected(cluster)
    assert len(files["operator.log"].splitlines()) == 1
    assert "operator.log: default/pod is not read: " in files["problems.txt"]


def test_values_of_variables_and_of_headers_are_hidden_wherever_they_stand():
    env = [{"name": "KEY", "value": "secret"}, {"name": "REF", "valueFrom": {"fieldRef": {}}}]
    applied = "kubectl.kubernetes.io/last-applied-configuration"
    probe = {"httpGet": {"httpHeaders": [{"name": "Authorization", "value": "secret"}]}}
    obj: Raw = {
        "metadata": {"annotations": {applied: "secret", "a": "b"}},
        "spec": [{"env": env, "livenessProbe": probe}],
    }
    hidden = redact(obj)
    assert "secret" not in str(hidden)
    assert hidden["metadata"]["annotations"] == {"a": "b"}
    assert hidden["spec"][0]["env"][0] == {"name": "KEY", "value": REDACTED}
    assert obj["spec"][0]["env"][0]["value"] == "secret"
