"""Reads raw pods and nodes: the trainer container, containers' requests and statuses, devices.

Device plugins choose the names of accelerators. Some also offer a device's memory or cores as
resources, which are not counted.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from api.constants import TRAINER_CONTAINER
from api.objects import Raw, dicts_in

PORT_VARIABLE = "PADDLE_PORT"
"""If the templates set this variable, it is every endpoint's port, except with intranet Host."""

ACCELERATORS = (
    *("*/gpu", "kunlunxin.com/xpu", "huawei.com/Ascend*", "iluvatar*", "hygon.com/dcu*"),
    *("metax-tech.com/*", "cambricon.com/mlu*", "enflame.com/gcu*", "habana.ai/gaudi"),
)
"""Resource names, with * as in file names: several vendors use `<vendor>/gpu`."""
Devices = dict[str, int]
"""The number of each device. A device is a resource with a slash in its name."""
_QUANTITY = re.compile("([0-9]{1,18})([kMG]?)")
_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}
"""The API server writes 1000 as `1k`."""
_SHARE = re.compile("mem|core", re.IGNORECASE)
_AMOUNT = re.compile("[0-9]{1,4}")
"""A number of devices. A quantity can have any number of digits, but no node has 10,000 devices."""


def trainer_name(pod_spec: Raw) -> str:
    """The trainer container's name: `paddle` if there is one, else the first container's."""
    names = [container.get("name", "") for container in pod_spec.get("containers") or ()]
    if TRAINER_CONTAINER in names or not names:
        return TRAINER_CONTAINER
    return str(names[0])


class Containers(NamedTuple):
    """The names of a template's trainer container and of its init containers."""

    trainer: str = TRAINER_CONTAINER
    inits: frozenset[str] = frozenset()


def container_names(pod_spec: Raw) -> Containers:
    """The names of the containers of a pod spec that decide how the pod ends."""
    inits = pod_spec.get("initContainers") or ()
    return Containers(trainer_name(pod_spec), frozenset(str(c.get("name")) for c in inits))


def trainer_of(pod_spec: Raw) -> Raw:
    """The trainer container of a pod spec; empty if there is no container."""
    name = trainer_name(pod_spec)
    return next((c for c in pod_spec.get("containers") or () if c.get("name") == name), {})


def requests_of(container: Raw) -> Raw:
    """The resources that a container asks for. A limit without a request counts as a request."""
    resources: Raw = container.get("resources") or {}
    return (resources.get("limits") or {}) | (resources.get("requests") or {})


def count_accelerators(container: Raw, patterns: Sequence[str] = ACCELERATORS) -> int:
    """The accelerators that a container asks for."""
    wanted = requests_of(container).items()
    amounts = (str(amount) for name, amount in wanted if _is_device(name, patterns))
    return sum(int(amount) for amount in amounts if _AMOUNT.fullmatch(amount))


def _is_device(name: str, patterns: Sequence[str]) -> bool:
    is_ours = any(fnmatchcase(name, pattern) for pattern in patterns)
    return is_ours and not _SHARE.search(name.partition("/")[2])


def devices_of(node: Raw) -> Devices:
    """The devices that a node has for pods, in use or not."""
    return _count_devices((node.get("status") or {}).get("allocatable") or {})


def most_devices(nodes: Iterable[Mapping[str, int]]) -> Devices | None:
    """For each device, the largest number that one node has; None without nodes."""
    most: Devices | None = None
    for node in nodes:
        most = most or {}
        for name, amount in node.items():
            most[name] = max(amount, most.get(name, 0))
    return most


def too_many_devices(pod_spec: Raw, most: Devices | None) -> list[tuple[str, int, int]]:
    """(device, number asked for, most on one node) of each device that the pod asks too many of."""
    if most is None:
        return []
    asked: Devices = {}
    for container in pod_spec.get("containers") or ():
        for name, amount in _count_devices(requests_of(container)).items():
            asked[name] = asked.get(name, 0) + amount
    return [(name, n, has) for name, n in asked.items() if n > (has := most.get(name, 0))]


def _count_devices(amounts: Raw) -> Devices:
    return {name: _number(amount) for name, amount in amounts.items() if "/" in name}


def _number(amount: object) -> int:
    found = _QUANTITY.fullmatch(str(amount))
    return int(found[1]) * _UNITS[found[2]] if found else 0


def container_statuses(pod: Raw) -> Iterator[Raw]:
    """The status of each container of a pod, init containers first."""
    status: Raw = pod.get("status") or {}
    yield from dicts_in(status.get("initContainerStatuses"))
    yield from dicts_in(status.get("containerStatuses"))


def container_status(pod: Raw, name: str) -> Raw:
    """The status of one container; empty if it has none yet."""
    return next((each for each in container_statuses(pod) if each.get("name") == name), {})


def has_started(container: Raw) -> bool:
    """Whether a container with this status runs or has ever run."""
    state = container.get("state") or {}
    return "running" in state or "terminated" in state or bool(container.get("lastState"))


def terminated_of(container: Raw) -> Raw | None:
    """How a container with this status ended, or None if it has not."""
    return (container.get("state") or {}).get("terminated")
