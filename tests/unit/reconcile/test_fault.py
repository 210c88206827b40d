"""Kinds of faults, by lines as PaddlePaddle, PaddleFormers and drivers write them."""

import pytest

from reconcile.failure.blame import find_culprit
from reconcile.words.fault import Fault, fault_of
from tests.memory.builders import a_job, a_pod, view_of

LINES: dict[str, Fault | None] = {
    "ValueError: PaddleRecall error(101): AAdiff": Fault.HARDWARE,
    "ValueError: PaddleRecall error(102): LossNan": Fault.NUMBERS,
    "ValueError: PaddleRecall error(104): LossInf": Fault.NUMBERS,
    "RuntimeError: PaddleRecall error(106): checkpoint": Fault.CHECKPOINT,
    "OSError: (External) CUDA error(214), uncorrectable ECC error encountered.": Fault.HARDWARE,
    "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.": Fault.HARDWARE,
    "OSError: (External) CUDA error(700), an illegal memory access": Fault.DEVICE,
    "MemoryError: Out of memory error on GPU 0. Cannot allocate 2GB memory.": Fault.DEVICE_MEMORY,
    "OSError: (External) CUDA error(2), out of memory.": Fault.DEVICE_MEMORY,
    "OSError: (External) NCCL error(2), unhandled system error.": Fault.NETWORK,
    "RuntimeError: [/paddle/third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:86] TIMEOUT "
    "self_rank = none pair_rank = -1": Fault.PEER,
    "ValueError: invalid ECC key for the curve": None,
    "ModuleNotFoundError: No module named 'xid'": None,
    "OperationalError: FATAL: transaction xid 17 is not known": None,
    "CUDA Xid error 79 on GPU 3": Fault.HARDWARE,
    "ValueError: bad batch 17": None,
}


@pytest.mark.parametrize(("line", "fault"), LINES.items(), ids=LINES.keys())
def test_kind_of_fault(line, fault):
    assert fault_of(line) is fault


def test_pod_with_a_broken_device_is_named_before_one_that_failed_first():
    job = a_job().with_workers(2).build()
    said = ("RuntimeError: step failed", "OSError: CUDA error(214), uncorrectable ECC error")
    pods = [a_pod(job, index=n).ended(1, n, message=said[n]) for n in range(2)]
    assert find_culprit(list(view_of(job, *pods).pods.values())).index == 1
