"""What the quickstart and `kubectl pdj run --local` make of a user's file."""

import json
import subprocess
from typing import Any, cast

import pytest

from localcluster import Cluster
from localcluster.commands.manifests import create_objects
from localcluster.commands.order import resources_of, without_places
from localcluster.machine.errors import LocalClusterError

Raw = dict[str, Any]


class OneCluster:
    """A cluster that knows namespaces alone, and makes their ServiceAccounts when waited for."""

    def __init__(self) -> None:
        self.client = self
        self.namespaces = {"default"}
        self.accounts: set[str] = set()
        self.objects: list[tuple[str, str]] = []
        self.texts: list[str] = []

    def find(self, path: str) -> Raw | None:
        """A namespace, by the last word of its path."""
        name = path.rpartition("/")[2]
        return {"metadata": {"name": name}} if name in self.namespaces else None

    def kubectl(self, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """What is asked of it; raises what kubectl would."""
        space = words[1] if words[0] == "-n" else "default"
        if "wait" in words:
            self.accounts.add(space)
        elif "namespace" in words:
            self._add_namespace(words[-1], "create")
        self.texts.append(stdin)
        for each in map(json.loads, stdin.splitlines()):
            if each["kind"] == "Namespace":
                self._add_namespace(each["metadata"]["name"], words[0])
            else:
                self._add(each, each["metadata"].get("namespace", space))
        return subprocess.CompletedProcess(words, 0, "made\n", "")

    def _add_namespace(self, name: str, verb: str) -> None:
        if name in self.namespaces and verb == "create":
            raise LocalClusterError(f"namespace {name} already exists")
        self.namespaces.add(name)

    def _add(self, thing: Raw, namespace: str) -> None:
        if namespace not in self.accounts:
            raise LocalClusterError(f"no ServiceAccount in {namespace} yet")
        self.objects.append((namespace, thing["metadata"]["name"]))


def named(kind: str, name: str, **metadata: str) -> Raw:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, **metadata}}


@pytest.mark.parametrize("own", [[], ["team-a"], ["team-a", "data"], ["default"]], ids=str)
@pytest.mark.parametrize("namespace", ["team-a", "default"])
def test_a_file_may_bring_its_namespaces(own, namespace):
    cluster = OneCluster()
    objects = [named("PaddleJob", "mine"), *(named("Namespace", name) for name in own)]
    create_objects(cast(Cluster, cluster), objects, namespace)
    assert cluster.namespaces == {"default", namespace, *own}
    assert cluster.objects == [(namespace, "mine")]


def test_text_that_kubectl_takes_for_a_number_stays_text():
    cluster = OneCluster()
    job = named("PaddleJob", "mine") | {"spec": {"args": ["--lr", "1e-3", "08", "y"]}}
    create_objects(cast(Cluster, cluster), [job], "default")
    assert json.loads(cluster.texts[-1]) == job


def test_no_role_asks_for_a_node_that_another_role_excludes():
    def role(zone: str) -> Raw:
        containers = [{"name": "paddle", "image": "i"}]
        spec = {"containers": containers, "nodeSelector": {"zone": zone}, "nodeName": zone}
        return {"template": {"spec": spec}}

    job = named("PaddleJob", "mine") | {"spec": {"ps": role("a"), "worker": role("b")}}
    (placed,) = without_places([job])
    specs = [placed["spec"][name]["template"]["spec"] for name in ("ps", "worker")]
    assert specs == [{"containers": [{"name": "paddle", "image": "i"}]}] * 2
    assert job["spec"]["ps"]["template"]["spec"]["nodeSelector"] == {"zone": "a"}


@pytest.mark.parametrize(
    "spec",
    [
        {"containers": [None, 1]},
        {"containers": [{"image": "i"}], "initContainers": "abc"},
        {"containers": [{"resources": "x"}, {"resources": {"limits": [{}]}}]},
    ],
)
def test_objects_that_the_api_server_will_refuse_are_left_to_it(spec):
    """A file for `run --local` can hold more than its job, which alone is checked before."""
    assert resources_of(spec) == set()
