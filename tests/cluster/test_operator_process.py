"""The operator as a process beside a real API server: it starts, hands over, and survives."""

import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from localcluster import Cluster, ClusterConfig, clock
from localcluster.errors import LocalClusterError
from tests.cluster.processes import listening_ports
from tests.lab import CORE, Lab, paddle_job, shell
from tests.operated import CRD, install_crd

ROOT = Path(__file__).parents[2]
HAND_OVER_SECONDS = 9.0
"""Less than a standby waits for a lease that nobody has given up: 13 s from its last renewal."""
WAIT_SECONDS = 120.0
TEMPLATE = shell("sleep 3600")


class Operator:
    """One process of the operator. Its addresses are chosen by the system, its log tells them."""

    def __init__(self, cluster: Cluster, log: Path, *arguments: str) -> None:
        self.log = log
        command = [sys.executable, "-m", "controller", "--kubeconfig", str(cluster.kubeconfig)]
        command += ["--metrics-bind-address", "127.0.0.1:0", "--log-format", "json"]
        command += ["--health-probe-bind-address", "127.0.0.1:0", *arguments]
        with log.open("wb") as out:
            self.process = subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=out)

    def said(self, event: str) -> bool:
        """Whether the log has this event."""
        return f'"event": "{event}"' in self.log.read_text()

    def wait_for(self, event: str) -> None:
        """Wait until the log has this event."""
        wait(lambda: self.said(event), f"{event} in {self.log.read_text()}")

    def stop(self) -> None:
        """End it whatever it does."""
        self.process.kill()
        self.process.wait()


StartOperator = Callable[..., Operator]


def wait(is_true: Callable[[], bool], what: str, seconds: float = WAIT_SECONDS) -> None:
    assert clock.wait_until(is_true, seconds), f"not in {seconds:.0f} s: {what}"


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
    """Again until it is taken: kubectl may still know the API as it was without the CRD."""
    job = paddle_job(name, {"worker": (1, TEMPLATE)})

    def is_taken() -> bool:
        try:
            lab.submit(job)
        except LocalClusterError:
            return False
        return True

    wait(is_taken, f"{name} is submitted")


def holder(plane: Cluster) -> str:
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/paddlejob-operator-all"
    return str(plane.get(path)["spec"]["holderIdentity"])


def test_the_absence_and_the_return_of_the_crd_are_survived(
    plane: Cluster, lab: Lab, start_operator: StartOperator
) -> None:
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


def test_a_leader_that_is_told_to_stop_hands_over_at_once(
    plane: Cluster, lab: Lab, start_operator: StartOperator
) -> None:
    first = start_operator("first", "--leader-elect")
    first.wait_for("working")
    second = start_operator("second", "--leader-elect")
    wait(lambda: second.log.read_text().count('"listed"') >= 4, "the standby's caches are full")
    assert not second.said("leading")
    first.process.send_signal(signal.SIGTERM)
    wait(lambda: second.said("working"), "the standby works", HAND_OVER_SECONDS)
    assert first.process.wait(WAIT_SECONDS) == 0
    submit(lab, "handed-over")
    wait(lambda: has_pods(lab, "handed-over"), "pods")


def test_a_leader_that_was_frozen_past_its_lease_ends_and_writes_nothing(
    plane: Cluster, lab: Lab, start_operator: StartOperator
) -> None:
    first = start_operator("first", "--leader-elect")
    first.wait_for("working")
    second = start_operator("second", "--leader-elect")
    first.process.send_signal(signal.SIGSTOP)
    wait(lambda: second.said("working"), "the standby works")
    successor = holder(plane)
    submit(lab, "thawed")
    first.process.send_signal(signal.SIGCONT)
    assert first.process.wait(WAIT_SECONDS) != 0
    assert first.said("lease_lost")
    assert holder(plane) == successor
    wait(lambda: has_pods(lab, "thawed"), "pods")


def test_a_leader_that_was_killed_is_followed_after_its_lease(
    lab: Lab, start_operator: StartOperator
) -> None:
    first = start_operator("first", "--leader-elect")
    first.wait_for("working")
    second = start_operator("second", "--leader-elect")
    first.stop()
    submit(lab, "orphaned")
    wait(lambda: second.said("working"), "the standby works")
    wait(lambda: has_pods(lab, "orphaned"), "pods")


def test_one_namespace_is_all_that_it_touches_when_told_so(
    plane: Cluster, lab: Lab, start_operator: StartOperator
) -> None:
    plane.kubectl("create", "namespace", "team")
    plane.kubectl("wait", "-n", "team", "--for=create", "serviceaccount/default")
    start_operator("operator", "--namespace", "team").wait_for("working")
    submit(lab, "elsewhere")
    submit(Lab(plane, "team"), "here")
    wait(lambda: has_pods(Lab(plane, "team"), "here"), "pods in its namespace")
    assert not has_pods(lab, "elsewhere")


def test_the_endpoints_answer(lab: Lab, start_operator: StartOperator) -> None:
    operator = start_operator("operator")
    operator.wait_for("working")
    ports = sorted(listening_ports(operator.process.pid))
    answers = {path: ask(ports, path) for path in ("/healthz", "/readyz", "/metrics")}
    assert answers["/healthz"] == answers["/readyz"] == "ok\n"
    assert "workqueue_depth" in answers["/metrics"]
    assert 'paddlejob_jobs{mode="PS",phase="Running"}' in answers["/metrics"]


def test_no_cluster_is_told_in_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "controller", "--kubeconfig", str(tmp_path / "none")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "cannot_start" in done.stderr
    assert "Traceback" not in done.stderr


def ask(ports: list[int], path: str) -> str:
    """The answer of whichever port knows the path."""
    for port in ports:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
                return str(answer.read().decode())
        except urllib.error.HTTPError as error:
            with error:
                if error.code != 404:
                    return str(error.read().decode())
    raise AssertionError(f"nobody answers {path} on {ports}")
