"""What real Kueue costs a start, and a crowd in one queue. docs/kueue.md has the figures: `-s`."""

import statistics
import sys
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from benchmarks.simulator import ANNOTATION, PINS, start_simulator
from localcluster import Cluster, ClusterConfig
from localcluster.machine import clock
from tests.conftest import new_namespace
from tests.live.history import History
from tests.live.kueue import (
    API,
    SLEEP,
    VERSION,
    condition,
    flavor,
    needs_kueue,
    prepare,
    queue,
    queued,
    submit,
)
from tests.live.lab import CORE, PADDLE_JOBS, Lab, shell
from tests.live.operated import DEPLOYMENT, operator_beside
from tests.live.proxy import audit_entries

pytestmark = [needs_kueue, pytest.mark.timeout(1000)]
JOBS, PODS, MOST_PODS = 200, 4, 40
CROWD_SECONDS = 800.0
STARTS = 10
MORE_SECONDS, MORE_WRITES = 0.3, 4
START_SECONDS, POLL_SECONDS = 60.0, 0.01
SETTLE_SECONDS = 2.0
WRITES = ("create", "patch", "update", "delete")
SMALL: dict[str, Any] = {"resources": {"requests": {"cpu": "10m"}}}


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with (
        Cluster(ClusterConfig(nodes=1)) as running,
        prepare(running) as kueue,
        new_namespace(running) as namespace,
        operator_beside(running, namespace, "--kueue"),
    ):
        kueue.start()
        lab = Lab(running, namespace)
        kind = {"apiVersion": VERSION, "kind": "WorkloadPriorityClass"}
        classes = [
            kind | {"metadata": {"name": name}, "value": value}
            for name, value in (("low", 1), ("high", 1000))
        ]
        submit(lab, flavor(), *classes)
        yield lab


def test_start_costs_little_more(lab: Lab) -> None:
    """Admission to all pods running, against creation to all pods running without a queue."""
    submit(lab, *queue(lab, "starts", "100m"))
    plain, held = [], []
    for number in range(STARTS):
        plain.append(start(lab, f"plain-{number}", ""))
        held.append(start(lab, f"held-{number}", "starts"))
    seconds = [statistics.median(each[0] for each in kind) for kind in (plain, held)]
    writes = [statistics.mean(each[1] for each in kind) for kind in (plain, held)]
    tell("a start without and with a queue: seconds", *seconds, "writes", *writes)
    assert seconds[1] - seconds[0] <= MORE_SECONDS
    assert writes[1] - writes[0] <= MORE_WRITES


def tell(*words: object) -> None:
    texts = (f"{word:.2f}" if isinstance(word, float) else str(word) for word in words)
    sys.stdout.write(f"\n{' '.join(texts)}\n")


def start(lab: Lab, name: str, in_queue: str) -> tuple[float, int]:
    """Seconds until all pods run, from admission or else from creation, and the writes."""
    job = queued(name, in_queue, PODS, template=shell(SLEEP, **SMALL))
    if not in_queue:
        del job["metadata"]["labels"]
    before = writes_of_operator(lab)
    lab.cluster.client.create(f"{PADDLE_JOBS}/namespaces/{lab.namespace}/paddlejobs", job)
    if in_queue:
        assert clock.wait_until(lambda: is_admitted(lab, name), START_SECONDS, POLL_SECONDS)
    began = clock.monotonic()
    assert clock.wait_until(
        lambda: lab.status(name).get("phase") == "Running", START_SECONDS, POLL_SECONDS
    )
    took = clock.monotonic() - began
    clock.sleep(SETTLE_SECONDS)
    writes = writes_of_operator(lab) - before
    lab.kubectl("delete", "pdj", name)
    lab.wait(lambda: not lab.pods(name), "its pods go")
    return took, writes


def is_admitted(lab: Lab, name: str) -> bool:
    return condition(lab, name, "Admitted").get("status") == "True"


