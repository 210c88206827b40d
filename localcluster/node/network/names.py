"""Resolves Service names to the addresses of the pods behind them. Pure.

There is no cluster DNS and no kube-proxy. Instead, /etc/hosts of each pod has lines for every
Service with the addresses of the pods that the Service selects: of the ready ones, or of all with
`publishNotReadyAddresses`. A pod's hostname has a line, too, if `subdomain` names the Service.
"""

from dataclasses import dataclass

from localcluster.client.rest import Raw, has_condition

DOMAIN = "svc.cluster.local"


@dataclass(frozen=True)
class PodAddress:
    """The data of a pod for name resolution."""

    namespace: str
    labels: frozenset[tuple[str, str]]
    address: str
    is_ready: bool
    hostname: str = ""
    subdomain: str = ""


@dataclass(frozen=True, order=True)
class HostsLine:
    """A name in a namespace, and an address that it resolves to."""

    namespace: str
    name: str
    address: str

    def text(self, namespace: str) -> str:
        """The line as a pod of this namespace has it in /etc/hosts."""
        full = f"{self.name}.{self.namespace}"
        local = [self.name] if namespace == self.namespace else []
        names = [f"{full}.{DOMAIN}", f"{full}.svc", full, *local]
        return "\t".join([self.address, " ".join(names)])


def pod_address(pod: Raw) -> PodAddress | None:
    """The pod's data; None if no name resolves to it, because it has no address or has ended."""
    status = pod.get("status") or {}
    address = status.get("podIP")
    if not address or status.get("phase") in ("Succeeded", "Failed"):
        return None
    metadata, spec = pod["metadata"], pod["spec"]
    return PodAddress(
        namespace=metadata["namespace"],
        labels=frozenset((metadata.get("labels") or {}).items()),
        address=address,
        is_ready=has_condition(pod, "Ready") and "deletionTimestamp" not in metadata,
        hostname=spec.get("hostname", ""),
        subdomain=spec.get("subdomain", ""),
    )


def build_lines(services: list[Raw], pods: list[PodAddress]) -> list[HostsLine]:
    """The lines of all Services, sorted."""
    by_label: dict[tuple[str, tuple[str, str]], list[PodAddress]] = {}
    for pod in pods:
        for label in pod.labels:
            by_label.setdefault((pod.namespace, label), []).append(pod)
    lines: set[HostsLine] = set()
    for service in services:
        for pod in _selected(service, by_label):
            lines |= _lines_of(service, pod)
    return sorted(lines)


def _selected(
    service: Raw, by_label: dict[tuple[str, tuple[str, str]], list[PodAddress]]
) -> list[PodAddress]:
    namespace, spec = service["metadata"]["namespace"], service["spec"]
    selector = set((spec.get("selector") or {}).items())
    candidates = [by_label.get((namespace, label), []) for label in selector]
    return [
        pod
        for pod in min(candidates, key=len, default=[])
        if selector <= pod.labels and (pod.is_ready or spec.get("publishNotReadyAddresses"))
    ]


def _lines_of(service: Raw, pod: PodAddress) -> set[HostsLine]:
    name, namespace = service["metadata"]["name"], service["metadata"]["namespace"]
    names = [name]
    if pod.hostname and pod.subdomain == name:
        names.append(f"{pod.hostname}.{name}")
    return {HostsLine(namespace, each, pod.address) for each in names}
