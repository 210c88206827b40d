"""What nodes and quotas offer, for a job whose pods do not fit."""

from collections.abc import Iterator
from types import ModuleType

from api.job import PaddleJob
from api.objects import Raw, name_of
from api.trainer import requests_of
from kube.client import Client
from pdj.gather.paths import core_path

MAX_NODES = 10


def node_lines(client: Client, job: PaddleJob, texts: ModuleType) -> list[str]:
    """The resources that no node has enough of, then what each node has."""
    nodes, _ = client.list(core_path("", "nodes"))
    lines = [*_never_fits(nodes, job, texts)]
    lines += [f"{name_of(node)}: {_describe(node)}" for node in nodes[:MAX_NODES]]
    return lines + ([f"... {len(nodes) - MAX_NODES} more"] if len(nodes) > MAX_NODES else [])


def quota_lines(client: Client, namespace: str) -> list[str]:
    """The namespace's quotas, with what is used."""
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


def _never_fits(nodes: list[Raw], job: PaddleJob, texts: ModuleType) -> Iterator[str]:
    """A line for each role whose pods ask for more devices than any node has, used or not."""
    for role, spec in job.spec.roles.items():
        asked: dict[str, int] = {}
        for container in spec.pod_spec.get("containers") or ():
            for resource, amount in requests_of(container).items():
                if "/" in resource:  # devices and hugepages' like are counted in whole numbers
                    asked[resource] = asked.get(resource, 0) + _number(amount)
        for resource, amount in asked.items():
            most = max((_number(_allocatable(node).get(resource, 0)) for node in nodes), default=0)
            if nodes and amount > most:
                yield str(texts.LABELS["neverFits"]).format(role, resource, amount, most)


def _describe(node: Raw) -> str:
    status, spec = node.get("status") or {}, node.get("spec") or {}
    has = ", ".join(
        f"{key} {value}"
        for key, value in _allocatable(node).items()
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


def _allocatable(node: Raw) -> Raw:
    found: Raw = (node.get("status") or {}).get("allocatable") or {}
    return found


def _number(amount: object) -> int:
    """A whole number; 0 for a quantity with a unit."""
    text = str(amount)
    return int(text) if text.isdecimal() and len(text) < 19 else 0
