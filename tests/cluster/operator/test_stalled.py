"""One worker of three is stopped in the middle of an all_reduce: found, named, restarted, resumed.

Its peers are stopped when they have waited for a while: Gloo gives up after 30 s, where NCCL waits.

Four to five minutes, of which a stall takes two: the least that a stallPolicy can say. A second job
prints one step for ever meanwhile, and then goes on.
"""

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from api.constants import Reason
from localcluster import Cluster
from tests.conftest import new_namespace
from tests.live.lab import Lab, paddle_job, shell
from tests.live.operated import operator_that_reads_logs
from tests.live.pdj import assert_explained

pytestmark = [pytest.mark.training, pytest.mark.timeout(900)]

Raw = dict[str, Any]
IMAGE = "registry.baidubce.com/paddle-operator/paddle-ubuntu:2.6.2"
AFTER_SECONDS = 120
START_SECONDS = 240.0
WORK_SECONDS = 5
"""The launcher copies what a program prints every 2 s."""
PROGRAM = f"""
import os, time, paddle, paddle.distributed as dist
dist.init_parallel_env()
first = int(os.environ.get("PDC_INIT_STEP", 0))
print(f"resumes from step {{first}}", flush=True)
for step in range(first + 1, 100000):
    time.sleep({WORK_SECONDS})
    print(f"batch {{step}} is there", flush=True)
    total = paddle.ones([4])
    dist.all_reduce(total)
    assert int(total[0]) == 3
    print(f"paddlejob: step={{step}} total=100000 checkpoint={{step // 2 * 2}}", flush=True)
"""
SAME_STEP = (
    "for i in $(seq 40); do echo paddlejob: step=7 total=9; sleep 5; done; "
    "while true; do i=$((i + 1)); echo paddlejob: step=$i total=9999; sleep 5; done"
)


@pytest.fixture
def lab(unattended: Cluster) -> Iterator[Lab]:
    with new_namespace(unattended) as name, operator_that_reads_logs(unattended, name) as found:
        yield found


def all_reduces(lab: Lab) -> Raw:
    """A job of three workers that sum up tensors for ever."""
    trainer = {
        "name": "paddle",
        "image": IMAGE,
        "command": ["python", "-m", "paddle.distributed.launch", "/programs/train.py"],
        "env": [{"name": "STALLS_IN", "value": lab.namespace}],
        "volumeMounts": [{"name": "programs", "mountPath": "/programs"}],
    }
    pod = {
        "containers": [trainer],
        "volumes": [{"name": "programs", "configMap": {"name": "programs"}}],
        "terminationGracePeriodSeconds": 5,
    }
    policy = {"afterSeconds": AFTER_SECONDS, "action": "Restart"}
    roles = {"worker": (3, {"spec": pod})}
    return paddle_job("sums", roles, stallPolicy=policy, resume="Paddle", backoffLimit=2)


def processes_of(lab: Lab, worker: int) -> list[int]:
    """The launcher and the trainer of a worker."""
    marks = {f"STALLS_IN={lab.namespace}".encode(), f"RANK={worker}".encode()}
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if marks <= set((process / "environ").read_bytes().split(b"\0")):
                found.append(int(process.name))
        except OSError:
            continue
    return found


def stop(lab: Lab, worker: int) -> None:
    for process in processes_of(lab, worker):
        os.kill(process, signal.SIGSTOP)


def batch(lab: Lab, worker: int) -> int:
    """The last batch that a worker had."""
    return int(re.findall(r"batch (\d+)", lab.log(f"sums-worker-{worker}"))[-1])


def stalled(lab: Lab, job: str) -> Raw:
    """The condition, whatever it says; an empty one if the job has none."""
    conditions = lab.status(job).get("conditions") or ()
    return next((dict(each) for each in conditions if each["type"] == "TrainingStalled"), {})


def test_a_stopped_worker_is_named_and_its_job_resumes(lab: Lab) -> None:
    programs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "programs"}}
    lab.submit(programs | {"data": {"train.py": PROGRAM}})
    policy = {"afterSeconds": AFTER_SECONDS, "of": "Step"}
    same = paddle_job("same", {"worker": (1, shell(SAME_STEP))}, stallPolicy=policy)
    lab.submit(all_reduces(lab), same)
    lab.wait(
        lambda: ((lab.status("sums").get("progress") or {}).get("checkpoint") or {}).get("step"),
        "a checkpoint of sums",
        START_SECONDS,
    )
    stop(lab, 1)
    lab.wait(lambda: min(batch(lab, 0), batch(lab, 2)) > batch(lab, 1), "the peers to wait")
    stop(lab, 0)
    stop(lab, 2)
    lab.wait(
        lambda: lab.events("sums", Reason.NO_OUTPUT), "the stall of sums", AFTER_SECONDS + 60.0
    )
    lab.wait(lambda: lab.status("sums").get("attempt") == 2, "the restart of sums")
    status = lab.status("sums")
    (record,) = status["failures"]
    assert (record["reason"], record["pod"]) == ("TrainingStalled", "sums-worker-1")
    assert "; worker-1 fell silent first, at" in record["message"]
    assert status["failureCount"] == 1
    step = status["resumeStep"]
    assert step >= 2
    assert_explained(lab, "same", Reason.NO_NEW_STEP)
    assert lab.status("same")["attempt"] == 1

    def first_step() -> str:
        """Of the second attempt."""
        is_up = lab.status("sums").get("phase") == "Running"
        found = re.search(r"resumes from step (\d+)", lab.log("sums-worker-0") if is_up else "")
        return found[1] if found else ""

    assert lab.wait(first_step, "the second attempt of sums", START_SECONDS) == str(step)
    assert_explained(lab, "sums", Reason.TRAINING_STALLED, Reason.NO_OUTPUT)
    lab.wait(lambda: stalled(lab, "same").get("status") == "False", "same to go on")
    assert_explained(lab, "same", Reason.TRAINS_AGAIN)
