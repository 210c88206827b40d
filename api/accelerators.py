"""The list of pod resources that count as accelerators.

Device plugins choose the names. Some also offer a device's memory or cores, which do not count.
"""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

from api.objects import Raw

ACCELERATORS = (
    *("*/gpu", "kunlunxin.com/xpu", "huawei.com/Ascend*", "iluvatar*", "hygon.com/dcu*"),
    *("metax-tech.com/*", "cambricon.com/mlu*", "enflame.com/gcu*", "habana.ai/gaudi"),
)
"""Patterns of names, as of files: nvidia.com/gpu, amd.com/gpu and mthreads.com/gpu end alike."""
_SHARE = re.compile("mem|core", re.IGNORECASE)
_AMOUNT = re.compile("[0-9]{1,4}")
"""A quantity may have any number of digits, and no node as many devices."""


def count_accelerators(container: Raw, patterns: Sequence[str] = ACCELERATORS) -> int:
    """The devices that a container asks for. A limit without a request counts as a request."""
    resources: Raw = container.get("resources") or {}
    wanted: Raw = (resources.get("limits") or {}) | (resources.get("requests") or {})
    amounts = (str(amount) for name, amount in wanted.items() if _is_device(name, patterns))
    return sum(int(amount) for amount in amounts if _AMOUNT.fullmatch(amount))


def _is_device(name: str, patterns: Sequence[str]) -> bool:
    is_ours = any(fnmatchcase(name, pattern) for pattern in patterns)
    return is_ours and not _SHARE.search(name.partition("/")[2])
