"""Where the measurements take place: a control plane, simulated nodes, and the CRD."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import yaml

from benchmarks import procfs
from benchmarks.adapter import Adapter
from benchmarks.counters import Counts, operator_writes, parse_counts, since
from benchmarks.etcd import delete_all
from benchmarks.family import NAMESPACE, etcd_prefix, etcd_prefix_of_children
from benchmarks.jobwatch import JobWatch, Report
from benchmarks.rest import Rest, RestError
from benchmarks.simulator import build_nodes, ensure_simulator, start_simulator
from localcluster import Cluster, ClusterConfig, clock
from localcluster.components import API_SERVER, CONTROLLER_MANAGER, ETCD, SCHEDULER
from localcluster.process import Process

SETTLED_SECONDS = 1.5
SETTLE_POLL_SECONDS = 0.5
SETTLE_TIMEOUT_SECONDS = 120.0
READY_SECONDS = 60.0
NOT_AUDITED = {API_SERVER: ("--audit-log-path=", "--audit-policy-file=")}
"""As an API server ships."""
COMPONENTS = (API_SERVER, ETCD, SCHEDULER, CONTROLLER_MANAGER)
SIMULATOR, HARNESS = "node simulator", "harness"
RESTING_SECONDS = 0.5
RESTING_SHARE = 0.3
"""Of one core, all processes together."""
_PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
_CHILDREN = {
    etcd_prefix_of_children("pods"): "",
    etcd_prefix_of_children("configmaps"): "kube-root-ca.crt",
    etcd_prefix_of_children("services"): "kubernetes",
}
"""What clean takes away, by what the keys begin with, and the one of each kind that stays."""


@dataclass(frozen=True)
class Reading:
    """What the API server had done at a moment."""

    counts: Counts
    server_cpu: float


class Site:
    """A running site; a context manager. `watch` follows the jobs of the present adapter."""

    watch: JobWatch

    def __init__(self, adapter: Adapter, report: Report) -> None:
        self.adapter = adapter
        self.report = report
        self._logs = tempfile.TemporaryDirectory(prefix="benchmark-")
        # As an API server ships: without an audit log.
        self._cluster = Cluster(
            ClusterConfig(nodes=0, component_arguments=NOT_AUDITED, report=report)
        )
        self._simulator: Process | None = None

    def __enter__(self) -> "Site":
        home = ensure_simulator(self.report)
        self._cluster.start()
        try:
            self._prepare(home)
        except BaseException:
            self._close()
            raise
        return self

    def _prepare(self, home: Path) -> None:
        cluster = self._cluster
        self.rest = Rest(cluster.server, cluster.ca_file, cluster.token)
        for manifest in self.adapter.manifests:
            self._apply(manifest)
        for node in build_nodes():
            self.rest.post("/api/v1/nodes", node)
        self._simulator = start_simulator(home, cluster.kubeconfig, self.logs / "kwok.log")
        self._wait_until("the nodes are ready", self._are_nodes_ready)
        self.turn_to(self.adapter)

    def __exit__(self, *_: object) -> None:
        self._close()

    def _close(self) -> None:
        """Stop what has been started, also where the start broke off."""
        if hasattr(self, "watch"):
            self.watch.stop()
        self.stop_simulator()
        self._cluster.stop_all()
        self._logs.cleanup()

    def turn_to(self, adapter: Adapter) -> None:
        """From now on, jobs of this kind are created and watched."""
        if hasattr(self, "watch"):
            self.watch.stop()
        self.adapter = adapter
        self._wait_until("the CRD is served", partial(self._answers, adapter.collection))
        self.watch = JobWatch(self.rest, adapter)
        self.watch.start()

    def kubeconfig_for(self, account: tuple[str, str] | None) -> Path:
        """For an operator with this ServiceAccount, or for an administrator."""
        return self._cluster.kubeconfig_for(*account) if account else self._cluster.kubeconfig

    @property
    def logs(self) -> Path:
        """A folder for logs, gone at the end."""
        return Path(self._logs.name)

    @property
    def etcd_pid(self) -> int:
        """The process of etcd."""
        return self._cluster.process(ETCD).pid

    def stop_simulator(self) -> None:
        """Leave nodes and pods as they are."""
        if self._simulator is not None:
            self._simulator.stop(0)
            self._simulator = None

    def stop_component(self, name: str) -> None:
        """Stop a component of the control plane for the rest of the site's life."""
        self._cluster.stop(name)

    def read(self) -> Reading:
        """The counters now. A scrape costs the server tens of milliseconds: not while measuring."""
        cpu = self.server_cpu()
        return Reading(parse_counts(self.rest.call("GET", "/metrics").decode()), cpu)

    def server_cpu(self) -> float:
        """CPU seconds that the API server has taken."""
        return procfs.cpu_seconds(self._cluster.process(API_SERVER).pid)

    def cpu(self) -> dict[str, float]:
        """CPU seconds that each process has taken, this one included."""
        seconds = {name: procfs.cpu_seconds(self._cluster.process(name).pid) for name in COMPONENTS}
        if self._simulator is not None:
            seconds[SIMULATOR] = procfs.cpu_seconds(self._simulator.pid)
        return {**seconds, HARNESS: procfs.own_cpu_seconds()}

    def writes_of(self, counts: Counts) -> Counts:
        """The operator's own writes among all requests."""
        return operator_writes(counts, [self.adapter.resource])

    def settle(self) -> None:
        """Wait until the operator writes nothing for a while."""
        before, quiet_since = self.read().counts, clock.monotonic()

        def has_settled() -> bool:
            nonlocal before, quiet_since
            now = self.read().counts
            if self.writes_of(since(before, now)):
                before, quiet_since = now, clock.monotonic()
            return clock.monotonic() - quiet_since > SETTLED_SECONDS

        if not clock.wait_until(has_settled, SETTLE_TIMEOUT_SECONDS, SETTLE_POLL_SECONDS):
            raise TimeoutError("the operator does not stop writing")

    def wait_until_shown(self) -> None:
        """Wait until the API server has taken in what was put into etcd."""
        for path in ("/api/v1/pods", "/api/v1/configmaps", self.adapter.collection):
            self._wait_until(f"{path} shows what etcd has", partial(self._answers, path))
        self._wait_until("the API server rests", partial(_rests, self.server_cpu))

    def clean(self) -> None:
        """Take all jobs and their children away, and give everyone time to note it.

        Their names must not come again: scheduler and simulator may take such a pod for the old.
        """
        self.report("cleaning up")
        for prefix, kept in _CHILDREN.items():
            delete_all(self.etcd_pid, prefix, kept and prefix + kept)
        # Children first, of which a garbage collector would else go looking for each.
        self._wait_until("the pods of deleted jobs are gone", lambda: self._is_empty(_PODS))
        delete_all(self.etcd_pid, etcd_prefix(self.adapter))
        jobs = self.adapter.path(NAMESPACE)
        self._wait_until("the deleted jobs are gone", lambda: self._is_empty(jobs))
        clock.wait_until(partial(_rests, lambda: sum(self.cpu().values())), READY_SECONDS)

    def _is_empty(self, path: str) -> bool:
        return not self.rest.get(f"{path}?limit=1")["items"]

    def _apply(self, manifest: Path) -> None:
        objects = yaml.safe_load_all(manifest.read_text())
        kept = yaml.safe_dump_all(each for each in objects if each["kind"] != "Deployment")
        self._cluster.kubectl("apply", "--server-side", "-f", "-", stdin=kept)

    def _are_nodes_ready(self) -> bool:
        nodes = self.rest.get("/api/v1/nodes")["items"]
        return all(
            any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
            for conditions in (node["status"].get("conditions", []) for node in nodes)
        )

    def _answers(self, path: str) -> bool:
        try:
            self.rest.get(f"{path}?limit=1")
        except RestError:
            return False
        return True

    def _wait_until(self, what: str, condition: Callable[[], bool]) -> None:
        if not clock.wait_until(condition, READY_SECONDS):
            raise TimeoutError(f"not in {READY_SECONDS:.0f} s: {what}")


def _rests(cpu_seconds: Callable[[], float]) -> bool:
    before, started = cpu_seconds(), clock.monotonic()
    clock.sleep(RESTING_SECONDS)
    return cpu_seconds() - before < RESTING_SHARE * (clock.monotonic() - started)