def writes_of_operator(lab: Lab) -> int:
    """How many writes the operator has made, without Events and its lease."""
    return sum(
        entry["verb"] in WRITES and entry["objectRef"]["resource"] not in ("events", "leases")
        for entry in audit_entries(lab.cluster)
        if entry["user"]["username"].endswith(f":{DEPLOYMENT}") and "objectRef" in entry
    )


def test_crowd_keeps_to_its_quota_and_higher_priority_goes_first(lab: Lab) -> None:
    PINS.binaries_folder()
    size = {"cpu": "8", "memory": "64Gi", "pods": "2000"}
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": "simulated",
            "labels": {"pool": "simulated"},
            "annotations": {ANNOTATION: "fake"},
        },
        "status": {"capacity": size, "allocatable": size},
    }
    submit(lab, node, flavor("simulated", nodeLabels={"pool": "simulated"}))
    submit(
        lab,
        *queue(
            lab,
            "crowd",
            f"{10 * MOST_PODS}m",
            "simulated",
            stopPolicy="Hold",
            queueingStrategy="StrictFIFO",
        ),
    )
    template = shell("what runs on a simulated node", **SMALL)
    jobs = [
        queued(f"{level}-{number}", "crowd", PODS, priority=level, template=template)
        for level in ("low", "high")
        for number in range(JOBS // 2)
    ]
    simulator = start_simulator(lab.cluster.kubeconfig, lab.cluster.folder / "kwok.log")
    with simulator, History(lab, CORE, "pods") as history:
        submit(lab, *jobs)
        lab.wait(lambda: len(lab.items(API, "workloads")) >= JOBS, "Workloads", 300)
        began = clock.monotonic()
        go_on = '--patch={"spec":{"stopPolicy":"None"}}'
        lab.kubectl("patch", "clusterqueue", "crowd", "--type=merge", go_on)
        while not all_completed(lab):
            assert clock.monotonic() - began < CROWD_SECONDS, lab.report()
            end_running_pods(lab)
            clock.sleep(1)
        took = clock.monotonic() - began
        most = most_at_once(history)
    admitted = {name: admitted_at(lab, name) for name in (j["metadata"]["name"] for j in jobs)}
    last_high = max(time for name, time in admitted.items() if name.startswith("high"))
    first_low = min(time for name, time in admitted.items() if name.startswith("low"))
    tell(JOBS, "jobs took", took, "s; most pods at once:", most)
    assert most <= MOST_PODS
    assert last_high <= first_low


def all_completed(lab: Lab) -> bool:
    phases = [
        (each.get("status") or {}).get("phase") for each in lab.items(PADDLE_JOBS, "paddlejobs")
    ]
    assert "Failed" not in phases
    return phases.count("Completed") == JOBS


def end_running_pods(lab: Lab) -> None:
    """What a kubelet would say of them."""
    pods = f"{CORE}/namespaces/{lab.namespace}/pods"
    for pod in lab.items(CORE, "pods"):
        if pod["status"].get("phase") == "Running" and pod["spec"]["nodeName"] == "simulated":
            ended = {"terminated": {"exitCode": 0, "reason": "Completed"}}
            containers = [
                each | {"ready": False, "state": ended}
                for each in pod["status"]["containerStatuses"]
            ]
            status = {"phase": "Succeeded", "containerStatuses": containers}
            lab.cluster.client.merge_patch(
                f"{pods}/{pod['metadata']['name']}/status", {"status": status}
            )


def most_at_once(history: History) -> int:
    live, most = set[str](), 0
    for kind, pod in history.events():
        ended = kind == "DELETED" or pod["status"].get("phase") in ("Succeeded", "Failed")
        (live.discard if ended else live.add)(pod["metadata"]["name"])
        most = max(most, len(live))
    return most


def admitted_at(lab: Lab, name: str) -> datetime:
    return datetime.fromisoformat(condition(lab, name, "QuotaReserved")["lastTransitionTime"])
