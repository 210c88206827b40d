"""Classifies the fault in a log line, by the words of PaddlePaddle and of drivers.

PaddlePaddle and PaddleFormers write `PaddleRecall error(N)` for the platform that restarts them.
CUDA's numbers are those of cudaError_t.
"""

import re
from enum import StrEnum

MAX_READ_CHARACTERS = 1000
"""Only this much of a line is searched: repeated words in a long one would keep us busy."""


class Fault(StrEnum):
    """Kinds of faults that are not bugs in the program."""

    HARDWARE = "hardware"
    DEVICE_MEMORY = "device memory"
    NETWORK = "network"
    PEER = "peer"
    NUMBERS = "numbers"
    CHECKPOINT = "checkpoint"
    DEVICE = "device"


_WORDS = (
    (
        Fault.HARDWARE,  # 101: the same computation had two results
        r"PaddleRecall error\(101\)|uncorrect\w* ecc|\becc (?:error|uncorrect)|-bit ecc|\bhbm ecc"
        r"|nvrm: xid|\bxid (?:\(pci|error)|fallen off the bus|gpu is lost"
        r"|(?:cuda|hip) error ?\((?:214|714|802)\)|hardware stack error"
        r"|devices? (?:are|is) busy or unavailable",
    ),
    (
        Fault.DEVICE_MEMORY,
        r"out of memory error on [gxnd][pc]u|(?:cuda|hip) (?:error ?\(2\)|out of memory)"
        r"|cudaErrorMemoryAllocation|STATUS_ALLOC_FAILED|cuda failure.* 'out of memory'",
    ),
    (
        Fault.NETWORK,
        r"nccl.*unhandled system error(?!.*shared memory)|ncclSystemError"
        r"|\b(?:hccl|bkcl)\b.*error",
    ),
    (Fault.PEER, r"TIMEOUT self_rank|watchdog caught collective operation timeout"),
    (Fault.NUMBERS, r"PaddleRecall error\(10[234]\)"),
    (Fault.CHECKPOINT, r"PaddleRecall error\(10[567]\)"),
    (Fault.DEVICE, r"(?:cuda|cudnn|cublas|hip|xpu|acl) error"),
)
_PATTERNS = tuple((fault, re.compile(words, re.IGNORECASE)) for fault, words in _WORDS)


def fault_of(text: str) -> Fault | None:
    """The kind of fault in the first part of a line; None if there is none."""
    read = text[:MAX_READ_CHARACTERS]
    return next((fault for fault, pattern in _PATTERNS if pattern.search(read)), None)
