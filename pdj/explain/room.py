"""Shows what nodes and quotas offer to a job whose pods do not fit."""

from collections.abc import Iterator

from api.catalogue.meaning import Words
from api.job import PaddleJob
from api.objects import Raw, name_of
from api.trainer import devices_of, most_devices, too_many_devices
from kube.client import Client
from pdj.gather.paths import core_path

MAX_NODES = 10


def node_lines(client: Client, job: PaddleJob) -> list[Words | str]:
    """Lines about devices of which no node has enough, then one for each of MAX_NODES nodes."""
    nodes, _ = client.list(core_path("", "nodes"))
    shown = [f"{name_of(node)}: {_describe(node)}" for node in nodes[:MAX_NODES]]
    more = [f"... {len(nodes) - MAX_NODES} more"] if len(nodes) > MAX_NODES else []
    return [*_never_fits(nodes, job), *shown, *more]


def quota_lines(client: Client, namespace: str) -> list[str]:
    """A line for each ResourceQuota of the namespace: used and allowed amounts."""
    quotas, _ = client.list(core_path(namespace, "resourcequotas"))
    lines = []
    for quota in quotas:
        status = quota.get("status") or {}
        used = status.get("used") or {}
        parts = [
            f"{key} {used.get(key, '0')}/{most}" for key, most in status.get("hard", {}).items()
        ]
        lines.append(f"{name_of(quota)}: {', '.join(parts)}")
    return lines


def _never_fits(nodes: list[Raw], job: PaddleJob) -> Iterator[Words]:
    """A line for each role and device if a pod asks for more of the device than any node has."""
    most = most_devices(map(devices_of, nodes))
    for role, spec in job.spec.roles.items():
        for device, asked, has in too_many_devices(spec.pod_spec, most):
            yield (
                f"each pod of {role} asks for {device} {asked}, but no node has more than {has}: "
                "it never fits",
                f"{role} 的每个 Pod 请求 {device} {asked}，而单个节点最多有 {has}：永远放不下",
            )


def _describe(node: Raw) -> str:
    status, spec = node.get("status") or {}, node.get("spec") or {}
    has = ", ".join(
        f"{key} {value}"
        for key, value in (status.get("allocatable") or {}).items()
        if key in ("cpu", "memory") or "/" in key
    )
    ready = any(
        each.get("type") == "Ready" and each.get("status") == "True"
        for each in status.get("conditions") or ()
    )
    notes = [] if ready else ["not ready"]
    notes += ["cordoned"] if spec.get("unschedulable") else []
    notes += [f"taint {each.get('key')}" for each in spec.get("taints") or ()]
    return has + "".join(f"; {note}" for note in notes)
