"""A whole local cluster: a control plane and its nodes, from start to stop.

    with Cluster(ClusterConfig(nodes=1)) as cluster:
        print(cluster.kubectl("get", "nodes").stdout)

No process of a cluster outlives the process that started it. Use a cluster from one thread at a
time; only `kubectl` and `client` are thread-safe.
"""

import os
import pickle
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kube.errors import ApiError
from localcluster.client.kubeconfig import write_private
from localcluster.client.rest import Raw, ServerClient, has_condition
from localcluster.cluster.components import COMPONENTS
from localcluster.cluster.config import ClusterConfig
from localcluster.cluster.controlplane import ControlPlane
from localcluster.machine import clock
from localcluster.machine.errors import LocalClusterError, StartError
from localcluster.machine.process import Command, Process, ProcessGroup, direct_environment
from localcluster.machine.project import FINDABLE, IMPORTS, command
from localcluster.machine.report import tell
from localcluster.machine.statefolder import StateFolder, claim
from localcluster.provision.binaries import ensure_binaries

NETWORK = "network"
NETWORK_PROGRAM = command("localcluster.node.runtime.fabric")
NETWORK_FILE = "network.json"
NODE_PROGRAM = command("localcluster.node")
NOT_READY_TAINT = "node.kubernetes.io/not-ready"
KUBECTL_SECONDS = 900.0
"""Only a kubectl that hangs takes so long, also where the machine is slow or busy."""
STOP_GRACE_SECONDS = 2.0  # an API server with open watches uses all of it
NODE_GRACE_SECONDS = 5.0
TOKEN_SECONDS = 24 * 3600


def check_platform() -> None:
    """Raise LocalClusterError unless this is Linux."""
    if sys.platform != "linux":
        raise LocalClusterError(
            "the local cluster needs Linux (loopback addresses and mount namespaces); "
            "elsewhere use any other cluster, such as one of kind or minikube"
        )


