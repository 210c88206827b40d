"""Sums up batches with all_reduce until a worker hangs in the way that HANGS names; runs in pods.

What was summed up is saved every second step. An attempt that resumes checks what it has loaded.

NCCL waits for ever, but Gloo gives up after 30 s, and then the program may abort. So a trainer that
has waited for a while stops itself.
"""

import os
import signal
import threading
import time

import paddle
import paddle.distributed as dist
from paddle.io import DataLoader, Dataset

STEPS = 100_000
HANG_STEP = 5
WORK_SECONDS = 5
"""The launcher copies what a program prints every 2 s."""
PATIENCE_SECONDS = 20


class Batches(Dataset):
    """Batches that take a while to read; with HANGS=loader, worker 1 never gets one of them."""

    def __len__(self):
        return STEPS

    def __getitem__(self, index):
        time.sleep(WORK_SECONDS)
        while hangs == "loader" and rank == 1 and index + 1 == HANG_STEP:
            time.sleep(60)
        return [1.0] * 4


dist.init_parallel_env()
hangs, folder = os.environ["HANGS"], os.environ["FOLDER"]
rank, workers = dist.get_rank(), dist.get_world_size()
first = int(os.environ.get("PDC_INIT_STEP", 0))
total = int(paddle.load(f"{folder}/{first}.pd")["total"]) if first else 0
assert total == workers * first
print(f"resumes from step {first}", flush=True)
loader = DataLoader(Batches(), batch_size=1, num_workers=int(hangs == "loader"))
for step, batch in enumerate(loader, first + 1):
    print(f"batch {step} is there", flush=True)
    ones = paddle.to_tensor(batch)
    waiting = threading.Timer(PATIENCE_SECONDS, os.kill, (os.getpid(), signal.SIGSTOP))
    waiting.start()
    if hangs == "skip" and rank == 1 and step == HANG_STEP:
        dist.barrier()  # as if its epoch ended one batch earlier
    dist.all_reduce(ones)
    waiting.cancel()
    total += int(ones.flatten()[0])
    if rank == 0 and step % 2 == 0:
        paddle.save({"total": total}, f"{folder}/{step}.pd")
    print(f"paddlejob: step={step} total={STEPS} checkpoint={step // 2 * 2}", flush=True)
