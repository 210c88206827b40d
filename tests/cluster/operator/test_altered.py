"""The operator is replaced by a later release, and the machine's clock is changed under it."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from api.constants import Reason
from api.objects import parse_time
from localcluster import Cluster
from tests.conftest import new_namespace
from tests.live.altered import RELEASE
from tests.live.lab import Lab, paddle_job, shell
from tests.live.operated import CHECKOUT, DEPLOYMENT, NAMESPACE, operator_beside
from tests.live.pdj import assert_explained
from tests.memory.former import former_config_map, former_pods, former_status

HOUR = 3600
BACK_OFF_SECONDS, LATE_SECONDS = 10, 20
WAITS = {"worker": (2, shell("exec sleep 3600"))}


@pytest.fixture
def lab(unattended: Cluster) -> Iterator[Lab]:
    with new_namespace(unattended) as namespace:
        yield Lab(unattended, namespace)


def uids(lab: Lab, job: str) -> list[str]:
    return [pod["metadata"]["uid"] for pod in lab.pods(job)]


@contextmanager
def altered_operator(lab: Lab, shift: Path) -> Iterator[None]:
    """A later release while the block lasts; its clock shows so many seconds more as `shift`."""
    shift.write_text("0")
    kubeconfig = lab.cluster.kubeconfig_for(NAMESPACE, DEPLOYMENT)
    command = [sys.executable, "-m", "tests.live.altered", str(shift)]
    command += [f"--kubeconfig={kubeconfig}", f"--namespace={lab.namespace}"]
    command += ["--metrics-bind-address=0", "--health-probe-bind-address=0"]
    name = f"altered-{lab.namespace}"
    lab.cluster.run_beside(name, command, CHECKOUT)
    yield
    lab.cluster.stop(name)


def test_pods_that_run_outlive_another_release(lab: Lab, tmp_path: Path) -> None:
    with operator_beside(lab.cluster, lab.namespace):
        lab.submit(paddle_job("old", WAITS))
        lab.wait_phase("old", "Running")
    pods, conditions = uids(lab, "old"), lab.status("old")["conditions"]
    with altered_operator(lab, tmp_path / "shift"):
        lab.submit(paddle_job("new", WAITS))
        lab.wait_phase("new", "Running")
        assert all(pod["metadata"]["labels"][RELEASE] == "later" for pod in lab.pods("new"))
        assert uids(lab, "old") == pods
        assert lab.status("old")["conditions"] == conditions


def test_a_job_that_another_operator_has_started_says_so(lab: Lab) -> None:
    lab.submit(paddle_job("former", WAITS))
    job = lab.job("former")
    pods = former_pods(job)
    addresses = {pod["metadata"]["name"]: "192.0.2.1" for pod in pods}
    lab.submit(former_config_map(job, addresses), *pods)
    for pod in addresses:
        lab.kubectl("wait", f"pod/{pod}", "--for=condition=Ready", "--timeout=60s")
    status = json.dumps({"status": former_status(job, "Running", "running")})
    lab.kubectl("patch", "pdj/former", "--subresource=status", "--type=merge", "-p", status)
    with operator_beside(lab.cluster, lab.namespace):
        assert_explained(lab, "former", Reason.ADOPTED)


def test_a_list_of_endpoints_that_is_too_long_ends_the_job(lab, tmp_path, monkeypatch):
    monkeypatch.setenv("LONGEST_VARIABLE", "20")
    with altered_operator(lab, tmp_path / "shift"):
        lab.submit(paddle_job("long", WAITS))
        assert_explained(lab, "long", Reason.ENDPOINTS_TOO_LONG)
        assert lab.status("long")["phase"] == "Failed"


def test_restarts_that_get_a_job_nowhere_end_it(lab, tmp_path, monkeypatch):
    monkeypatch.setenv("MOST_RESTARTS", "1")
    with altered_operator(lab, tmp_path / "shift"):
        lab.submit(paddle_job("loop", {"worker": (2, shell("exit 101"))}))
        assert_explained(lab, "loop", Reason.RESTART_LOOP)
        assert lab.status("loop")["restartCount"] == 1


def test_clock_that_is_ahead_ends_no_job(lab: Lab, tmp_path: Path) -> None:
    with altered_operator(lab, tmp_path / "shift"):
        lab.submit(paddle_job("train", WAITS, activeDeadlineSeconds=HOUR // 2))
        lab.wait_phase("train", "Running")
        (tmp_path / "shift").write_text(str(HOUR))
        lab.kubectl("annotate", "pdj/train", "example.com/touched=yes")
        lab.submit(paddle_job("later", WAITS))
        lab.wait_phase("later", "Running")
        assert lab.status("train")["phase"] == "Running"
        made = parse_time(lab.job("later")["metadata"]["creationTimestamp"])
        began = parse_time(lab.status("later")["startTime"])
        assert began and made and abs((began - made).total_seconds()) < LATE_SECONDS


@pytest.mark.parametrize("shift", [-HOUR, HOUR], ids=["back", "forward"])
def test_clock_that_is_set_puts_off_no_attempt(lab: Lab, tmp_path: Path, shift: int) -> None:
    with altered_operator(lab, tmp_path / "shift"):
        fails_twice = shell('test "$PADDLE_RENDEZVOUS" = 3')
        lab.submit(paddle_job("hit", {"worker": (1, fails_twice)}, backoffLimit=2))
        lab.wait(lambda: lab.status("hit").get("restartCount") == 2, "it backs off")
        (tmp_path / "shift").write_text(str(shift))
        lab.wait_completed("hit", BACK_OFF_SECONDS + LATE_SECONDS)
