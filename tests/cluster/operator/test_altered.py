"""The operator is replaced by a later release, and the machine's clock is changed under it."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from api.constants import Reason
from api.objects import parse_time
from localcluster import Cluster
from tests.conftest import new_namespace
from tests.live import patience
from tests.live.altered import RELEASE
from tests.live.lab import PADDLE_JOBS, Lab, paddle_job, shell
from tests.live.operated import CHECKOUT, DEPLOYMENT, NAMESPACE, operator_beside
from tests.live.pdj import assert_explained
from tests.memory.former import former_config_map, former_pods, former_status

HOUR = 3600
WAITS = {"worker": (2, shell("exec sleep 3600"))}
STRICT = {"LONGEST_VARIABLE": "30", "MOST_RESTARTS": "1"}


@pytest.fixture(scope="module")
def clock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """So many seconds more the operators' clock shows."""
    return tmp_path_factory.mktemp("clock") / "shift"


@pytest.fixture(scope="module")
def later(unattended: Cluster, clock: Path) -> Iterator[Lab]:
    """A namespace whose operator was replaced by that of a later release while a job ran, and was
    annotated with its conditions.
    """
    with new_namespace(unattended) as namespace:
        lab = Lab(unattended, namespace)
        with operator_beside(unattended, namespace):
            lab.submit(paddle_job("old", WAITS))
            lab.wait_phase("old", "Running")
            told = json.dumps(lab.status("old")["conditions"])
            lab.kubectl("annotate", "pdj/old", f"example.com/conditions={told}")
        with altered_operator(lab, clock):
            yield lab


@pytest.fixture(scope="module")
def strict(unattended: Cluster, clock: Path) -> Iterator[Lab]:
    """A namespace whose operator takes short lists alone, and one restart in vain."""
    with new_namespace(unattended) as namespace, pytest.MonkeyPatch.context() as patch:
        for name, value in STRICT.items():
            patch.setenv(name, value)
        lab = Lab(unattended, namespace)
        with altered_operator(lab, clock):
            yield lab


@contextmanager
def altered_operator(lab: Lab, shift: Path) -> Iterator[None]:
    """A later release while the block lasts."""
    shift.write_text("0")
    kubeconfig = lab.cluster.kubeconfig_for(NAMESPACE, DEPLOYMENT)
    command = [sys.executable, "-m", "tests.live.altered", str(shift)]
    command += [f"--kubeconfig={kubeconfig}", f"--namespace={lab.namespace}"]
    command += ["--metrics-bind-address=0", "--health-probe-bind-address=0"]
    name = f"altered-{lab.namespace}"
    lab.cluster.run_beside(name, command, CHECKOUT)
    yield
    lab.cluster.stop(name)


def releases(lab: Lab, job: str) -> list[str | None]:
    return [pod["metadata"]["labels"].get(RELEASE) for pod in lab.pods(job)]


def test_pods_that_run_outlive_another_release(later: Lab) -> None:
    later.submit(paddle_job("new", WAITS))
    later.wait_phase("new", "Running")
    assert releases(later, "new") == ["later"] * 2
    assert releases(later, "old") == [None] * 2
    old = later.job("old")
    told = json.loads(old["metadata"]["annotations"]["example.com/conditions"])
    assert old["status"]["conditions"] == told


def test_a_job_that_another_operator_has_started_says_so(unattended: Cluster) -> None:
    with new_namespace(unattended) as namespace:
        lab = Lab(unattended, namespace)
        lab.submit(paddle_job("former", WAITS))
        job = lab.job("former")
        pods = former_pods(job)
        addresses = {pod["metadata"]["name"]: "192.0.2.1" for pod in pods}
        lab.submit(former_config_map(job, addresses), *pods)
        names = [f"pod/{pod}" for pod in addresses]
        lab.kubectl("wait", *names, "--for=condition=Ready", patience.IN_KUBECTL)
        status = former_status(job, "Running", "running")
        lab.patch(PADDLE_JOBS, "paddlejobs/former/status", status=status)
        with operator_beside(unattended, namespace):
            assert_explained(lab, "former", Reason.ADOPTED)


def test_a_list_of_endpoints_that_is_too_long_ends_the_job(strict: Lab) -> None:
    strict.submit(paddle_job("long", {"worker": (3, shell("exec sleep 3600"))}))
    assert_explained(strict, "long", Reason.ENDPOINTS_TOO_LONG)
    assert strict.status("long")["phase"] == "Failed"


def test_restarts_that_get_a_job_nowhere_end_it(strict: Lab) -> None:
    strict.submit(paddle_job("loop", {"worker": (1, shell("exit 101"))}))
    assert_explained(strict, "loop", Reason.RESTART_LOOP)
    assert strict.status("loop")["restartCount"] == 1


def test_clock_that_is_ahead_ends_no_job(later: Lab, clock: Path) -> None:
    clock.write_text("0")
    later.submit(paddle_job("train", WAITS, activeDeadlineSeconds=HOUR // 2))
    later.wait_phase("train", "Running")
    clock.write_text(str(HOUR))
    later.kubectl("annotate", "pdj/train", "example.com/touched=yes")
    later.submit(paddle_job("later", WAITS))
    later.wait_phase("later", "Running")
    assert later.status("train")["phase"] == "Running"
    made = parse_time(later.job("later")["metadata"]["creationTimestamp"])
    began = parse_time(later.status("later")["startTime"])
    assert began and made and abs(began - made) < timedelta(seconds=HOUR / 2)


@pytest.mark.parametrize(("shown", "then"), [(HOUR, 0), (0, HOUR)], ids=["back", "forward"])
def test_clock_that_is_set_puts_off_no_attempt(later, clock, shown, then):
    clock.write_text(str(shown))
    name, fails_twice = f"hit-{then}", shell('test "$PADDLE_RENDEZVOUS" = 3')
    later.submit(paddle_job(name, {"worker": (1, fails_twice)}, backoffLimit=2))
    later.wait(lambda: later.status(name).get("restartCount") == 2, "it backs off")
    clock.write_text(str(then))
    later.wait_completed(name)
