"""The command lines of the control plane's components.

They run in one private folder and use relative paths. etcd listens on Unix sockets in that folder:
other users have no access to them, and relative paths stay within the kernel's limit.
"""

from collections.abc import Mapping, Sequence

from localcluster.machine.ports import HOST

ETCD = "etcd"
API_SERVER = "kube-apiserver"
CONTROLLER_MANAGER = "kube-controller-manager"
SCHEDULER = "kube-scheduler"
COMPONENTS = (ETCD, API_SERVER, CONTROLLER_MANAGER, SCHEDULER)

# etcd requires host:port; with the scheme unix it takes "localhost:1" as the socket's file name.
ETCD_CLIENTS = "unix://localhost:1"
ETCD_PEERS = "unix://localhost:2"

SERVICE_CIDR = "10.96.0.0/16"
API_SERVICE = "10.96.0.1"  # the API server, for pods with a network of their own
SERVICE_ACCOUNT_ISSUER = "https://kubernetes.default.svc.cluster.local"
AUDIT_POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
"""
# EndpointSlices refuse loopback addresses, which pods have if they share the machine's network.
LEFT_OUT = ("endpoint", "endpointslice", "endpointslicemirroring")
# Gang scheduling by kube-scheduler: PodGroup in scheduling.k8s.io/v1alpha2, since 1.36. Binaries of
# another version, from KUBEBUILDER_ASSETS, perhaps do not start with these flags.
GANG_FLAGS = (
    "--feature-gates=GenericWorkload=true,GangScheduling=true",
    "--runtime-config=scheduling.k8s.io/v1alpha2=true",
)
SERVING = (
    "--bind-address=" + HOST,
    "--tls-cert-file=server.crt",
    "--tls-private-key-file=server.key",
)


def command_lines(
    ports: Mapping[str, int], audit_log: str, *, has_gangs: bool = True
) -> dict[str, list[str]]:
    """The command line of each component by name; `has_gangs` enables gang scheduling."""
    gates = GANG_FLAGS[:1] if has_gangs else ()
    return {
        ETCD: _etcd(),
        API_SERVER: [
            *_api_server(ports[API_SERVER], audit_log),
            *(GANG_FLAGS if has_gangs else ()),
        ],
        CONTROLLER_MANAGER: [*_controller_manager(ports[CONTROLLER_MANAGER]), *gates],
        SCHEDULER: [*_controllers(SCHEDULER, ports[SCHEDULER]), *gates],
    }


def with_further(own: Sequence[str], further: Sequence[str]) -> list[str]:
    """The flags of `own` that `further` does not set, then `further`.

    Some flags would otherwise be combined.
    """
    given = {each.partition("=")[0] for each in further}
    return [*(each for each in own if each.partition("=")[0] not in given), *further]


def _etcd() -> list[str]:
    return [
        ETCD,
        "--name=localcluster",
        "--data-dir=etcd",
        f"--listen-client-urls={ETCD_CLIENTS}",
        f"--advertise-client-urls={ETCD_CLIENTS}",
        f"--listen-peer-urls={ETCD_PEERS}",
        f"--initial-advertise-peer-urls={ETCD_PEERS}",
        f"--initial-cluster=localcluster={ETCD_PEERS}",
        "--unsafe-no-fsync",
        "--quota-backend-bytes=8589934592",
        "--log-level=warn",
    ]


def _api_server(port: int, audit_log: str) -> list[str]:
    return [
        API_SERVER,
        *SERVING,
        f"--secure-port={port}",
        f"--advertise-address={HOST}",
        "--endpoint-reconciler-type=none",  # other types would publish a loopback address
        f"--etcd-servers={ETCD_CLIENTS}",
        "--client-ca-file=ca.crt",
        "--token-auth-file=tokens.csv",
        "--authorization-mode=RBAC",
        "--kubelet-client-certificate=server.crt",
        "--kubelet-client-key=server.key",
        "--kubelet-preferred-address-types=InternalIP",
        f"--service-account-issuer={SERVICE_ACCOUNT_ISSUER}",
        "--service-account-key-file=server.key",
        "--service-account-signing-key-file=server.key",
        f"--service-cluster-ip-range={SERVICE_CIDR}",
        "--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
        "--allow-privileged=true",
        "--audit-policy-file=audit-policy.yaml",
        f"--audit-log-path={audit_log}",
        "--audit-log-maxsize=10000",  # in MB, so large that the log stays in one file
    ]


def _controller_manager(port: int) -> list[str]:
    return [
        *_controllers(CONTROLLER_MANAGER, port),
        "--use-service-account-credentials=true",
        "--service-account-private-key-file=server.key",
        "--root-ca-file=ca.crt",
        "--controllers=" + ",".join(["*", *(f"-{name}" for name in LEFT_OUT)]),
    ]


def _controllers(name: str, port: int) -> list[str]:
    """The arguments that the controller manager and the scheduler share."""
    return [
        name,
        *SERVING,
        f"--secure-port={port}",
        f"--kubeconfig={name}.kubeconfig",
        "--leader-elect=false",
        "--kube-api-qps=1000",
        "--kube-api-burst=2000",
    ]
