"""What /readyz says is true: of the operator's rights, of a job, and of a start that takes long."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

import pytest

from api.constants import GROUP
from controller.work.memory import DENIED_SECONDS
from localcluster import Cluster
from localcluster.machine import clock
from localcluster.machine.process import Process
from tests.conftest import new_namespace
from tests.live.faulty import denied
from tests.live.lab import PADDLE_JOBS, Lab, paddle_job, shell
from tests.live.operated import (
    DEPLOYMENT,
    grant_roles,
    operator_behind,
    operator_beside,
    readyz,
)
from tests.live.proxy import FaultProxy, audit_entries, hold
from tests.live.tenant import wait_right

ON_A_PORT = "--health-probe-bind-address=127.0.0.1:0"
READY = (200, "ok\n")
LONG_SECONDS = 13.0
"""A list takes longer, and a lease of 15 s is found to be renewed by nobody."""
Seat = tuple[Lab, Process]


@pytest.fixture
def seats(unattended: Cluster) -> Iterator[list[Seat]]:
    with ExitStack() as stack:
        seats = []
        for _ in range(2):
            lab = Lab(unattended, stack.enter_context(new_namespace(unattended)))
            grant_roles(unattended, lab.namespace)
            beside = operator_beside(unattended, lab.namespace, ON_A_PORT, account_in=lab.namespace)
            seats.append((lab, stack.enter_context(beside)))
            lab.submit(paddle_job("before", {"worker": (1, shell("true"))}))
            lab.wait_completed("before")
        yield seats


def refused_for(lab: Lab) -> float:
    """Seconds from the first status of the namespace that was refused to the last."""
    path = f"{PADDLE_JOBS}/namespaces/{lab.namespace}/paddlejobs/held/status"
    refused = [
        datetime.fromisoformat(entry["requestReceivedTimestamp"]).timestamp()
        for entry in audit_entries(lab.cluster, about=lab.namespace)
        if entry["requestURI"].partition("?")[0] == path and entry["responseStatus"]["code"] == 403
    ]
    return max(refused, default=0.0) - min(refused, default=0.0)


def test_missing_rights_end_readiness_and_a_refused_job_does_not(seats: list[Seat]) -> None:
    (revoked, its), (policed, other) = seats
    binding = revoked.kubectl("get", "rolebinding", DEPLOYMENT, "-o", "yaml")
    with denied(policed, GROUP, "paddlejobs/status", "UPDATE", "not by you"):
        revoked.kubectl("delete", "rolebinding", DEPLOYMENT)
        status = (GROUP, "paddlejobs/status")
        wait_right(revoked, DEPLOYMENT, "patch", *status, is_given=False)
        for lab, _ in seats:
            lab.submit(paddle_job("held", {"worker": (1, shell("true"))}))
        why = f"no right to patch paddlejobs/status in namespace {revoked.namespace}\n"
        revoked.wait(lambda: readyz(its.pid) == (503, why), "the operator says so")
        policed.wait(lambda: refused_for(policed) > DENIED_SECONDS, "refused again and again")
        assert readyz(other.pid) == READY
        revoked.kubectl("apply", "-f", "-", stdin=binding)
    for lab, operator in seats:
        lab.wait_completed("held")
        lab.wait(lambda pid=operator.pid: readyz(pid) == READY, "ready again")


def test_start_that_lists_for_long_says_only_that(unattended: Cluster, tmp_path: Path) -> None:
    proxy = FaultProxy(unattended)
    with ExitStack() as stack:
        stack.callback(proxy.close)
        lab = Lab(unattended, stack.enter_context(new_namespace(unattended)))
        lists = r"/pods\?(?!.*watch=true)"
        is_listed = threading.Event()
        stack.callback(is_listed.set)
        stack.enter_context(proxy.rule("GET", lists, hold(is_listed)))
        flags = ("--leader-elect", f"--leader-election-namespace={lab.namespace}")
        behind = operator_behind(proxy, lab.namespace, tmp_path, *flags)
        operator, began = stack.enter_context(behind), clock.monotonic()
        lab.wait(lambda: readyz(operator.pid)[0], "it answers")
        lab.wait(lambda: clock.monotonic() > began + LONG_SECONDS, "the list takes its time")
        assert readyz(operator.pid) == (503, "not synced: pods.v1\n")
        is_listed.set()
        lab.wait(lambda: readyz(operator.pid) == READY, "ready")
