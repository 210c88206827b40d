"""What a command of the tool costs, beside an interpreter with HTTP, TLS and YAML."""

import resource
import subprocess
import sys
import time
from collections.abc import Callable

from localcluster import Cluster
from tests.cluster.ui.conftest import crowd_of
from tests.live.lab import SERVER, Lab, paddle_job
from tests.live.pdj import CHECKOUT, Tool, command, environment
from tests.timings.pairs import assert_less

BARE = [sys.executable, "-c", "import argparse, http.client, ssl, yaml"]
MOST_TIMES = 4.0
MANY = 5500
MOST_TIMES_KUBECTL = 1.3


def test_status_costs_little(module_lab: Lab, tool: Tool) -> None:
    module_lab.submit(paddle_job("steady", {"ps": (1, SERVER), "worker": (2, SERVER)}))
    module_lab.wait_phase("steady", "Running")
    status = command("-n", module_lab.namespace, "status", "steady")
    for measure in (cpu_seconds_of, seconds_of):
        assert_less(measure(status, tool.kubeconfig), measure(BARE), MOST_TIMES)


def test_many_jobs_are_listed_in_the_time_of_kubectl(cluster: Cluster, crd: None) -> None:
    kubeconfig = str(cluster.kubeconfig)
    kubectl = [str(cluster.bin_dir / "kubectl"), "get", "pdj", "-A"]
    with crowd_of(cluster, MANY):
        assert_less(
            seconds_of(command("list", "-A"), kubeconfig),
            seconds_of(kubectl, kubeconfig),
            MOST_TIMES_KUBECTL,
        )


def test_the_client_is_imported_soon() -> None:
    imports = [sys.executable, "-c", "import paddlejob"]
    assert_less(cpu_seconds_of(imports), cpu_seconds_of(BARE))


def cpu_seconds_of(words: list[str], kubeconfig: str = "") -> Callable[[], float]:
    def measure() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run(words, kubeconfig)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    return measure


def seconds_of(words: list[str], kubeconfig: str = "") -> Callable[[], float]:
    def measure() -> float:
        began = time.monotonic()
        run(words, kubeconfig)
        return time.monotonic() - began

    return measure


def run(words: list[str], kubeconfig: str) -> None:
    subprocess.run(
        words, cwd=CHECKOUT, env=environment(kubeconfig), check=True, capture_output=True
    )
