"""A whole local cluster: a control plane and its nodes, from start to stop.

    with Cluster(ClusterConfig(nodes=1)) as cluster:
        print(cluster.kubectl("get", "nodes").stdout)

Nothing of a cluster outlives the process that started it. A cluster is used from one thread at a
time; kubectl may be called from any.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from localcluster import clock
from localcluster.build import ensure_binaries
from localcluster.components import COMPONENTS
from localcluster.controlplane import ControlPlane
from localcluster.errors import LocalClusterError
from localcluster.kubeconfig import token_user
from localcluster.process import Command, Process
from localcluster.processgroup import ProcessGroup
from localcluster.restclient import RestError
from localcluster.statefolder import StateFolder, claim

PROJECT = Path(__file__).parent.parent
NODE_PROGRAM = (sys.executable, "-m", "localcluster.node")
NOT_READY_TAINT = "node.kubernetes.io/not-ready"
STOP_GRACE_SECONDS = 2.0  # an API server with open watches takes all that it gets
NODE_GRACE_SECONDS = 5.0
TOKEN_SECONDS = 24 * 3600


@dataclass(frozen=True)
class ClusterConfig:
    """What a cluster is made of.

    `state_dir` is private to the cluster, wiped at its start, and keeps the logs and the audit log
    after its stop; without one it is a temporary folder that goes at the stop. `images` are image
    tables (the node has its own without one); `taints` are `key=value:effect`.
    `nfs_root` holds what NFS volumes show, as <server>/<path> (without it, a folder of the run),
    and `host_path_root` what pods see as the hosts' folders (the machine's own without it).
    `config_retry_seconds` is how long a node waits before it looks again for a ConfigMap that a
    container lacks; `node_arguments` are further ones of `python -m localcluster.node`, and
    `component_arguments` those of a component ("kube-controller-manager").
    """

    nodes: int = 1
    node_capacity: Mapping[str, str] = field(
        default_factory=lambda: {"cpu": "8", "memory": "16Gi", "nvidia.com/gpu": "4"}
    )
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: Sequence[str] = ()
    state_dir: Path | None = None
    images: Sequence[Path] = ()
    nfs_root: Path | None = None
    host_path_root: Path | None = None
    config_retry_seconds: float | None = None
    node_arguments: Sequence[str] = ()
    component_arguments: Mapping[str, Sequence[str]] = field(default_factory=dict)
    start_timeout_seconds: float = 90.0
    report: Callable[[str], None] = field(default=print, repr=False)


def check_platform() -> None:
    """Raise unless this is Linux."""
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
        self._binaries = Path()
        self._state: StateFolder | None = None
        self._plane: ControlPlane | None = None

    def start(self) -> None:
        """Build what is missing, start, and return when every component and node is ready.

        Raises a LocalClusterError, with nothing left running, when that fails.
        """
        check_platform()
        self._binaries = ensure_binaries(self.config.report)
        self._state = claim(self.config.state_dir)
        try:
            self._plane = ControlPlane(
                self._binaries, self._state, self._processes, self.config.component_arguments
            )
            deadline = clock.monotonic() + self.config.start_timeout_seconds
            self._plane.start(deadline)
            self.config.report(f"control plane is ready: {self.server}")
            self._start_nodes(deadline)
        except BaseException:
            self.stop_all()
            raise

    def stop_all(self) -> None:
        """Stop nodes, then components; returns when no process is left. Harmless twice."""
        for name in [name for name in self._processes.names() if name not in COMPONENTS]:
            self._processes.stop(name, NODE_GRACE_SECONDS)
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
        """Of a user who may do everything."""
        return self._started.kubeconfig

    @property
    def server(self) -> str:
        """The API server's URL."""
        return self._started.server

    @property
    def token(self) -> str:
        """The bearer token of a user who may do everything."""
        return self._started.token

    @property
    def ca_file(self) -> Path:
        """The certificate authority of the API server."""
        return self._started.ca_file

    @property
    def audit_log(self) -> Path:
        """One JSON object a line for each request since the start: who, which verb, on what."""
        return self._started.audit_log

    @property
    def bin_dir(self) -> Path:
        """The folder of kubectl and the components."""
        return self._binaries

    def kubectl(
        self,
        *arguments: str,
        stdin: str | None = None,
        check: bool = True,
        kubeconfig: Path | None = None,
        timeout_seconds: float = 120.0,
    ) -> subprocess.CompletedProcess[str]:
        """Run kubectl as admin, or with another kubeconfig.

        With `check` a failure raises LocalClusterError with what kubectl said.
        """
        done = subprocess.run(
            [str(self._binaries / "kubectl"), *arguments],
            env=self.kubectl_environment(kubeconfig),
            input=stdin if stdin is not None else "",
            capture_output=True,
            text=True,
            timeout=timeout_seconds,
        )
        if check and done.returncode:
            raise LocalClusterError(f"kubectl {' '.join(arguments)}: {done.stderr.strip()}")
        return done

    def kubectl_environment(self, kubeconfig: Path | None = None) -> dict[str, str]:
        """The environment in which kubectl, run by its path or from PATH, uses this cluster."""
        return {
            **os.environ,
            "KUBECONFIG": str(kubeconfig or self.kubeconfig),
            "KUBECACHEDIR": str(self._run_folder / "kubectl-cache"),  # ports come back: no mix-up
            "PATH": f"{self._binaries}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        }

    def get(self, path: str) -> Any:
        """What the API server answers to a GET of this path, as parsed JSON."""
        return self._started.client.get(path)

    def run_beside(self, name: str, arguments: Sequence[str], folder: Path) -> Process:
        """Start a command that uses this cluster and ends with it; it logs to `log(name)`."""
        environment = self.kubectl_environment()
        command = Command(
            name, list(arguments), self.log(name), folder, environment, NODE_GRACE_SECONDS
        )
        self._processes.start(command)
        return self._processes.get(name)

    def kubeconfig_for(self, namespace: str, service_account: str) -> Path:
        """A kubeconfig with a token of this ServiceAccount, asked of the API server."""
        account = f"/api/v1/namespaces/{namespace}/serviceaccounts/{service_account}"
        request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": TOKEN_SECONDS},
        }
        try:
            answer = self._started.client.post(f"{account}/token", request)
        except RestError as error:
            raise LocalClusterError(f"no token for {account}: {error}") from error
        path = self._run_folder / f"{namespace}.{service_account}.kubeconfig"
        return self._started.write_kubeconfig(path, token_user(answer["status"]["token"]))

    def log(self, name: str) -> Path:
        """The log file of a component or a node."""
        if self._state is None:
            raise LocalClusterError("the cluster is not running")
        return self._state.logs / f"{name}.log"

    def process(self, name: str) -> Process:
        """The process of a component ("kube-apiserver") or node ("node-0"): its pid, signals."""
        return self._processes.get(name)

    def dead(self) -> list[str]:
        """The components and nodes that ended without being told to."""
        return self._processes.dead()

    def stop(self, name: str) -> None:
        """Stop one component or node and leave it stopped: SIGTERM, some grace, SIGKILL."""
        self._processes.stop(name, STOP_GRACE_SECONDS)

    def start_component(self, name: str, wait: bool = True) -> None:
        """Start a stopped, or dead, component on its old port, or a node; and wait for it."""
        deadline = clock.monotonic() + self.config.start_timeout_seconds
        if name not in COMPONENTS:
            self._start_node(name)
        else:
            self._started.start_component(name)
        if wait and name in COMPONENTS:
            self._started.wait_ready(name, deadline)
        elif wait:
            self._wait_for_node(name, deadline)

    @property
    def _started(self) -> ControlPlane:
        if self._plane is None:
            raise LocalClusterError("the cluster is not running")
        return self._plane

    @property
    def _run_folder(self) -> Path:
        if self._state is None:
            raise LocalClusterError("the cluster is not running")
        return self._state.run

    def _start_nodes(self, deadline: float) -> None:
        names = [f"node-{number}" for number in range(self.config.nodes)]
        for name in names:
            self._start_node(name)
        for name in names:
            self._wait_for_node(name, deadline)

    def _start_node(self, name: str) -> None:
        folder = self._run_folder / name
        folder.mkdir(exist_ok=True)
        kubeconfig = self._started.write_node_kubeconfig(folder / "kubeconfig", name)
        self._processes.start(
            Command(
                name,
                [*NODE_PROGRAM, *self._node_arguments(name, kubeconfig, folder)],
                log=self.log(name),
                folder=PROJECT,
                grace_seconds=NODE_GRACE_SECONDS,
            )
        )

    def _node_arguments(self, name: str, kubeconfig: Path, folder: Path) -> list[str]:
        config = self.config
        arguments = ["--name", name, "--kubeconfig", str(kubeconfig), "--state-dir", str(folder)]
        arguments += ["--capacity", ",".join(f"{k}={v}" for k, v in config.node_capacity.items())]
        for key, value in config.labels.items():
            arguments += ["--label", f"{key}={value}"]
        for taint in config.taints:
            arguments += ["--taint", taint]
        for table in config.images:
            arguments += ["--images", str(table.absolute())]
        arguments += ["--nfs-root", str((config.nfs_root or self._run_folder / "nfs").absolute())]
        if config.host_path_root is not None:
            arguments += ["--host-path-root", str(config.host_path_root.absolute())]
        if config.config_retry_seconds is not None:
            arguments += ["--config-retry-seconds", str(config.config_retry_seconds)]
        return [*arguments, *config.node_arguments]

    def _wait_for_node(self, name: str, deadline: float) -> None:
        self._processes.wait_for(name, lambda: self._is_node_ready(name), deadline)

    def _is_node_ready(self, name: str) -> bool:
        try:
            node = self._started.client.get(f"/api/v1/nodes/{name}")
        except (OSError, RestError):
            return False
        conditions = node.get("status", {}).get("conditions", [])
        is_ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
        # A controller takes the taint off a moment later; the scheduler waits for that.
        taints = [taint["key"] for taint in node["spec"].get("taints", [])]
        return is_ready and NOT_READY_TAINT not in taints
