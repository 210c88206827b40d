"""A real Prometheus finds the operator and reads it with a token, and panels fill."""

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import yaml

from api.constants import Phase
from localcluster import Cluster, ClusterConfig
from localcluster.client.pki import Authority
from localcluster.machine import clock
from manifests.dashboard import ROWS
from tests.live import patience
from tests.live.faulty import restrict
from tests.live.installers import CHART, NAMESPACE, RELEASE, Helm
from tests.live.kubestate import FILE, KubeStateMetrics
from tests.live.lab import CORE, Lab, Raw, paddle_job, shell
from tests.live.operated import DEPLOYMENT, operator_beside
from tests.live.processes import listening_ports
from tests.live.prometheus import JOB, Prometheus, let_read
from tests.live.scrape import certificate_of, scrape

pytestmark = [pytest.mark.cluster]

SCALE = 1 / 60
"""An hour is a minute."""
READER = "paddle-controller-manager-metrics-reader"
MONITORING = "monitoring"
INSTALL = ("install", RELEASE, str(CHART), "--create-namespace", "--wait", patience.IN_KUBECTL)
VALUES = {"flowSchema": {"enabled": True}, "progress": {"enabled": True}}
FLOW = f"{DEPLOYMENT}-{NAMESPACE}-lease"
QUERIES = [
    (f"{panel.title}: {query.legend}", query.text)
    for panels in ROWS.values()
    for panel in panels
    for query in panel.queries
]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A cluster with the operator of the chart, and accounts that read its metrics, or may not."""
    with Cluster(ClusterConfig(nodes=1)) as running:
        Helm(running).run(*INSTALL, values=VALUES)
        running.kubectl("create", "namespace", MONITORING)
        running.kubectl("-n", MONITORING, "create", "serviceaccount", "nobody")
        let_read(running, MONITORING, "prometheus", NAMESPACE, READER)
        yield running


@pytest.fixture(scope="module")
def prometheus(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    folder = tmp_path_factory.mktemp("prometheus")
    running = Prometheus(cluster, folder, (MONITORING, "prometheus"), SCALE)
    yield running
    running.close()


@pytest.fixture(scope="module")
def lab(cluster: Cluster) -> Lab:
    return Lab(cluster, "default")


@pytest.fixture(scope="module")
def run(lab: Lab) -> Lab:
    """All that can happen to jobs has happened: ended, lost, stalled, failed, waiting, refused."""
    lab.submit(paddle_job("lost", {"worker": (2, with_gpu("exec sleep 3600"))}))
    silent = {"worker": (1, shell("echo paddlejob: step=1; exec sleep 3600"))}
    lab.submit(paddle_job("silent", silent, stallPolicy={"afterSeconds": 120}))
    lab.submit(paddle_job("completed", {"worker": (1, shell("exit 0"))}))
    lab.submit(paddle_job("failed", {"worker": (1, shell("exit 1"))}))
    nowhere = shell("true")
    nowhere["spec"]["nodeSelector"] = {"on": "the-moon"}
    lab.submit(paddle_job("waiting", {"worker": (1, nowhere)}))
    lab.cluster.kubectl("create", "namespace", "strict")
    strict = Lab(lab.cluster, "strict")
    restrict(strict)
    strict.submit(paddle_job("refused", {"worker": (1, shell("true"))}))
    lab.wait_phase("lost", "Running")
    lab.kubectl("delete", "pod", "lost-worker-0", "--wait=false")
    lab.wait(lambda: lab.status("lost").get("attempt") == 2, "a second attempt")
    lab.wait_phase("lost", "Running")
    lab.wait_completed("completed")
    lab.wait(lambda: lab.status("failed").get("phase") == "Failed", "failed")
    return lab


def with_gpu(script: str) -> Raw:
    return shell(script, resources={"limits": {"nvidia.com/gpu": 1}})


def token_of(cluster: Cluster, account: str, *audiences: str) -> str:
    path = f"{CORE}/namespaces/{MONITORING}/serviceaccounts/{account}/token"
    spec = {"expirationSeconds": 3600} | ({"audiences": list(audiences)} if audiences else {})
    return str(cluster.client.create(path, {"spec": spec})["status"]["token"])


def operator_address(cluster: Cluster) -> str:
    (pod,) = cluster.get(f"{CORE}/namespaces/{NAMESPACE}/pods")["items"]
    return f"{pod['status']['podIP']}:8080"


def test_only_who_may_reads_them(cluster: Cluster) -> None:
    address = operator_address(cluster)
    token = token_of(cluster, "prometheus")  # whose right the API server takes a moment to see
    assert clock.wait_until(lambda: scrape(address, token)[0] == 200, patience.SECONDS)
    assert scrape(address)[0] == 401
    assert scrape(address, "made-up")[0] == 401
    status, text = scrape(address, token_of(cluster, "prometheus", "somebody-else"))
    assert (status, "somebody-else" in text) == (401, True)
    assert scrape(address, token_of(cluster, "nobody")) == (
        403,
        f"Forbidden: system:serviceaccount:{MONITORING}:nobody is not allowed to get /metrics\n",
    )
    status, text = scrape(address, token)
    assert (status, "workqueue_depth" in text) == (200, True)


def test_the_lease_has_a_flow_of_its_own(cluster: Cluster) -> None:
    """From the first renewal on after the API server has seen it."""
    dispatched = re.compile(r"^apiserver_flowcontrol_dispatched_requests_total{(.*)} \d", re.M)
    own = f'flow_schema="{FLOW}",priority_level="leader-election"'
    assert clock.wait_until(
        lambda: own in dispatched.findall(cluster.client.text("/metrics")), patience.SECONDS
    )


def test_it_is_found_and_scraped(prometheus: Prometheus) -> None:
    prometheus.wait_for(f'up{{job="{JOB}"}} == 1')
    (target,) = prometheus.ask("targets")["activeTargets"]
    assert target["scrapeUrl"].startswith("https://")
    assert target["labels"]["namespace"] == NAMESPACE


def test_what_restarts_cost_is_counted(prometheus: Prometheus, run: Lab) -> None:
    reason = '{job="paddlejob",mode="Collective",reason="PodVanished"}'
    ((_, seconds),) = prometheus.wait_for(f"paddlejob_lost_seconds_total{reason} > 0")
    ((_, gpu_seconds),) = prometheus.query(f"paddlejob_lost_gpu_seconds_total{reason}")
    assert gpu_seconds == pytest.approx(2 * seconds)


def test_kube_state_metrics_tells_of_each_job(run: Lab, tmp_path: Path) -> None:
    """As deploy/monitoring has it tell."""
    run.wait_phase("failed", "Failed")
    with closing(KubeStateMetrics(run.cluster, tmp_path)) as metrics:

        def of(metric: str, job: str, **labels: str) -> float | None:
            texts = [f'{k}="{v}"' for k, v in {"paddlejob": job, **labels}.items()]
            for series, value in metrics.series().items():
                if series.startswith(f"kube_paddlejob_{metric}{{") and all(
                    text in series for text in texts
                ):
                    return value
            return None

        for job, phase in (("completed", "Completed"), ("failed", "Failed")):
            run.wait(lambda: of("status_phase", job, phase=phase) == 1, f"{job} is {phase}")  # noqa: B023
            assert all(of("status_phase", job, phase=p) == (p == phase) for p in Phase)
        assert of("status_condition", "failed", type="Failed", reason="PodFailed") == 1
        assert of("status_condition", "failed", type="Running") == 0
        assert of("spec_workers", "lost") == 2
        assert of("status_attempt", "lost") == 2
        assert of("status_restart_count", "completed") == 0
        ended, began = (of(f"status_{name}_time", "completed") for name in ("completion", "start"))
        assert ended and began and ended >= began > 1.7e9
        told = {series.partition("{")[0] for series in metrics.series()}
    (resource,) = yaml.safe_load(FILE.read_text())["spec"]["resources"]
    assert told == {f"kube_paddlejob_{each['name']}" for each in resource["metrics"]}


@pytest.mark.parametrize("text", [text for _, text in QUERIES], ids=[name for name, _ in QUERIES])
def test_every_panel_has_data(prometheus: Prometheus, run: Lab, text: str) -> None:
    asked = text.replace("$job", JOB).replace("$__rate_interval", "5m")
    prometheus.wait_for(f"({asked}) >= 0")  # NaN is not


def write_certificate(folder: Path, name: str) -> None:
    """A pair as an update of a Secret's volume brings it."""
    pair = Authority().issue(name, [name], [])
    for file, content in (("tls.crt", pair.certificate), ("tls.key", pair.key)):
        (folder / "new").write_bytes(content)
        (folder / "new").rename(folder / file)


def test_a_renewed_certificate_is_served(run: Lab, tmp_path: Path) -> None:
    write_certificate(tmp_path, "first")
    served = ("--metrics-bind-address=127.0.0.1:0", f"--metrics-cert-dir={tmp_path}")
    with operator_beside(run.cluster, "strict", "--metrics-secure", *served) as operator:
        (port,) = run.wait(lambda: listening_ports(operator.pid), "it listens")
        assert certificate_of(f"127.0.0.1:{port}") == "first"
        write_certificate(tmp_path, "second")
        assert certificate_of(f"127.0.0.1:{port}") == "second"
