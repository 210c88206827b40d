"""Where it happens: a local cluster, and two operators of which one leads, each behind a proxy.

What ought to run is started again when it does not, as a kubelet or systemd would; unless a fault
holds it down.
"""

import contextlib
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import yaml

from api.constants import LABEL_JOB_UID
from kube.errors import ApiError
from localcluster import Cluster, ClusterConfig
from localcluster.client.rest import ServerClient, has_condition
from localcluster.cluster.components import COMPONENTS
from localcluster.machine.errors import LocalClusterError
from localcluster.machine.process import Process
from manifests.rbac import PROGRESS_RULES
from tests.live.certificates import write_certificate
from tests.live.lab import CORE, PADDLE_JOBS
from tests.live.operated import (
    CHECKOUT,
    DEPLOYMENT,
    NAMESPACE,
    SOON_LOST,
    grant,
    install_without_deployment,
)
from tests.live.processes import status_of
from tests.live.proxy import FaultProxy
from tests.soak.checks import Listing

Raw = dict[str, Any]
TROUBLE = (ApiError, LocalClusterError)
"""What a request raises while the API server or etcd is away."""
ANSWER_SECONDS = 3.0
NODES = ("node-0", "node-1", "node-2")
NAMESPACES = ("soak-a", "soak-b")
OPERATORS = ("operator-a", "operator-b")
START_SECONDS = 300.0
FORCE_SECONDS = 20
FLAGS = (
    "--leader-elect",
    "--progress",
    f"--leader-election-namespace={NAMESPACE}",
    f"--force-delete-after={FORCE_SECONDS}",
    "--metrics-bind-address=0",
    "--health-probe-bind-address=0",
)
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
COLLECTIONS = {
    "Pod": f"{CORE}/pods",
    "Service": f"{CORE}/services",
    "ConfigMap": f"{CORE}/configmaps",
}


class OperatorSeat:
    """One of the two places where an operator runs; its proxy stays the same."""

    def __init__(self, cluster: Cluster, name: str, proxy: FaultProxy, folder: Path) -> None:
        self.name, self.proxy = name, proxy
        self._cluster, self._folder = cluster, folder
        self._kubeconfig = proxy.write_kubeconfig(folder / f"{name}.kubeconfig")
        self._log_offset = 0
        self.most_memory_kb = 0

    def start(self) -> None:
        """Run it, unless it runs."""
        command = [sys.executable, "-m", "controller", f"--kubeconfig={self._kubeconfig}", *FLAGS]
        self._cluster.run_beside(self.name, command, CHECKOUT)

    def new_log(self) -> str:
        """What it has logged since the last look."""
        with self._cluster.log(self.name).open(errors="replace") as log:
            log.seek(self._log_offset)
            text = log.read()
            self._log_offset = log.tell()
        return text

    def note_memory(self, pid: int) -> None:
        """Remember the most memory that it has had."""
        with contextlib.suppress(OSError):
            self.most_memory_kb = max(self.most_memory_kb, status_of(pid).get("VmHWM", 0))


