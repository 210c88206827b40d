"""A site for measurements: a control plane, simulated nodes, and the CRD."""

import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Self

from benchmarks import procfs
from benchmarks.adapter import NAMESPACE, Adapter
from benchmarks.counters import Counts, operator_writes, parse_counts
from benchmarks.etcd import delete_all
from benchmarks.family import etcd_prefix, etcd_prefix_of_children
from benchmarks.jobwatch import JobWatch
from benchmarks.operators import Operator, RunningOperator
from benchmarks.simulator import PINS, build_nodes, start_simulator
from localcluster import Cluster, ClusterConfig
from localcluster.client.rest import Server, ServerClient, has_condition
from localcluster.cluster.components import (
    API_SERVER,
    COMPONENTS,
    CONTROLLER_MANAGER,
    ETCD,
    SCHEDULER,
)
from localcluster.commands.manifests import install, without
from localcluster.machine import clock
from localcluster.machine.report import Report
from localcluster.provision.gobuild import ensure_built

SETTLED_SECONDS = 6.0
"""An operator that writes nothing for this time has settled. This project's operator defers a job's
first status by 5 s at most."""
SETTLE_POLL_SECONDS = 0.5
SETTLE_TIMEOUT_SECONDS = 120.0
READY_SECONDS = 60.0
TIMEOUT_SECONDS = 120.0  # for one request; a request for a CPU profile lasts as long as the burst
NOT_AUDITED = {API_SERVER: ("--audit-log-path=", "--audit-policy-file=")}
"""Turns off the audit log, which a plain API server does not write either."""
SIMULATOR, HARNESS = "node simulator", "harness"
RESTING_SECONDS = 0.5
RESTING_SHARE = 0.3
"""A site that uses less than this share of one core, all processes together, is at rest."""
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
_CHILDREN = {
    etcd_prefix_of_children("pods"): "",
    etcd_prefix_of_children("configmaps"): "kube-root-ca.crt",
    etcd_prefix_of_children("services"): "kubernetes",
}
"""The prefix of the keys in etcd that `clean` deletes, and the name of the object that stays."""


