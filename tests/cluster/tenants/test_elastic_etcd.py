"""The elastic jobs of two namespaces meet in two etcds, and none reaches that of the other.

Trainers write as Paddle's launchers do, below the job's id, at the address that they are given.
The local cluster enforces no NetworkPolicy: tests/live/guard.py does, before each etcd.
"""

import base64
import json
import os
import socket
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, closing
from itertools import permutations

import pytest

from api.objects import uid_of
from localcluster import Cluster
from tests.conftest import new_namespace
from tests.live.guard import Guard
from tests.live.lab import CORE, Lab, paddle_job
from tests.live.operated import CHECKOUT

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="the guard has to enter the network of a pod: root alone may"
)
ETCD = CHECKOUT / "manifests" / "elastic" / "etcd.yaml"
POD = "pods/paddle-elastic-etcd-0"
PORT, BEHIND = 2379, 2378
ROLLOUT = ("rollout", "status", "statefulset/paddle-elastic-etcd", "--timeout=100s")
WRITE = """
import base64, json, os, time, urllib.request
server = os.environ["PADDLE_MASTER"].strip("etcd://")
key = f"/paddle/{os.environ['PADDLE_JOB_ID']}/nodes/{os.environ['POD_IP']}"
body = {name: base64.b64encode(key.encode()).decode() for name in ("key", "value")}
urllib.request.urlopen(f"http://{server}/v3/kv/put", json.dumps(body).encode(), timeout=20).read()
time.sleep(3600)
"""
ATTACK = """
import base64, json, sys, urllib.request
first, other = (base64.b64encode(key).decode() for key in (bytes(1), b"/x"))
asks = {
    "range": {"key": first, "range_end": first},
    "put": {"key": other, "value": other},
    "deleterange": {"key": other},
}
for what, body in asks.items():
    url = f"http://{sys.argv[1]}/v3/kv/{what}"
    try:
        urllib.request.urlopen(url, json.dumps(body).encode(), timeout=20).read()
        print(what, "done")
    except OSError:
        print(what, "refused")
"""


@pytest.fixture(scope="module")
def labs(operated: Cluster) -> Iterator[tuple[Lab, Lab]]:
    """Two namespaces under the strictest Pod Security, each with an etcd and an elastic job."""
    with new_namespace(operated) as first, new_namespace(operated) as second:
        labs = (Lab(operated, first), Lab(operated, second))
        for lab in labs:
            enforce = "pod-security.kubernetes.io/enforce=restricted"
            operated.kubectl("label", "namespace", lab.namespace, enforce)
            listen = f"listen-client-urls=http://$(POD_IP):{PORT}"
            etcd = ETCD.read_text()
            assert listen in etcd
            lab.kubectl("create", "-f", "-", stdin=etcd.replace(listen, listen[:-4] + str(BEHIND)))
        with ExitStack() as stack:
            for lab in labs:
                stack.enter_context(closing(guard_of(lab)))
                lab.kubectl(*ROLLOUT, timeout_seconds=110)
                lab.submit(an_elastic_job())
            yield labs


def guard_of(lab: Lab) -> Guard:
    """What the NetworkPolicy beside it makes of the etcd's port."""
    address = lab.wait(lambda: (lab.get(CORE, POD) or {}).get("status", {}).get("podIP"), "etcd")
    lab.wait(lambda: listens(address), "it listens behind the guard")
    policies = "/apis/networking.k8s.io/v1"
    policy = lab.get(policies, "networkpolicies/paddle-elastic-etcd")
    return Guard(lab.cluster, policy, address, PORT, BEHIND)


def listens(address: str) -> bool:
    with socket.socket() as client:
        return client.connect_ex((address, BEHIND)) == 0


def test_each_namespace_has_its_own_jobs_in_its_etcd(labs: tuple[Lab, Lab]) -> None:
    for lab in labs:
        lab.wait(lambda each=lab: len(keys_in(each)) == 2, "both workers have met", 60)
    for own, other in permutations(labs):
        keys = keys_in(own)
        assert all(uid_of(own.job("elastic")) in key for key in keys)
        assert not any(uid_of(other.job("elastic")) in key for key in keys)


def test_a_pod_of_another_namespace_neither_reads_nor_writes(labs: tuple[Lab, Lab]) -> None:
    """With the labels that its own namespace's etcd lets in."""
    for own, other in permutations(labs):
        other.wait(lambda each=other: len(keys_in(each)) == 2, "both workers have met", 60)
        before = keys_in(other)
        for name, target in (("own", own), ("other", other)):
            address = f"paddle-elastic-etcd.{target.namespace}:{PORT}"
            container = a_container("python", "-c", ATTACK, address)
            roles = {"worker": (1, {"spec": {"containers": [container]}})}
            own.submit(paddle_job(name, roles, cleanPodPolicy="Never"))
        ends = {"own": "done", "other": "refused"}
        for name, end in ends.items():
            own.wait_completed(name)
            told = own.log(f"{name}-worker-0").splitlines()
            assert told == [f"{what} {end}" for what in ("range", "put", "deleterange")]
        assert keys_in(other) == before


def an_elastic_job() -> dict:
    container = a_container("python", "-c", WRITE)
    return paddle_job("elastic", {"worker": (2, {"spec": {"containers": [container]}})}, elastic=1)


def a_container(*command: str) -> dict:
    return {
        "name": "paddle",
        "image": "python",
        "command": command,
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }


def keys_in(lab: Lab) -> list[str]:
    url = f"http://{lab.get(CORE, POD)['status']['podIP']}:{BEHIND}/v3/kv/range"
    all_keys = base64.b64encode(b"\0").decode()
    body = json.dumps({"key": all_keys, "range_end": all_keys, "keys_only": True}).encode()
    with urllib.request.urlopen(url, body, timeout=20) as answer:
        found = json.load(answer).get("kvs") or ()
    return [base64.b64decode(each["key"]).decode() for each in found]
