"""The operator is killed after each single write of a job's life, and started again.

Each case is a job of its own in a namespace of its own, with an operator of its own behind a
proxy that ends it with SIGKILL the moment the API server has done its k-th write. All run at once.
"""

import os
import subprocess
import sys
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from localcluster import Cluster
from tests.conftest import new_namespace
from tests.live.lab import CORE, SERVER, Lab, paddle_job, shell
from tests.live.proxy import FaultProxy, audit_entries

ROOT = Path(__file__).parents[2]
KILLS = range(1, 13)
"""A job of 3 pods writes 3 pods, a ConfigMap, about 4 statuses and 3 deletes."""
LEAST_WRITES = set(range(1, 8))
"""At least seven, for a busy operator writes few statuses."""
JOB = "victim"
DEADLINE_SECONDS = 400.0


@dataclass
class Operator:
    """An operator of one namespace, which dies after its k-th write and comes back."""

    folder: Path
    namespace: str
    kill_after: int
    cluster: Cluster
    process: subprocess.Popen[bytes] | None = None
    deaths: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self) -> FaultProxy:
        proxy = FaultProxy(self.cluster, self.after_write)
        self.kubeconfig = proxy.write_kubeconfig(self.folder / "kubeconfig")
        self.spawn()
        return proxy

    def after_write(self, count: int) -> bool:
        """Kill it after the chosen write; its answer is lost with it."""
        if count != self.kill_after:
            return True
        with self.lock:
            assert self.process is not None
            self.process.kill()
            self.process.wait()
            self.deaths += 1
        self.spawn()
        return False

    def spawn(self) -> None:
        command = [sys.executable, "-m", "controller", "--kubeconfig", str(self.kubeconfig)]
        command += ["--namespace", self.namespace, "--workers", "2"]
        command += ["--metrics-bind-address", "0", "--health-probe-bind-address", "0"]
        with (self.folder / "log").open("ab") as log, self.lock:
            env = os.environ | {"TMPDIR": str(self.folder)}  # whose files it cannot clean up
            self.process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log, env=env)

    def stop(self) -> None:
        with self.lock:
            assert self.process is not None
            self.process.kill()
            self.process.wait()


@pytest.mark.timeout(900)
def test_a_job_ends_the_same_whenever_its_operator_is_killed(unattended, tmp_path):
    labs, operators, proxies, contexts = {}, {}, [], []
    try:
        for count in KILLS:
            context = new_namespace(unattended)
            namespace = context.__enter__()
            contexts.append(context)
            folder = tmp_path / str(count)
            folder.mkdir()
            operators[count] = Operator(folder, namespace, count, unattended)
            labs[count] = Lab(unattended, namespace)
            proxies.append(operators[count].start())
        for lab in labs.values():
            lab.submit(victim())
        for lab in labs.values():
            lab.wait_completed(JOB, timeout_seconds=DEADLINE_SECONDS)
            lab.wait(lambda lab=lab: not lab.items(CORE, "pods"), "no pod left over")
        labs[1].wait(lambda: deadly(operators) >= LEAST_WRITES, "each write was to be the last")
    finally:
        for operator in operators.values():
            operator.stop()
        for proxy in proxies:
            proxy.close()
        for context in contexts:
            context.__exit__(None, None, None)
    assert creations(unattended, labs) == {
        (lab.namespace, name): 1
        for lab in labs.values()
        for name in (f"{JOB}-ps-0", f"{JOB}-worker-0", f"{JOB}-worker-1")
    }


def deadly(operators: dict[int, Operator]) -> set[int]:
    return {count for count, operator in operators.items() if operator.deaths}


def victim() -> dict[str, object]:
    roles = {"ps": (1, SERVER), "worker": (2, shell("sleep 1"))}
    return paddle_job(JOB, roles, cleanPodPolicy="Always")


def creations(cluster: Cluster, labs: dict[int, Lab]) -> Counter[tuple[str, str]]:
    namespaces = {lab.namespace for lab in labs.values()}
    found: Counter[tuple[str, str]] = Counter()
    for entry in audit_entries(cluster):
        what = entry.get("objectRef") or {}
        is_pod = what.get("resource") == "pods" and "subresource" not in what
        was_created = entry["verb"] == "create" and entry["responseStatus"]["code"] == 201
        if is_pod and was_created and what.get("namespace") in namespaces:
            found[(what["namespace"], what["name"])] += 1
    return found
