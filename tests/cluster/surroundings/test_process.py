"""The operator as a process beside a real API server: it starts, hands over, and survives."""

import itertools
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from api.constants import Reason
from kube.errors import ApiError
from localcluster import Cluster, ClusterConfig
from localcluster.machine import clock
from tests.live import patience
from tests.live.lab import CORE, Lab, paddle_job, shell
from tests.live.operated import CRD, install_crd, readyz
from tests.live.proxy import FaultProxy, audit_entries, cut, hold

ROOT = Path(__file__).parents[3]
WIDE, FIRST_PODS = 500, 20
LEASE = "paddlejob-operator-all"
TEMPLATE = shell("sleep 3600")


class Operator:
    """One process of the operator. Its address is chosen by the system."""

    def __init__(self, cluster: Cluster, log: Path, *arguments: str) -> None:
        self.log = log
        command = [sys.executable, "-m", "controller", "--kubeconfig", str(cluster.kubeconfig)]
        command += ["--metrics-bind-address", "0", "--log-format", "json"]
        command += ["--health-probe-bind-address", "127.0.0.1:0", *arguments]
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                command, cwd=ROOT, stdout=out, stderr=out, env=cluster.kubectl_environment()
            )

    def said(self, event: str) -> bool:
        return f'"event": "{event}"' in self.log.read_text()

    def wait_for(self, event: str) -> None:
        wait(lambda: self.said(event), f"{event} in {self.log.read_text()}")

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


StartOperator = Callable[..., Operator]


def wait(is_true: Callable[[], bool], what: str) -> None:
    assert clock.wait_until(is_true, patience.SECONDS), what


@pytest.fixture(scope="module")
def plane() -> Iterator[Cluster]:
    """A control plane of this module's own, for its CRD comes and goes."""
    with Cluster(ClusterConfig(nodes=0)) as running:
        yield running


@pytest.fixture
def lab(plane: Cluster) -> Lab:
    install_crd(plane) if CRD not in plane.kubectl("get", "crd", "-o", "name").stdout else None
    return Lab(plane, "default")


@pytest.fixture
def start_operator(plane: Cluster, tmp_path: Path) -> Iterator[StartOperator]:
    with ExitStack() as stack:

        def start(name: str, *arguments: str) -> Operator:
            operator = Operator(plane, tmp_path / f"{name}.log", *arguments)
            stack.callback(operator.stop)
            return operator

        yield start


def has_pods(lab: Lab, job: str) -> bool:
    return lab.get(CORE, f"pods/{job}-worker-0") is not None


def submit(lab: Lab, name: str) -> None:
    """Again until it is taken: the API server may not serve the CRD's kind yet."""
    job = paddle_job(name, {"worker": (1, TEMPLATE)})

    def is_taken() -> bool:
        try:
            lab.submit(job)
        except ApiError:
            return False
        return True

    wait(is_taken, f"{name} is submitted")


def holder(plane: Cluster) -> str:
    path = f"/apis/coordination.k8s.io/v1/namespaces/default/leases/{LEASE}"
    return str(plane.get(path)["spec"]["holderIdentity"])


def test_the_absence_and_the_return_of_the_crd_are_survived(plane, lab, start_operator):
    plane.kubectl("delete", "crd", CRD)
    operator = start_operator("operator")
    operator.wait_for("working")
    for name in ("first", "second"):
        install_crd(plane)
        submit(lab, name)
        wait(lambda name=name: has_pods(lab, name), f"pods of {name}")
        plane.kubectl("delete", "crd", CRD)
        # Its pods go once the garbage collector has learnt that the kind is gone.
    assert operator.process.poll() is None
    assert not operator.said("reconcile_raised")


