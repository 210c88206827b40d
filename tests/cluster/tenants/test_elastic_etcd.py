"""The elastic jobs of two namespaces meet in two etcds, and nothing of one is in the other's.

Trainers write as Paddle's launchers do, below the job's id, at the address that they are given.
The local cluster enforces no NetworkPolicy: what it says is looked at in tests/unit/manifests.
"""

import base64
import json
import urllib.request
from collections.abc import Iterator
from itertools import permutations

import pytest

from api.objects import uid_of
from localcluster import Cluster
from tests.conftest import new_namespace
from tests.live.lab import CORE, Lab, paddle_job
from tests.live.operated import CHECKOUT

ETCD = CHECKOUT / "manifests" / "elastic" / "etcd.yaml"
ROLLOUT = ("rollout", "status", "statefulset/paddle-elastic-etcd", "--timeout=100s")
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
            lab.kubectl("create", "-f", str(ETCD))
        for lab in labs:
            lab.kubectl(*ROLLOUT, timeout_seconds=110)
            lab.submit(an_elastic_job())
        yield labs


def test_each_namespace_has_its_own_jobs_in_its_etcd(labs: tuple[Lab, Lab]) -> None:
    for lab in labs:
        lab.wait(lambda each=lab: len(keys_in(each)) == 2, "both workers have met", 60)
    for own, other in permutations(labs):
        keys = keys_in(own)
        assert all(uid_of(own.job("elastic")) in key for key in keys)
        assert not any(uid_of(other.job("elastic")) in key for key in keys)


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
    """All keys of the namespace's etcd."""
    pod = lab.get(CORE, "pods/paddle-elastic-etcd-0")
    url = f"http://{pod['status']['podIP']}:2379/v3/kv/range"
    all_keys = base64.b64encode(b"\0").decode()
    body = json.dumps({"key": all_keys, "range_end": all_keys, "keys_only": True}).encode()
    with urllib.request.urlopen(url, body, timeout=20) as answer:
        found = json.load(answer).get("kvs") or ()
    return [base64.b64decode(each["key"]).decode() for each in found]
