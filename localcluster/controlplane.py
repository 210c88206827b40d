"""Starts the control plane, tells when it is ready, and stops it.

The start order: etcd and the API server together, since the latter waits for the former; when it
answers, the controller manager and the scheduler. (Started earlier, those two only take the CPU
that it needs, and back off.)
"""

import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path

from localcluster import components
from localcluster.components import API_SERVER, CONTROLLER_MANAGER, ETCD, SCHEDULER, Ports
from localcluster.kubeconfig import (
    Raw,
    certificate_user,
    token_user,
    write_kubeconfig,
    write_private,
)
from localcluster.pki import Authority, KeyPair, generate_signing_key
from localcluster.ports import HOST, Port, claim_port
from localcluster.process import Command
from localcluster.processgroup import ProcessGroup
from localcluster.restclient import CONFLICT, RestClient, RestError
from localcluster.statefolder import StateFolder

ADMIN_GROUP = "system:masters"
NODES_GROUP = "system:nodes"
# Written by controllers into a new namespace; pods cannot be created before.
NAMESPACE_CONTENT = (
    "/api/v1/namespaces/default/serviceaccounts/default",
    "/api/v1/namespaces/default/configmaps/kube-root-ca.crt",
)


class ControlPlane:
    """etcd, kube-apiserver, kube-controller-manager and kube-scheduler in one state folder."""

    def __init__(
        self,
        binaries: Path,
        state: StateFolder,
        processes: ProcessGroup,
        more_arguments: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self._binaries = binaries
        self._more_arguments = more_arguments or {}
        self._state = state
        self._processes = processes
        self._authority = Authority()
        self._claims: list[Port] = [claim_port() for _ in range(3)]
        self._ports = Ports(*(port.number for port in self._claims))
        self.token = secrets.token_urlsafe(24)
        self.server = f"https://{HOST}:{self._ports.api_server}"
        self.ca_file = state.run / "ca.crt"
        self.audit_log = state.path / "audit.log"
        self.kubeconfig = state.path / "kubeconfig"
        self._write_files()
        self.client = RestClient(self.server, self.ca_file, self.token)
        self._health = RestClient(self.server, self.ca_file)

    def start(self, deadline: float) -> None:
        """Start all and return when all is ready; StartError names who was not, and why."""
        self.start_component(ETCD)
        self.start_component(API_SERVER)
        self.wait_ready(API_SERVER, deadline)
        self.start_component(CONTROLLER_MANAGER)
        self.start_component(SCHEDULER)
        self._let_nodes_in()
        self.wait_ready(SCHEDULER, deadline)
        self.wait_ready(CONTROLLER_MANAGER, deadline)

    def start_component(self, name: str) -> None:
        """Start one, with the port and the data that it had before."""
        program, *arguments = components.command_lines(self._ports, str(self.audit_log))[name]
        self._processes.start(
            Command(
                name,
                [str(self._binaries / program), *arguments, *self._more_arguments.get(name, ())],
                log=self._state.logs / f"{name}.log",
                folder=self._state.run,
            )
        )

    def wait_ready(self, name: str, deadline: float) -> None:
        """Wait until the component is ready; the deadline is on the monotonic clock."""
        self._processes.wait_for(name, lambda: self._is_ready(name), deadline)

    def stop(self) -> None:
        """Kill all: the data goes with them, so there is nothing to save."""
        for name in reversed(components.COMPONENTS):
            self._processes.stop(name, 0)
        for port in self._claims:
            port.release()

    def write_kubeconfig(self, path: Path, user: Raw) -> Path:
        """A kubeconfig for this server and that user."""
        return write_kubeconfig(path, self.server, self._authority.certificate, user)

    def write_node_kubeconfig(self, path: Path, node: str) -> Path:
        """A kubeconfig for a kubelet, with the identity that kubelets have."""
        pair = self._authority.issue_client(f"system:node:{node}", [NODES_GROUP])
        return self.write_kubeconfig(path, certificate_user(pair))

    def _is_ready(self, name: str) -> bool:
        if name == SCHEDULER:
            return self._answers(self._ports.scheduler, "/readyz")
        if name == CONTROLLER_MANAGER:
            healthy = self._answers(self._ports.controller_manager, "/healthz")
            return healthy and all(self.client.is_ok(path) for path in NAMESPACE_CONTENT)
        if name == API_SERVER:
            return self._health.is_ok("/readyz")
        return True  # etcd: the API server's readiness tells

    def _answers(self, port: int, path: str) -> bool:
        return RestClient(f"https://{HOST}:{port}", self.ca_file).is_ok(path)

    def _write_files(self) -> None:
        run = self._state.run
        names = ["localhost", "kubernetes.default.svc"]
        write_private(self.ca_file, self._authority.certificate)
        self._write_pair("server", self._authority.issue_server("localcluster", names, [HOST]))
        kubelet_client = self._authority.issue_client("kubelet-client", [ADMIN_GROUP])
        self._write_pair("kubelet-client", kubelet_client)
        write_private(run / "service-account.key", generate_signing_key())
        write_private(run / "tokens.csv", f'{self.token},admin,admin,"{ADMIN_GROUP}"\n'.encode())
        write_private(run / "audit-policy.yaml", components.AUDIT_POLICY.encode())
        for name in (CONTROLLER_MANAGER, SCHEDULER):
            user = certificate_user(self._authority.issue_client(f"system:{name}"))
            self.write_kubeconfig(run / f"{name}.kubeconfig", user)
        self.write_kubeconfig(self.kubeconfig, token_user(self.token))

    def _write_pair(self, name: str, pair: KeyPair) -> None:
        write_private(self._state.run / f"{name}.crt", pair.certificate)
        write_private(self._state.run / f"{name}.key", pair.key)

    def _let_nodes_in(self) -> None:
        # The node authorizer is off; its role exists and is bound to nobody.
        group = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": NODES_GROUP}
        role = {"apiGroup": group["apiGroup"], "kind": "ClusterRole", "name": "system:node"}
        binding = {
            "apiVersion": f"{group['apiGroup']}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "localcluster-nodes"},
            "roleRef": role,
            "subjects": [group],
        }
        try:
            self.client.post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)
        except RestError as error:
            if error.status != CONFLICT:
                raise