def test_a_standby_that_leads_with_a_late_watch_of_jobs_deletes_no_pod(
    plane: Cluster, lab: Lab, start_operator: StartOperator, tmp_path: Path
) -> None:
    """It has seen the job suspended, and sees its pods run."""
    with closing(FaultProxy(plane)) as proxy:
        first = start_operator("first", "--leader-elect")
        first.wait_for("working")
        job = paddle_job("resumed", {"worker": (1, TEMPLATE)})
        job["spec"]["suspend"] = True
        lab.submit(job)
        wait(lambda: lab.status("resumed").get("phase") == "Suspended", "held")
        late = proxy.write_kubeconfig(tmp_path / "late")
        second = start_operator("second", "--leader-elect", "--kubeconfig", str(late))
        wait(lambda: second.log.read_text().count('"listed"') >= 4, "the standby's caches are full")
        wait(lambda: "paddlejobs" in proxy.watches(), "it watches jobs")
        proxy.freeze(lambda path: "paddlejobs" in path)
        lab.edit("resumed", suspend=False)
        wait(lambda: has_pods(lab, "resumed"), "pods")
        pod = lab.get(CORE, "pods/resumed-worker-0")
        first.process.send_signal(signal.SIGTERM)
        wait(lambda: second.said("working"), "the standby works")
        submit(lab, "after")
        wait(lambda: has_pods(lab, "after"), "pods of a later job")
        assert lab.get(CORE, "pods/resumed-worker-0")["metadata"]["uid"] == pod["metadata"]["uid"]
        assert lab.job("resumed")["status"]["attempt"] == 1


def test_a_leader_that_was_frozen_past_its_lease_ends_and_writes_nothing(
    plane: Cluster, lab: Lab, start_operator: StartOperator
) -> None:
    first = start_operator("first", "--leader-elect", *known_as("frozen", plane))
    first.wait_for("working")
    second = start_operator("second", "--leader-elect")
    submit(lab, "before")
    wait(lambda: is_unschedulable(lab, "before"), "it has no more to write")
    first.process.send_signal(signal.SIGSTOP)
    wait(lambda: second.said("working"), "the standby works")
    successor, written = holder(plane), writes_of("frozen", plane)
    assert written, "it wrote before"
    submit(lab, "thawed")
    first.process.send_signal(signal.SIGCONT)
    assert first.process.wait(patience.SECONDS) != 0
    assert first.said("lease_lost")
    assert holder(plane) == successor
    wait(lambda: has_pods(lab, "thawed"), "pods")
    assert writes_of("frozen", plane) == written


def is_unschedulable(lab: Lab, job: str) -> bool:
    """Whether the job says so, which is the last that is said of one where there is no node."""
    return lab.condition(job, "Pending").get("reason") == Reason.UNSCHEDULABLE


def known_as(name: str, plane: Cluster) -> tuple[str, str]:
    """Flags of an operator that the API server's log calls by this name."""
    plane.kubectl("create", "serviceaccount", name)
    rights = ("--clusterrole=cluster-admin", f"--serviceaccount=default:{name}")
    plane.kubectl("create", "clusterrolebinding", name, *rights)
    return "--kubeconfig", str(plane.kubeconfig_for("default", name))


def writes_of(name: str, plane: Cluster) -> list[str]:
    """What it has asked to be changed, the lease included, whatever came of it."""
    return [
        f"{entry['verb']} {entry['requestURI']}"
        for entry in audit_entries(plane)
        if entry["user"]["username"] == f"system:serviceaccount:default:{name}"
        and entry["verb"] not in ("get", "list", "watch")
    ]


def test_a_leader_that_is_told_to_stop_in_the_middle_of_many_pods_leaves_the_rest_to_the_next(
    plane: Cluster, lab: Lab, start_operator: StartOperator, tmp_path: Path
) -> None:
    """The creates that follow the first few are held up until it has been told."""
    is_told, asked = threading.Event(), itertools.count()
    held = hold(is_told)

    def hold_rest(handler: BaseHTTPRequestHandler) -> bool:
        return next(asked) >= FIRST_PODS and held(handler)

    with closing(FaultProxy(plane)) as proxy, proxy.rule("POST", "/pods", hold_rest):
        kubeconfig = proxy.write_kubeconfig(tmp_path / "kubeconfig")
        first = start_operator("first", "--leader-elect", "--kubeconfig", str(kubeconfig))
        first.wait_for("working")
        second = start_operator("second", "--leader-elect")
        wait(lambda: second.log.read_text().count('"listed"') >= 4, "the standby's caches are full")
        lab.submit(paddle_job("wide", {"worker": (WIDE, TEMPLATE)}))
        wait(lambda: len(lab.pods("wide")) > 0, "the first pods")
        assert not second.said("leading")
        first.process.send_signal(signal.SIGTERM)
        first.wait_for("stopping")
        is_told.set()
        assert first.process.wait(patience.SECONDS) == 0
    assert first.said("lease_released")
    assert len(lab.pods("wide")) < WIDE, "it was not in the middle"
    wait(lambda: second.said("working"), "the standby works")
    wait(lambda: len(lab.pods("wide")) == WIDE, "all pods")
    created = [
        entry["objectRef"]["name"]
        for entry in audit_entries(plane)
        if entry["verb"] == "create"
        and entry.get("objectRef", {}).get("resource") == "pods"
        and entry.get("responseStatus", {}).get("code") == 201
        and entry["objectRef"]["name"].startswith("wide-worker-")
    ]
    assert sorted(created) == sorted(f"wide-worker-{index}" for index in range(WIDE))


