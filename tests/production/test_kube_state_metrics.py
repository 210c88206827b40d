"""A real kube-state-metrics tells of each job what deploy/monitoring has it tell."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from api.constants import Phase
from localcluster import Cluster, ClusterConfig
from tests.live.kubestate import FILE, KubeStateMetrics
from tests.live.lab import Lab, paddle_job, shell
from tests.live.operated import start_operator

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400)]
(RESOURCE,) = yaml.safe_load(FILE.read_text())["spec"]["resources"]


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Cluster(ClusterConfig(nodes=1)) as running:
        start_operator(running)
        yield Lab(running, "default")


@pytest.fixture
def metrics(lab: Lab, tmp_path: Path) -> Iterator[KubeStateMetrics]:
    with contextlib.closing(KubeStateMetrics(lab.cluster, tmp_path)) as running:
        yield running


def test_each_job_is_told_of(lab: Lab, metrics: KubeStateMetrics) -> None:
    lab.submit(paddle_job("good", {"worker": (2, shell("exit 0"))}))
    lab.submit(paddle_job("bad", {"worker": (1, shell("exit 3"))}))
    lab.wait_completed("good")
    lab.wait_phase("bad", "Failed")

    def of(metric: str, job: str, **labels: str) -> float | None:
        named = {"namespace": "default", "paddlejob": job, **labels}
        for series, value in metrics.series().items():
            if series.startswith(f"kube_paddlejob_{metric}{{") and all(
                f'{label}="{text}"' in series for label, text in named.items()
            ):
                return value
        return None

    for job, phase in (("good", "Completed"), ("bad", "Failed")):
        lab.wait(lambda: of("status_phase", job, phase=phase) == 1, f"{job} is {phase}")  # noqa: B023
        assert all(of("status_phase", job, phase=p) == (p == phase) for p in Phase)
    assert of("status_condition", "bad", type="Failed", reason="PodFailed") == 1
    assert of("status_condition", "bad", type="Running") == 0
    assert of("spec_workers", "good") == 2
    status = lab.status("good")
    assert of("status_attempt", "good") == int(status["attempt"])
    assert of("status_restart_count", "good") == 0
    ended, began = (of(f"status_{name}_time", "good") for name in ("completion", "start"))
    assert ended is not None
    assert began is not None
    assert ended >= began > 1.7e9
    told = {series.partition("{")[0] for series in metrics.series()}
    assert told == {f"kube_paddlejob_{each['name']}" for each in RESOURCE["metrics"]}
