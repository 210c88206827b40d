"""The elastic jobs of two namespaces meet in two etcds, and none may reach that of the other.

Trainers write as Paddle's launchers do, below the job's id, at the address that they are given.
The local cluster enforces no NetworkPolicy, so its rules are compared with the pods that there are.
"""

import base64
import json
import os
import urllib.request
from collections.abc import Iterator
from itertools import permutations

import pytest

from api.objects import Raw, uid_of
from localcluster import Cluster
from tests.conftest import new_namespace
from tests.live.lab import CORE, Lab, paddle_job
from tests.live.processes import open_directly

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="pods of two jobs run at once in networks of their own: root alone"
)
POD = "pods/paddle-elastic-etcd-0"
POLICY = "networkpolicies/paddle-elastic-etcd"
PORT = 2379
WRITE = """
import base64, json, os, time, urllib.request
server = os.environ["PADDLE_MASTER"].strip("etcd://")
key = f"/paddle/{os.environ['PADDLE_JOB_ID']}/nodes/{os.environ['POD_IP']}"
body = {name: base64.b64encode(key.encode()).decode() for name in ("key", "value")}
urllib.request.urlopen(f"http://{server}/v3/kv/put", json.dumps(body).encode(), timeout=20).read()
time.sleep(3600)
"""


@pytest.fixture(scope="module")
def labs(operated: Cluster) -> Iterator[tuple[Lab, Lab]]:
    """Two namespaces under the strictest Pod Security, each with an etcd and an elastic job."""
    with new_namespace(operated) as first, new_namespace(operated) as second:
        labs = (Lab(operated, first), Lab(operated, second))
        for lab in labs:
            enforce = "pod-security.kubernetes.io/enforce=restricted"
            operated.kubectl("label", "namespace", lab.namespace, enforce)
        for lab in labs:
            lab.start_etcd()
            lab.submit(an_elastic_job())
        for lab in labs:
            lab.wait(lambda lab=lab: len(keys_in(lab)) == 2, "both workers have met")
        yield labs


def test_each_namespace_has_its_own_jobs_in_its_etcd(labs: tuple[Lab, Lab]) -> None:
    for own, other in permutations(labs):
        keys = keys_in(own)
        assert all(uid_of(own.job("elastic")) in key for key in keys)
        assert not any(uid_of(other.job("elastic")) in key for key in keys)


def test_a_pod_of_another_namespace_is_not_let_in(labs: tuple[Lab, Lab]) -> None:
    """Nor is one of its own namespace but for those of jobs, or for the port of clients."""
    for own, other in permutations(labs):
        policy = own.get("/apis/networking.k8s.io/v1", POLICY)
        etcd = own.get(CORE, POD)
        (rule,) = policy["spec"]["ingress"]
        (peer,) = rule["from"]
        assert selects(policy, policy["spec"]["podSelector"], etcd)
        assert rule["ports"] == [{"port": PORT, "protocol": "TCP"}]
        assert peer.keys() == {"podSelector"}, "so it is one of the policy's namespace"
        asking = [*own.pods("elastic"), *other.pods("elastic"), etcd]
        let_in = [selects(policy, peer["podSelector"], pod) for pod in asking]
        assert let_in == [True, True, False, False, False]


def selects(policy: Raw, selector: Raw, pod: Raw) -> bool:
    """Whether a selector of a policy means this pod."""
    assert selector.keys() == {"matchLabels"}, selector
    metadata = pod["metadata"]
    is_near = metadata["namespace"] == policy["metadata"]["namespace"]
    return is_near and selector["matchLabels"].items() <= metadata["labels"].items()


def an_elastic_job() -> dict:
    container = {
        "name": "paddle",
        "image": "python",
        "command": ["python", "-c", WRITE],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }
    return paddle_job("elastic", {"worker": (2, {"spec": {"containers": [container]}})}, elastic=1)


def keys_in(lab: Lab) -> list[str]:
    url = f"http://{lab.get(CORE, POD)['status']['podIP']}:{PORT}/v3/kv/range"
    all_keys = base64.b64encode(b"\0").decode()
    body = json.dumps({"key": all_keys, "range_end": all_keys, "keys_only": True}).encode()
    with open_directly(urllib.request.Request(url, body)) as answer:
        found = json.load(answer).get("kvs") or ()
    return [base64.b64decode(each["key"]).decode() for each in found]