class Site:
    """A running site; a context manager. `watch` follows the jobs of the current adapter.

    With `serves_logs`, the nodes serve the file `training_log` as the log of every pod.
    """

    watch: JobWatch
    training_log: Path

    def __init__(self, adapter: Adapter, report: Report, serves_logs: bool = False) -> None:
        self.adapter = adapter
        self.report = report
        self._serves_logs = serves_logs
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        ensure_built(PINS, self.report)
        with self._stack:  # if the start fails, what has been started is stopped
            self._start()
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self.watch.stop()
        self._stack.close()

    def _start(self) -> None:
        enter = self._stack.enter_context
        self.logs = Path(enter(tempfile.TemporaryDirectory(prefix="benchmark-")))
        config = ClusterConfig(nodes=0, component_arguments=NOT_AUDITED, report=self.report)
        self._cluster = enter(Cluster(config))
        self.etcd_pid = self._cluster.process(ETCD).pid
        kubeconfig = self._cluster.kubeconfig
        self.client = enter(ServerClient(Server.from_kubeconfig(kubeconfig), TIMEOUT_SECONDS))
        for node in build_nodes():
            self.client.create("/api/v1/nodes", node)
        self.training_log = self.logs / "training.log"
        served = self.training_log if self._serves_logs else None
        self._simulator = enter(start_simulator(kubeconfig, self.logs / "kwok.log", served))
        wait_for("the nodes are ready", self._are_nodes_ready, READY_SECONDS)
        self.turn_to(self.adapter)

    def turn_to(self, adapter: Adapter) -> None:
        """Create and watch this adapter's jobs from now on, in place of the last adapter's.

        Its manifests are applied before. Returns when the site is at rest, or after READY_SECONDS.
        """
        if hasattr(self, "watch"):
            self.watch.stop()
        self.adapter = adapter
        for manifest in adapter.manifests:
            kept = without("Deployment", manifest)
            install(self._cluster, stdin=kept, verb=("apply", "--server-side"))
        self._wait_for_rest()
        self.watch = JobWatch(self.client, adapter)
        self.watch.start()

    def start_operator(self, operator: Operator, name: str) -> RunningOperator:
        """Start an operator, with its ServiceAccount or as administrator; `name` names its log."""
        account, cluster = operator.account, self._cluster
        kubeconfig = cluster.kubeconfig_for(*account) if account else cluster.kubeconfig
        return RunningOperator(operator, kubeconfig, self.logs / f"{name}.log")

    def freeze(self) -> None:
        """Stop the node simulator, scheduler and controller manager: nothing changes any more."""
        self._simulator.stop()
        for name in (SCHEDULER, CONTROLLER_MANAGER):
            self._cluster.stop(name)

    def counts(self) -> Counts:
        """The numbers of requests so far. A scrape costs the server tens of milliseconds."""
        return parse_counts(self.client.text("/metrics"))

    def server_cpu(self) -> float:
        """CPU seconds that the API server has used."""
        return procfs.cpu_seconds(self._cluster.process(API_SERVER).pid)

    def cpu(self) -> dict[str, float]:
        """CPU seconds that each process of the cluster has used, and this process."""
        seconds = {name: procfs.cpu_seconds(self._cluster.process(name).pid) for name in COMPONENTS}
        seconds[SIMULATOR] = procfs.cpu_seconds(self._simulator.pid)
        return {**seconds, HARNESS: time.process_time()}

    def writes_of(self, counts: Counts) -> int:
        """How many of these requests were writes of the operator."""
        return operator_writes(counts, f"{self.adapter.resource}.{self.adapter.group}")

    def settle(self) -> None:
        """Wait until the operator has written nothing for SETTLED_SECONDS. Raises TimeoutError."""
        before, quiet_since = self.counts(), clock.monotonic()

        def has_settled() -> bool:
            nonlocal before, quiet_since
            now = self.counts()
            if self.writes_of(now - before):
                before, quiet_since = now, clock.monotonic()
            return clock.monotonic() - quiet_since > SETTLED_SECONDS

        what = "the operator stops writing"
        wait_for(what, has_settled, SETTLE_TIMEOUT_SECONDS, SETTLE_POLL_SECONDS)

    def wait_until_shown(self) -> None:
        """Wait until the API server shows what was put into etcd, and is at rest."""
        for path in ("/api/v1/pods", "/api/v1/configmaps", self.adapter.path):
            is_shown = partial(self.client.is_ok, f"{path}?limit=1")
            wait_for(f"{path} shows what etcd has", is_shown, READY_SECONDS)
        wait_for("the API server rests", partial(rests, self.server_cpu), READY_SECONDS)

    def clean(self, names: str = "") -> None:
        """Delete all jobs with their children, or only those whose names begin with `names`.

        Waits until they are gone, and then until the site is at rest, but no longer than
        READY_SECONDS. Do not use the names again: scheduler and simulator could mistake a new pod
        for the old one.
        """
        self.report("cleaning up")
        for prefix, kept in _CHILDREN.items():
            delete_all(self.etcd_pid, prefix + names, kept and prefix + kept)
        # Children first: otherwise the garbage collector would handle each child of a deleted job.
        self._wait_until_gone(PODS, names)
        delete_all(self.etcd_pid, etcd_prefix(self.adapter) + names)
        self._wait_until_gone(self.adapter.path, names)
        self._wait_for_rest()

    def _wait_for_rest(self) -> None:
        clock.wait_until(partial(rests, lambda: sum(self.cpu().values())), READY_SECONDS)

    def _wait_until_gone(self, path: str, names: str) -> None:
        query = {} if names else {"limit": 1}

        def is_gone() -> bool:
            found = self.client.get(path, query)["items"]
            return not any(each["metadata"]["name"].startswith(names) for each in found)

        wait_for(f"all of {names} below {path} is gone", is_gone, READY_SECONDS)

    def _are_nodes_ready(self) -> bool:
        nodes = self.client.get("/api/v1/nodes")["items"]
        return all(has_condition(node, "Ready") for node in nodes)


def wait_for(
    what: str, condition: Callable[[], bool], timeout_seconds: float, poll_seconds: float = 0.05
) -> None:
    """Poll until the condition holds; raises TimeoutError."""
    if not clock.wait_until(condition, timeout_seconds, poll_seconds):
        raise TimeoutError(f"not in {timeout_seconds:.0f} s: {what}")


def rests(cpu_seconds: Callable[[], float], share: float = RESTING_SHARE) -> bool:
    """Whether the next half second needs less than this share of a core; waits for its end."""
    before, started = cpu_seconds(), clock.monotonic()
    clock.sleep(RESTING_SECONDS)
    return cpu_seconds() - before < share * (clock.monotonic() - started)