class Cluster:
    """A running cluster; a context manager that starts and stops it."""

    def __init__(self, config: ClusterConfig | None = None) -> None:
        self.config = config or ClusterConfig()
        self._processes = ProcessGroup()
        self.bin_dir = Path()  # of kubectl and the components
        self._state: StateFolder | None = None
        self._plane: ControlPlane | None = None
        self._has_network = self.config.pod_networks

    def start(self) -> None:
        """Build missing binaries, start everything, and return when all is ready.

        After any error, usually a LocalClusterError, everything is stopped again.
        """
        check_platform()
        self.bin_dir = ensure_binaries(self.config.report)
        self._state = claim(self.config.state_dir)
        try:
            self._plane = ControlPlane(self.config, self.bin_dir, self._state, self._processes)
            deadline = clock.monotonic() + self.config.start_timeout_seconds
            if self.config.nodes:
                self._start_network()
                self._wait_for_network(NETWORK, deadline)
            self._plane.start(deadline)
            self.config.report(f"control plane is ready: {self.server}")
            for name in self.config.node_names:
                self._start_node(name)
            for name in self.config.node_names:
                self._wait_for_node(name, deadline)
        except BaseException:
            self.stop_all()
            raise

    def stop_all(self) -> None:
        """Stop all processes, nodes first, and remove this run's files. Can be called again."""
        for name in [name for name in self._processes if name not in (*COMPONENTS, NETWORK)]:
            self._processes.stop(name)
        self._processes.stop(NETWORK)
        plane, self._plane = self._plane, None
        if plane is not None:
            plane.stop()
        state, self._state = self._state, None
        if state is not None:
            state.release()

    def __enter__(self) -> "Cluster":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop_all()

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.plane.kubeconfig

    @property
    def server(self) -> str:
        """The API server's URL."""
        return self.plane.server

    @property
    def folder(self) -> Path:
        """The folder for files that are removed with the cluster."""
        return self.plane.state.run

    def kubectl(
        self,
        *arguments: str,
        stdin: str | None = None,
        check: bool = True,
        kubeconfig: Path | None = None,
        timeout_seconds: float = KUBECTL_SECONDS,
    ) -> subprocess.CompletedProcess[str]:
        """Run kubectl as administrator, or with another kubeconfig.

        With `check`, a failure raises LocalClusterError with kubectl's message. After
        `timeout_seconds` kubectl is killed and subprocess.TimeoutExpired is raised.
        """
        done = subprocess.run(
            [str(self.bin_dir / "kubectl"), *arguments],
            env=self.kubectl_environment(kubeconfig),
            input=stdin if stdin is not None else "",
            capture_output=True,
            text=True,
            timeout=timeout_seconds,
        )
        if check and done.returncode:
            for name in {*COMPONENTS} & {*self.dead()}:  # then its end is why kubectl fails
                self.process(name).raise_if_dead()
            raise LocalClusterError(f"kubectl {' '.join(arguments)}: {done.stderr.strip()}")
        return done

    def kubectl_environment(self, kubeconfig: Path | None = None) -> dict[str, str]:
        """Environment variables with which kubectl, by its path or from PATH, uses this cluster.

        Temporary files of a command with these variables are removed with the cluster.
        """
        return {
            **direct_environment(),
            "KUBECONFIG": str(kubeconfig or self.kubeconfig),
            "TMPDIR": str(self.folder),
            # A cache per cluster, because a later cluster can get the same port.
            "KUBECACHEDIR": str(self.folder / "kubectl-cache"),
            "PATH": f"{self.bin_dir}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        }

    @property
    def client(self) -> ServerClient:
        """A client with the administrator's rights, for any thread."""
        return self.plane.client

    def get(self, path: str) -> Raw:
        """The API server's answer to a GET of this path, as parsed JSON. Raises ApiError."""
        return self.client.get(path)

    def run_beside(
        self,
        name: str,
        arguments: Sequence[str],
        folder: Path,
        variables: Mapping[str, str] | None = None,
    ) -> Process:
        """Start a command that is stopped with this cluster; its output goes to `log(name)`."""
        environment = {**self.kubectl_environment(), **(variables or {})}
        self._processes.start(
            Command(name, list(arguments), self.log(name), folder, environment, NODE_GRACE_SECONDS)
        )
        return self._processes[name]

    def kubeconfig_for(self, namespace: str, service_account: str) -> Path:
        """Write a kubeconfig with a token of this ServiceAccount for a day. Raises
        LocalClusterError.
        """
        account = f"/api/v1/namespaces/{namespace}/serviceaccounts/{service_account}"
        request = {"spec": {"expirationSeconds": TOKEN_SECONDS}}
        try:
            answer = self.client.create(f"{account}/token", request)
        except ApiError as error:
            raise LocalClusterError(f"no token for {account}: {error}") from error
        path = self.folder / f"{namespace}.{service_account}.kubeconfig"
        return self.plane.write_kubeconfig(path, answer["status"]["token"])

    def log(self, name: str) -> Path:
        """The log file of a component, a node or a command of `run_beside`."""
        return self.plane.state.logs / f"{name}.log"

    def process(self, name: str) -> Process:
        """The process of a component ("kube-apiserver"), node ("node-0") or `run_beside`."""
        return self._processes[name]

    def dead(self) -> list[str]:
        """The names of processes that ended without `stop`, also of `run_beside` commands."""
        return self._processes.dead()

    def raise_if_dead(self) -> None:
        """Raise a StartError with the last log lines of a process that ended without `stop`."""
        for name in self.dead():
            self.process(name).raise_if_dead()

    def stop(self, name: str) -> None:
        """Stop one component or node, with a short grace period, and leave it stopped."""
        self._processes.stop(name, STOP_GRACE_SECONDS)

    def start_component(self, name: str, wait: bool = True) -> None:
        """Start a stopped or dead component (on its old port), node or pods' network; by default
        wait until it is ready. Raises StartError.
        """
        deadline = clock.monotonic() + self.config.start_timeout_seconds
        if name in COMPONENTS:
            self.plane.start_component(name)
            wait_for = self.plane.wait_ready
        elif name == NETWORK:
            self._start_network()
            wait_for = self._wait_for_network
        else:
            self._start_node(name)
            wait_for = self._wait_for_node
        if wait:
            wait_for(name, deadline)

    @property
    def plane(self) -> ControlPlane:
        """The control plane. Raises LocalClusterError if it is not running."""
        if self._plane is None:
            raise LocalClusterError("the cluster is not running")
        return self._plane

    def _start_network(self) -> None:
        """Start the process that creates the pods' network, unless it runs or is not wanted."""
        process = self._processes.get(NETWORK)
        if not self._has_network or (process is not None and process.is_running):
            return
        run, server = self.plane.state.run, self.server.removeprefix("https://")
        (run / NETWORK_FILE).unlink(missing_ok=True)
        arguments = [*NETWORK_PROGRAM, str(run), server]
        self._processes.start(Command(NETWORK, arguments, self.log(NETWORK), IMPORTS, FINDABLE))

    def _wait_for_network(self, name: str, deadline: float) -> None:
        """Wait until the network exists, or its process has said that this machine allows none."""
        process = self._processes.get(name)
        if process is None:
            return
        file = self.plane.state.run / NETWORK_FILE
        clock.wait_until(
            lambda: file.exists() or not process.is_running, deadline - clock.monotonic()
        )
        if not process.is_running and process.exit_code == 0:
            self._has_network = False
            self.config.report(process.last_log_lines())
            self._processes.stop(name)
        elif not file.exists():
            process.raise_if_dead()
            raise StartError(f"{name} was not ready in time")

    def _start_node(self, name: str) -> None:
        self._start_network()
        deadline = clock.monotonic() + self.config.start_timeout_seconds
        self._wait_for_network(NETWORK, deadline)
        folder = self.plane.state.run / name
        folder.mkdir(exist_ok=True)
        self.plane.write_node_kubeconfig(folder / "kubeconfig", name)
        write_private(folder / "config", pickle.dumps(self._node_config()))
        self._processes.start(
            Command(
                name,
                [*NODE_PROGRAM, str(folder)],
                log=self.log(name),
                folder=IMPORTS,
                environment=FINDABLE,
                grace_seconds=NODE_GRACE_SECONDS,
            )
        )

    def _node_config(self) -> ClusterConfig:
        """The configuration for the nodes' processes, with absolute paths and `tell` as report."""
        config = self.config
        return replace(
            config,
            images=[*self.plane.state.images, *(table.absolute() for table in config.images)],
            nfs_root=(config.nfs_root or self.plane.state.run / "nfs").absolute(),
            host_path_root=config.host_path_root and config.host_path_root.absolute(),
            report=tell,
        )

    def _wait_for_node(self, name: str, deadline: float) -> None:
        self._processes.wait_for(name, lambda: self._is_node_ready(name), deadline)

    def _is_node_ready(self, name: str) -> bool:
        try:
            node = self.get(f"/api/v1/nodes/{name}")
        except ApiError:
            return False
        # A controller removes the taint a moment after Ready; no pod is scheduled before.
        taints = [taint["key"] for taint in node["spec"].get("taints", [])]
        return has_condition(node, "Ready") and NOT_READY_TAINT not in taints
