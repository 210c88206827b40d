"""The address and port of each pod, depending on `intranet`.

PodIP: the pod's IP. Service: the name of its Service with the namespace, because PaddlePaddle's
launcher ignores a POD_IP without a dot. Host: the node's IP. Pods on the host's network, whatever
`intranet` says, have port ranges of their own.
"""

from api.constants import Intranet, Role
from api.job import pod_name
from reconcile.model.view import View


def port_of(view: View, name: str) -> int:
    """The first port of the pod with this name."""
    return view.job.status.host_ports.get(name, view.port)


def host_of(view: View, name: str) -> str:
    """The address that peers use for the pod; empty while it has none."""
    if view.job.spec.intranet is Intranet.SERVICE:
        return f"{name}.{view.job.namespace}"
    pod = view.pods.get(name)
    return pod.address if pod else ""


def hosts_of(view: View, role: Role) -> list[str]:
    """The role's hosts in index order."""
    return [host_of(view, name) for name in _names(view, role)]


def endpoints_of(view: View, role: Role) -> list[str]:
    """The role's `host:port` in index order; IPv6 hosts are bracketed."""
    return [
        format_endpoint(host_of(view, name), port_of(view, name)) for name in _names(view, role)
    ]


def format_endpoint(host: str, port: int) -> str:
    """`host:port`, with brackets around an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _names(view: View, role: Role) -> list[str]:
    spec = view.job.spec.roles.get(role)
    return [pod_name(view.job.name, role, i) for i in range(spec.replicas)] if spec else []