class Place:
    """The cluster and its operators. One thread's, but for `client`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        config = ClusterConfig(
            nodes=len(NODES),
            state_dir=folder / "state",
            renew_seconds=2.0,
            start_timeout_seconds=START_SECONDS,
            component_arguments=SOON_LOST,
        )
        self.cluster = Cluster(config)
        self.seats: dict[str, OperatorSeat] = {}
        self.held: Counter[str] = Counter()
        """What a fault keeps from running: how many faults do."""
        self.starts: Counter[str] = Counter()
        self._stack = contextlib.ExitStack()
        self.leader = OPERATORS[0]
        """The operator that leads, or did last."""

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            stack.enter_context(self.cluster)
            self.client = ServerClient(self.cluster.client.server, ANSWER_SECONDS)
            stack.callback(self.client.close)
            install_without_deployment(self.cluster)
            grant(self.cluster, "logs", PROGRESS_RULES)
            for name in NAMESPACES:
                self.cluster.kubectl("create", "namespace", name)
            self.binding = self.client.get(f"{BINDINGS}/{DEPLOYMENT}")
            self._seat_operators(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _seat_operators(self, stack: contextlib.ExitStack) -> None:
        kubeconfig = self.cluster.kubeconfig_for(NAMESPACE, DEPLOYMENT)
        token = yaml.safe_load(kubeconfig.read_text())["users"][0]["user"]["token"]
        certificate = write_certificate(self.folder)
        for name in OPERATORS:
            proxy = FaultProxy(self.cluster, token=token, certificate=certificate)
            stack.callback(proxy.close)
            self.seats[name] = OperatorSeat(self.cluster, name, proxy, self.folder)
        self.tend()

    @contextlib.contextmanager
    def patience(self) -> Iterator[None]:
        """While nothing fails, a busy machine may take its time to answer."""
        hasty, self.client = self.client, self.cluster.client
        try:
            yield
        finally:
            self.client = hasty

    # What runs

    def process(self, name: str) -> Process | None:
        """Of a component, a node or an operator, if it runs."""
        try:
            process = self.cluster.process(name)
        except KeyError:
            return None
        return process if process.is_running else None

    def tend(self) -> None:
        """Start what is down, unless a fault keeps it down."""
        for name in (*COMPONENTS, *NODES, *OPERATORS):
            process = self.process(name)
            if process is None and not self.held[name]:
                self.starts[name] += 1
                self._start(name)
            elif process is not None and name in self.seats:
                self.seats[name].note_memory(process.pid)

    def hold(self, name: str) -> None:
        """Stop it, and do not start it again before `release`."""
        self.held[name] += 1
        self.cluster.stop(name)

    def release(self, *names: str) -> None:
        self.held.subtract(names)

    def signal(self, number: signal.Signals, *names: str) -> None:
        """Send it to those that run."""
        for name in names:
            if (process := self.process(name)) is not None:
                process.signal(number)

    def note_lease(self, lease: Raw) -> None:
        """Remember who leads, as a watch tells; any thread may call."""
        holder = str((lease.get("spec") or {}).get("holderIdentity") or "")
        for name in OPERATORS:
            process = self.process(name)
            if process is not None and f"_{process.pid}_" in holder:
                self.leader = name

    def _start(self, name: str) -> None:
        if name in self.seats:
            self.seats[name].start()
        else:
            self.cluster.start_component(name, wait=False)

    # What there is

    def job_path(self, namespace: str, name: str = "") -> str:
        """Of a namespace's jobs, or of one."""
        return f"{PADDLE_JOBS}/namespaces/{namespace}/paddlejobs" + (f"/{name}" if name else "")

    def jobs(self) -> list[Raw]:
        return [
            {"kind": "PaddleJob", **job}
            for job in self.client.get(f"{PADDLE_JOBS}/paddlejobs")["items"]
        ]

    def children(self, kind: str) -> list[Raw]:
        """The objects of a kind that look as if they were jobs' children."""
        found = self.client.get(COLLECTIONS[kind], {"labelSelector": LABEL_JOB_UID})["items"]
        return [{"apiVersion": "v1", "kind": kind, **obj} for obj in found]

    def listing(self) -> Listing:
        """All that a pass may look at."""
        nodes = self.client.get(f"{CORE}/nodes")["items"]
        return Listing(
            self.jobs(),
            {kind: self.children(kind) for kind in COLLECTIONS},
            {node["metadata"]["name"]: node for node in nodes},
        )

    def what_is_missing(self) -> list[str]:
        """What keeps the cluster from being as it was made; nothing while all is well."""
        names = (*COMPONENTS, *NODES, *OPERATORS)
        missing = [f"{name} does not run" for name in names if self.process(name) is None]
        for node in self.client.get(f"{CORE}/nodes")["items"]:
            if not has_condition(node, "Ready") or node["spec"].get("taints"):
                missing.append(f"{node['metadata']['name']} is not ready")
        return missing

    def mend(self) -> None:
        """Take away what faults may have left, such as a quota that a restore has brought back."""
        if self.client.find(f"{BINDINGS}/{DEPLOYMENT}") is None:
            self.bind()
        for namespace in NAMESPACES:
            for path in (
                f"{CORE}/namespaces/{namespace}/resourcequotas/none",
                f"{WEBHOOKS}/{namespace}",
            ):
                if self.client.find(path) is not None:
                    self.client.delete(path)

    def bind(self) -> None:
        """Give the operators their rights back."""
        metadata = {"name": DEPLOYMENT}
        with contextlib.suppress(ApiError):
            self.client.create(BINDINGS, {**self.binding, "metadata": metadata})

    def etcd_data(self) -> Path:
        (data,) = (self.folder / "state").glob("run-*/etcd")
        return data
