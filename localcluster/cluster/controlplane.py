"""Starts the control plane, waits until it is ready, and stops it.

etcd and the API server, which waits for etcd, start first. When the API server is ready, the
controller manager and the scheduler start. (If those two started earlier, they would only fail, and
take CPU from the API server.)
"""

import secrets
from pathlib import Path

from localcluster.client.kubeconfig import write_kubeconfig, write_private
from localcluster.client.pki import Authority
from localcluster.client.rest import Server, ServerClient
from localcluster.cluster import components
from localcluster.cluster.components import (
    API_SERVER,
    CONTROLLER_MANAGER,
    ETCD,
    SCHEDULER,
    with_further,
)
from localcluster.cluster.config import ClusterConfig
from localcluster.machine.ports import HOST, claim_port
from localcluster.machine.process import Command, ProcessGroup
from localcluster.machine.statefolder import StateFolder
from localcluster.provision.binaries import is_pinned_version

HEALTH_SECONDS = 5.0
ADMIN, ADMIN_GROUP = "admin", "system:masters"
NODE_PREFIX, NODES_GROUP = "system:node:", "system:nodes"
# Controllers write these into a new namespace; no pod can be created in it before.
NAMESPACE_CONTENT = (
    "/api/v1/namespaces/default/serviceaccounts/default",
    "/api/v1/namespaces/default/configmaps/kube-root-ca.crt",
)


class ControlPlane:
    """etcd, kube-apiserver, kube-controller-manager and kube-scheduler in one state folder.

    `token` belongs to an administrator. `audit_log` has lines of JSON for each request since the
    start (two for a watch): the user, the verb, the object.
    """

    def __init__(
        self, config: ClusterConfig, binaries: Path, state: StateFolder, processes: ProcessGroup
    ) -> None:
        self._binaries = binaries
        self._is_pinned = is_pinned_version(binaries)
        self._more_arguments = config.component_arguments
        self.state = state
        self._processes = processes
        self._authority = Authority()
        claimed = {name: claim_port() for name in (API_SERVER, CONTROLLER_MANAGER, SCHEDULER)}
        self._ports = {name: number for name, (number, _) in claimed.items()}
        self._claims = [claim for _, claim in claimed.values()]
        groups = {f"{NODE_PREFIX}{node}": NODES_GROUP for node in config.known_nodes}
        groups |= {
            ADMIN: ADMIN_GROUP,
            f"system:{CONTROLLER_MANAGER}": "",
            f"system:{SCHEDULER}": "",
        }
        self._tokens = {user: secrets.token_urlsafe(24) for user in groups}
        self.token = self._tokens[ADMIN]
        self.server = f"https://{HOST}:{self._ports[API_SERVER]}"
        self.ca_file = state.run / "ca.crt"
        self.audit_log = state.path / "audit.log"
        self.kubeconfig = state.path / "kubeconfig"
        self._write_files(groups)
        self.client = ServerClient(self._address_of(API_SERVER, self.token))

    def start(self, deadline: float) -> None:
        """Start all components and wait until they are ready. Raises a StartError that names a
        component that is not ready.
        """
        self.start_component(ETCD)
        self.start_component(API_SERVER)
        self.wait_ready(API_SERVER, deadline)
        self.start_component(CONTROLLER_MANAGER)
        self.start_component(SCHEDULER)
        self._let_nodes_in()
        self.wait_ready(SCHEDULER, deadline)
        self.wait_ready(CONTROLLER_MANAGER, deadline)

    def start_component(self, name: str) -> None:
        """Start a component, unless it runs; it has the port and the data of its last start."""
        lines = components.command_lines(
            self._ports, str(self.audit_log), has_gangs=self._is_pinned
        )
        program, *arguments = lines[name]
        further = self._more_arguments.get(name, ())
        self._processes.start(
            Command(
                name,
                [str(self._binaries / program), *with_further(arguments, further)],
                log=self.state.logs / f"{name}.log",
                folder=self.state.run,
            )
        )

    def wait_ready(self, name: str, deadline: float) -> None:
        """Wait until the component is ready; the deadline is on the monotonic clock."""
        self._processes.wait_for(name, lambda: self._is_ready(name), deadline)

    def stop(self) -> None:
        """Kill all components without a grace period, because their data is removed too."""
        for name in reversed(components.COMPONENTS):
            self._processes.stop(name)
        for claim in self._claims:
            claim.close()
        self.client.close()

    def write_kubeconfig(self, path: Path, token: str) -> Path:
        """Write a kubeconfig for this server and this token; return the path."""
        return write_kubeconfig(path, self.server, self._authority.certificate, token)

    def write_node_kubeconfig(self, path: Path, node: str) -> Path:
        """Write a kubeconfig for a node, as user system:node:<node>; return the path."""
        return self.write_kubeconfig(path, self._tokens[f"{NODE_PREFIX}{node}"])

    def _is_ready(self, name: str) -> bool:
        if name == ETCD:
            return True  # the API server is ready only if etcd is
        content = NAMESPACE_CONTENT if name == CONTROLLER_MANAGER else ()
        with ServerClient(self._address_of(name), HEALTH_SECONDS) as client:
            # The scheduler has no /readyz before 1.31.
            is_ready = name == API_SERVER or (name == SCHEDULER and self._is_pinned)
            is_well = client.is_ok("/readyz" if is_ready else "/healthz")
        return is_well and all(self.client.is_ok(path) for path in content)

    def _address_of(self, name: str, token: str = "") -> Server:
        server = f"https://{HOST}:{self._ports[name]}"
        return Server(server, self._authority.certificate.decode(), token)

    def _write_files(self, groups: dict[str, str]) -> None:
        run = self.state.run
        names = ["localhost", "kubernetes.default.svc"]
        write_private(self.ca_file, self._authority.certificate)
        pair = self._authority.issue("localcluster", names, [HOST, components.API_SERVICE])
        write_private(run / "server.crt", pair.certificate)
        write_private(run / "server.key", pair.key)
        users = (f'{self._tokens[user]},{user},{user},"{group}"' for user, group in groups.items())
        write_private(run / "tokens.csv", "\n".join(users).encode())
        write_private(run / "audit-policy.yaml", components.AUDIT_POLICY.encode())
        for name in (CONTROLLER_MANAGER, SCHEDULER):
            self.write_kubeconfig(run / f"{name}.kubeconfig", self._tokens[f"system:{name}"])
        self.write_kubeconfig(self.kubeconfig, self.token)

    def _let_nodes_in(self) -> None:
        # The node authorizer is off, and by default the ClusterRole system:node is bound to nobody.
        api = "rbac.authorization.k8s.io"
        binding = {
            "metadata": {"name": "localcluster-nodes"},
            "roleRef": {"apiGroup": api, "kind": "ClusterRole", "name": "system:node"},
            "subjects": [{"apiGroup": api, "kind": "Group", "name": NODES_GROUP}],
        }
        self.client.create(f"/apis/{api}/v1/clusterrolebindings", binding)
