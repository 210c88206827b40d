"""What Service names resolve to: the addresses of the pods behind them. Pure.

There is no cluster DNS here and no Service address: every name stands in /etc/hosts of each pod,
with the address of the ready pods that the Service selects (of all that have an address, where it
publishes those that are not ready). A named host below a headless Service has its line too.
"""

from dataclasses import dataclass

from localcluster.node.client import Raw

DOMAIN = "svc.cluster.local"


@dataclass(frozen=True)
class PodAddress:
    """What name resolution needs to know of a pod."""

    namespace: str
    labels: frozenset[tuple[str, str]]
    address: str
    is_ready: bool
    hostname: str = ""
    subdomain: str = ""


@dataclass(frozen=True)
class ServiceName:
    """What name resolution needs to know of a Service."""

    namespace: str
    name: str
    selector: frozenset[tuple[str, str]]
    publishes_not_ready: bool


@dataclass(frozen=True)
class Line:
    """An address and the names that lead to it from anywhere, and from its namespace alone."""

    namespace: str
    address: str
    names: tuple[str, ...]
    local_names: tuple[str, ...]

    def text(self, namespace: str) -> str:
        """The line as a pod of this namespace has it in /etc/hosts."""
        local = self.local_names if namespace == self.namespace else ()
        return "\t".join([self.address, " ".join([*self.names, *local])])


def pod_address(pod: Raw) -> PodAddress | None:
    """None for a pod that no name can lead to: without an address, or ended."""
    status = pod.get("status") or {}
    address = status.get("podIP")
    if not address or status.get("phase") in ("Succeeded", "Failed"):
        return None
    conditions = status.get("conditions") or []
    is_ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
    metadata, spec = pod["metadata"], pod["spec"]
    return PodAddress(
        namespace=metadata["namespace"],
        labels=frozenset((metadata.get("labels") or {}).items()),
        address=address,
        is_ready=is_ready and "deletionTimestamp" not in metadata,
        hostname=spec.get("hostname", ""),
        subdomain=spec.get("subdomain", ""),
    )


def service_name(service: Raw) -> ServiceName:
    """What a Service object says about its name."""
    metadata, spec = service["metadata"], service["spec"]
    return ServiceName(
        namespace=metadata["namespace"],
        name=metadata["name"],
        selector=frozenset((spec.get("selector") or {}).items()),
        publishes_not_ready=bool(spec.get("publishNotReadyAddresses")),
    )


def build_lines(services: list[ServiceName], pods: list[PodAddress]) -> list[Line]:
    """Every line, in an order that depends on the content alone."""
    by_label: dict[tuple[str, tuple[str, str]], list[PodAddress]] = {}
    for pod in pods:
        for label in pod.labels:
            by_label.setdefault((pod.namespace, label), []).append(pod)
    lines: set[Line] = set()
    for service in services:
        for pod in _selected(service, by_label):
            lines |= _lines_of(service, pod)
    return sorted(lines, key=lambda line: (line.namespace, line.names, line.address))


def _selected(
    service: ServiceName, by_label: dict[tuple[str, tuple[str, str]], list[PodAddress]]
) -> list[PodAddress]:
    if not service.selector:
        return []
    candidates = [by_label.get((service.namespace, label), []) for label in service.selector]
    return [
        pod
        for pod in min(candidates, key=len)
        if service.selector <= pod.labels and (pod.is_ready or service.publishes_not_ready)
    ]


def _lines_of(service: ServiceName, pod: PodAddress) -> set[Line]:
    names = [service.name]
    if pod.hostname and pod.subdomain == service.name:
        names.append(f"{pod.hostname}.{service.name}")
    return {_line(name, service.namespace, pod.address) for name in names}


def _line(name: str, namespace: str, address: str) -> Line:
    full = f"{name}.{namespace}"
    names = (f"{full}.{DOMAIN}", f"{full}.svc", full)
    return Line(namespace, address, names, (name,))