def hold_lease(plane: Cluster, seconds: int) -> None:
    """A Lease of somebody who never renews it, and of as many transitions as can be told."""
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": LEASE, "namespace": "default"},
        "spec": {
            "holderIdentity": "somebody",
            "leaseDurationSeconds": seconds,
            "leaseTransitions": 2**31 - 1,
        },
    }
    plane.kubectl("delete", "lease", LEASE, "--ignore-not-found")
    plane.kubectl("create", "-f", "-", stdin=json.dumps(lease))


@dataclass
class NearMiss:
    """Keeps a lease from being renewed until just before its deadline; then all goes well again.

    Seconds count from the last renewal before. The first request is held for a while, and so sets
    the time of those that follow, each 2 s after the last.
    """

    held_until: float
    cut_until: float
    answered_at: float
    renewed_at: float = 0.0
    is_armed: threading.Event = field(default_factory=threading.Event)

    def __call__(self, handler: BaseHTTPRequestHandler) -> bool:
        """What a proxy does with requests for Leases: passes them on late, or cuts them."""
        if not self.is_armed.is_set():
            return False
        if not self.renewed_at:
            self.renewed_at = clock.monotonic()
        elif self.seconds() < self.cut_until:
            self.wait_until(self.held_until)
            return cut(handler)
        elif handler.command == "PUT":
            self.wait_until(self.answered_at)
        return False

    def seconds(self) -> float:
        return clock.monotonic() - self.renewed_at if self.renewed_at else 0.0

    def wait_until(self, seconds: float) -> None:
        clock.sleep(max(0.0, seconds - self.seconds()))


@pytest.mark.parametrize(
    "near_miss",
    [
        pytest.param(NearMiss(3.5, 9.0, 11.5), id="sent in time and answered too late"),
        pytest.param(NearMiss(2.2, 9.95, 0.0), id="sent too late"),
    ],
)
def test_jobs_submitted_while_a_renewal_came_too_late_get_their_pods(
    plane: Cluster,
    lab: Lab,
    start_operator: StartOperator,
    tmp_path: Path,
    near_miss: NearMiss,
) -> None:
    with closing(FaultProxy(plane)) as proxy, proxy.rule("", "/leases/", near_miss):
        kubeconfig = proxy.write_kubeconfig(tmp_path / "kubeconfig")
        first = start_operator("first", "--leader-elect", "--kubeconfig", str(kubeconfig))
        first.wait_for("working")
        start_operator("second", "--leader-elect")
        near_miss.is_armed.set()
        wait(lambda: near_miss.seconds() > 9, "the deadline is near")
        jobs: list[str] = []
        while near_miss.seconds() < 12:
            jobs.append(f"late-{near_miss.held_until * 10:.0f}-{len(jobs)}")
            submit(lab, jobs[-1])
        for job in jobs:
            wait(lambda job=job: has_pods(lab, job), f"pods of {job}")
        first.wait_for("lease_lost")


def test_nobody_is_ready_while_nobody_can_lead(plane, lab, start_operator, tmp_path):
    hold_lease(plane, 1)
    may_lead = threading.Event()

    def renew(handler: BaseHTTPRequestHandler) -> bool:
        return not may_lead.is_set() and cut(handler)

    with closing(FaultProxy(plane)) as proxy, proxy.rule("PUT", "/leases/", renew):
        kubeconfig = proxy.write_kubeconfig(tmp_path / "kubeconfig")
        operator = start_operator("operator", "--leader-elect", "--kubeconfig", str(kubeconfig))
        operator.wait_for("lease_request_failed")
        pid = operator.process.pid
        wait(lambda: "nobody renews the lease" in readyz(pid)[1], "it is not ready")
        may_lead.set()
        wait(lambda: readyz(pid) == (200, "ok\n"), "it is ready")
        operator.wait_for("leading")


def test_no_cluster_is_told_in_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "controller", "--kubeconfig", str(tmp_path / "none")]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=patience.SECONDS
    )
    assert done.returncode == 1
    assert "cannot_start" in done.stderr
    assert "Traceback" not in done.stderr
