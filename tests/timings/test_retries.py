"""One tenant's failures by the thousand, and how soon another's first failure is made good."""

import contextlib
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from statistics import median

import pytest

from localcluster import Cluster
from localcluster.machine import clock
from tests.conftest import new_namespace
from tests.live import patience
from tests.live.lab import Lab, paddle_job, shell
from tests.live.operated import operator_behind
from tests.live.processes import http_get, listening_ports
from tests.live.proxy import FaultProxy, first, refuse
from tests.live.tenant import JOBS as JOB_RIGHTS
from tests.live.tenant import Tenant

JOBS = 300
FAILURES = 1_000
BUSY = refuse(429, "TooManyRequests", retry_after=1)
"""What fails so is tried again after a second, and its job never pauses."""
MORE_SECONDS = (1, 9)
"""Then each is tried again after a time between these: 60 a second, with tokens for ten."""
FAILS = refuse(500, "InternalError")
NEIGHBOURS = 7
LATER_SECONDS = 3.0
"""Retries are due after 5 and 10 ms; the rest is for a busy or slow machine. With one budget for
all tenants each would be minutes late."""
WAITS = shell("exec sleep 3600")


@dataclass
class Scene:
    proxy: FaultProxy
    failing: Tenant
    calm: Tenant
    metrics_port: int

    def failures(self) -> int:
        """How many failures the operator has counted, each of which took a token."""
        _, text = http_get(f"http://127.0.0.1:{self.metrics_port}/metrics")
        found = re.search(r"^workqueue_retries_total{.*} (\S+)$", text, re.MULTILINE)
        return int(float(found[1])) if found else 0

    def retry_seconds(self, name: str) -> float:
        """How long after the first failure of a new job of the calm tenant its second is made good.

        Its first status wakes it after the first one; after the second nothing but a token does.
        """
        lab = Lab(self.calm.cluster, self.calm.namespace)
        tries: list[float] = []
        fail = first(2, FAILS)

        def look(handler: BaseHTTPRequestHandler) -> bool:
            tries.append(clock.monotonic())
            return fail(handler)

        with self.proxy.rule("POST", f"/{self.calm.namespace}/pods", look):
            self.calm.submit(paddle_job(name, {"worker": (1, WAITS)}))
            lab.wait(lambda: lab.pods(name), f"the pod of {name}")
        return tries[2] - tries[0]

    def usual_retry_seconds(self, prefix: str) -> float:
        return median(self.retry_seconds(f"{prefix}-{number}") for number in range(NEIGHBOURS))


@pytest.fixture
def scene(unattended: Cluster, tmp_path: Path) -> Iterator[Scene]:
    with contextlib.ExitStack() as stack:
        names = [stack.enter_context(new_namespace(unattended)) for _ in range(2)]
        proxy = stack.enter_context(contextlib.closing(FaultProxy(unattended)))
        flag = "--metrics-bind-address=127.0.0.1:0"
        operator = stack.enter_context(operator_behind(proxy, "", tmp_path, flag))
        tenants = [Tenant(unattended, name, JOB_RIGHTS) for name in names]
        assert clock.wait_until(lambda: len(listening_ports(operator.pid)) == 1, patience.SECONDS)
        (port,) = listening_ports(operator.pid)
        yield Scene(proxy, tenants[0], tenants[1], port)


def test_failures_of_one_tenant_delay_no_retry_of_another(scene: Scene) -> None:
    """If the tenants had one budget of ten retries a second, these would have used up that of more
    than a minute.
    """
    alone = scene.usual_retry_seconds("alone")
    path = f"/{scene.failing.namespace}/pods"
    with scene.proxy.rule("POST", path, BUSY):
        jobs = (paddle_job(f"fails-{n}", {"worker": (1, WAITS)}) for n in range(JOBS))
        scene.failing.submit(*jobs)
        enough = clock.wait_until(lambda: scene.failures() >= FAILURES, patience.SECONDS)
        assert enough, scene.failures()
        # They go on, but no more at a rate that takes up the machine.
        with scene.proxy.rule("POST", path, busy_for_longer):
            beside = scene.usual_retry_seconds("beside")
    assert beside <= alone + LATER_SECONDS, (beside, alone)


def busy_for_longer(handler: BaseHTTPRequestHandler) -> bool:
    """As many failures a second, all the time, as use up the tokens and leave the machine free."""
    return refuse(429, "TooManyRequests", retry_after=random.randint(*MORE_SECONDS))(handler)
