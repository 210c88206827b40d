"""How fast a job starts beside that of a peer on the same node: Kubeflow's training operator.

Both are given the same pods in turn, so that whatever else the machine does slows down both.
"""

import random
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from api.constants import LABEL_JOB_NAME
from benchmarks.operators import Operator, RunningOperator
from benchmarks.peers.training_operator import ADAPTER
from localcluster import Cluster
from localcluster.commands.manifests import install
from tests.e2e.jobs import SLEEP, template
from tests.live.lab import CORE, PADDLE_JOBS, Lab, Raw, paddle_job

TRIALS = 3
PHASES = random.Random(1)
"""A kubelet looks once a second. The end of a job is seen at such a look, so without a random pause
every start would begin just after one."""
MOST_TIMES_THEIRS = 4.0
"""Our start against theirs, the medians of both: 2 to 3 times were measured, and a pod that is not
woken sleeps for ten seconds, which is 15 times. docs/performance.md says where the time goes.
"""


@dataclass(frozen=True)
class Side:
    """The API of an operator, the label of a job's pods, and a job of 2 + 2 that sleep."""

    api: str
    label: str
    job: Raw

    def start(self, lab: Lab, name: str) -> float:
        """Seconds from the job's creation until its four pods run; they are gone then."""
        jobs = f"{self.api}/namespaces/{lab.namespace}/paddlejobs"
        time.sleep(PHASES.random())
        began = time.monotonic()
        lab.cluster.client.create(jobs, {**self.job, "metadata": {"name": name}})
        lab.wait(lambda: self._phases(lab, name) == ["Running"] * 4, f"{name} runs")
        took = time.monotonic() - began
        lab.cluster.client.delete(f"{jobs}/{name}")
        lab.wait(lambda: not self._phases(lab, name), f"{name} is gone")
        return took

    def _phases(self, lab: Lab, name: str) -> list[str]:
        pods = lab.items(CORE, "pods", f"{self.label}={name}")
        return [pod["status"].get("phase", "") for pod in pods]


def our_side(intranet: str) -> Side:
    """This operator's."""
    roles = {"ps": (2, template(SLEEP)), "worker": (2, template(SLEEP))}
    return Side(PADDLE_JOBS, LABEL_JOB_NAME, paddle_job("", roles, intranet=intranet))


def their_side() -> Side:
    """Kubeflow's, whose PaddleJob has masters in place of servers."""
    job = ADAPTER.build_job("", servers=2, workers=2)
    for role in job["spec"]["paddleReplicaSpecs"].values():
        role["template"] = template(SLEEP)
    return Side("/apis/kubeflow.org/v1", "training.kubeflow.org/job-name", job)


@pytest.fixture
def peer(operated: Cluster, tmp_path: Path) -> Iterator[None]:
    """Kubeflow's operator runs beside ours; its CRD, of the same kind's name, goes at the end."""
    operator = Operator(ADAPTER.name, ADAPTER.command, ADAPTER)
    (crd,) = ADAPTER.manifests
    install(operated, crd, verb=("apply", "--server-side"))
    with RunningOperator(operator, operated.kubeconfig, tmp_path / "log"):
        yield
    operated.kubectl("delete", "-f", str(crd))


@pytest.mark.usefixtures("peer")
def test_a_start_beside_the_peers(lab: Lab, record_property) -> None:
    sides = {"ours": our_side("PodIP"), "by-service": our_side("Service"), "theirs": their_side()}
    for name, side in sides.items():
        side.start(lab, f"first-{name}")  # their process has just been started
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for trial in range(TRIALS):
        for name, side in sides.items():
            seconds[name].append(side.start(lab, f"{name}-{trial}"))
    for name, each in seconds.items():
        record_property(f"seconds, {name}", [round(one, 2) for one in each])
    ours, by_service, theirs = (statistics.median(each) for each in seconds.values())
    record_property("times theirs", f"{ours / theirs:.2f}, by Service {by_service / theirs:.2f}")
    assert max(ours, by_service) <= MOST_TIMES_THEIRS * theirs, seconds
