"""What real Kueue costs a start. docs/kueue.md has the figures: `-s`."""

import statistics
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from localcluster import Cluster, ClusterConfig
from localcluster.machine import clock
from tests.conftest import new_namespace
from tests.live import patience
from tests.live.kueue import SLEEP, condition, flavor, needs_kueue, prepare, queue, queued, submit
from tests.live.lab import PADDLE_JOBS, Lab, shell
from tests.live.operated import DEPLOYMENT, operator_beside
from tests.live.proxy import audit_entries

pytestmark = [needs_kueue]
PODS = 4
STARTS = 10
MORE_SECONDS, MORE_WRITES = 0.3, 4
POLL_SECONDS = 0.01
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
        submit(lab, flavor())
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
        assert clock.wait_until(lambda: is_admitted(lab, name), patience.SECONDS, POLL_SECONDS)
    began = clock.monotonic()
    assert clock.wait_until(
        lambda: lab.status(name).get("phase") == "Running", patience.SECONDS, POLL_SECONDS
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
