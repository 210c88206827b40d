"""An elastic job's workers come and go by hand, by an edit, and by an autoscaler.

Its trainers only sleep: Paddle's launchers are in tests/examples/test_elastic_job.py.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from api.constants import API_VERSION, KIND
from tests.live.history import History
from tests.live.lab import CORE, PADDLE_JOBS, Lab, Raw, paddle_job, shell
from tests.live.metrics_stub import MetricsStub

LEAST, MOST = 2, 4
TARGET = {"type": "AverageValue", "averageValue": "500m"}
AUTOSCALER = {
    "apiVersion": "autoscaling/v2",
    "kind": "HorizontalPodAutoscaler",
    "metadata": {"name": "auto"},
    "spec": {
        "scaleTargetRef": {"apiVersion": API_VERSION, "kind": KIND, "name": "auto"},
        "minReplicas": 2,
        "maxReplicas": 3,
        "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": TARGET}}],
    },
}


def elastic(name: str) -> Raw:
    """A job of 2 workers that may be 4. They take their time to come and to go, and so are seen."""
    template = shell("trap 'sleep 4; exit 15' TERM; sleep 3600 & wait")
    slow = {"name": "slow", "image": "busybox", "command": ["sh", "-c", "sleep 4"]}
    template["spec"]["initContainers"] = [slow]
    job = paddle_job(name, {"worker": (2, template)}, elastic=1)
    job["spec"]["worker"] |= {"requests": LEAST, "limits": MOST}
    return job


@pytest.fixture(scope="module")
def jobs(module_lab: Lab, job_history: History, tmp_path_factory: Any) -> Iterator[Lab]:
    """Two jobs that run, one of them watched by an autoscaler."""
    module_lab.submit(elastic("by-hand"), elastic("auto"), AUTOSCALER)
    folder: Path = tmp_path_factory.mktemp("metrics")
    with MetricsStub(module_lab.cluster, folder, cpu="900m"):
        module_lab.wait_all(("by-hand", "auto"), "Running")
        yield module_lab


@pytest.fixture(scope="module")
def scaled(jobs: Lab) -> dict[str, dict[str, str]]:
    """UIDs by pod name: at first, after `kubectl scale` to 4, after an edit to 3."""
    seen = {"first": uids(jobs)}
    jobs.kubectl("scale", "pdj", "by-hand", "--replicas=4")
    seen["grown"] = jobs.wait(lambda: settled(jobs, 4), "4 workers run")
    jobs.edit("by-hand", worker={"replicas": 3})
    seen["shrunk"] = jobs.wait(lambda: settled(jobs, 3), "3 workers run")
    return seen


def uids(lab: Lab) -> dict[str, str]:
    return {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in lab.pods("by-hand")}


def settled(lab: Lab, count: int) -> dict[str, str]:
    """The UIDs of the job's pods once they are as many, and its status says so."""
    found = uids(lab)
    status = lab.status("by-hand")
    said = (status["phase"], status["worker"].get("ready"), status["replicas"])
    return found if len(found) == count and said == ("Running", f"{count}/{count}", count) else {}


def test_new_workers_come_at_the_top(scaled: dict[str, dict[str, str]]) -> None:
    names = [f"by-hand-worker-{index}" for index in range(4)]
    assert list(scaled["grown"]) == names
    assert scaled["first"].items() <= scaled["grown"].items()


def test_workers_go_from_the_top(scaled: dict[str, dict[str, str]]) -> None:
    names = [f"by-hand-worker-{index}" for index in range(3)]
    assert scaled["shrunk"] == {name: scaled["grown"][name] for name in names}


@pytest.mark.usefixtures("scaled")
def test_phase_scaling_is_seen_each_time(job_history: History) -> None:
    seen = [phase for phase in job_history.phases("by-hand") if phase in ("Running", "Scaling")]
    assert seen == ["Running", "Scaling", "Running", "Scaling", "Running"]


@pytest.mark.usefixtures("scaled")
def test_to_scale_is_no_restart(jobs: Lab) -> None:
    """The worker that was removed exited with 15, as a launcher does that is told to stop."""
    status = jobs.status("by-hand")
    assert status["attempt"] == 1
    assert not {"restartCount", "failures"} & status.keys()


@pytest.mark.usefixtures("scaled")
def test_scale_subresource_tells_replicas_and_selector(jobs: Lab) -> None:
    scale = jobs.get(PADDLE_JOBS, "paddlejobs/by-hand/scale")
    assert scale["spec"]["replicas"] == scale["status"]["replicas"] == 3
    selected = jobs.items(CORE, "pods", scale["status"]["selector"])
    assert len(selected) == 3


def test_autoscaler_adds_a_worker(jobs: Lab) -> None:
    jobs.wait(lambda: jobs.status("auto")["worker"].get("ready") == "3/3", "3 workers run")
    autoscaler = jobs.get("/apis/autoscaling/v2", "horizontalpodautoscalers/auto")
    assert autoscaler["status"]["desiredReplicas"] == 3
    assert len(jobs.pod_names("auto")) == 3
