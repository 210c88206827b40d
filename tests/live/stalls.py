"""Trainings that hang, on any cluster: found, the right worker named, restarted and resumed.

A stall takes two minutes: the least that a stallPolicy can say. `RUNS=10` in the environment stops
a worker in ten jobs, some of them side by side, instead of in one.
"""

import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from api.constants import Reason
from api.objects import Raw
from localcluster.machine import clock
from tests.live.lab import Lab, paddle_job, shell
from tests.live.pdj import assert_explained
from tests.live.processes import with_variables

RUNS = int(os.environ.get("RUNS", "1"))
SIDE_BY_SIDE = 5
AFTER_SECONDS = 120
WORKERS = 3
MOMENTS = random.Random(1)
SPREAD_SECONDS = 10.0
"""A worker is stopped at a random moment of this length: that of two steps."""
LEAST_NAMED = 0.9
"""Of many: nobody is named if a worker is stopped at the end of its all_reduce."""
PROGRAM = Path(__file__).with_name("hanging.py")
SAME_STEP = (
    "until [ -e /trainings/goes-on ]; do echo paddlejob: step=7 total=9; sleep 5; done; "
    "while true; do i=$((i + 1)); echo paddlejob: step=$i total=9999; sleep 5; done"
)


@dataclass(frozen=True)
class Stop:
    """A worker that was stopped, and the stall that was found of it."""

    worker: str
    seconds: float
    named: str
    step: int

    def __str__(self) -> str:
        found = f"found after {self.seconds:.0f} s, {self.named or 'nobody'} named"
        return f"{self.worker} stopped, {found}, resumed from step {self.step}"


@dataclass(frozen=True)
class Trainings:
    """Jobs in a namespace whose operator reads logs; `folder` is for the programs and checkpoints
    of all of them, `image` has PaddlePaddle.
    """

    lab: Lab
    image: str
    folder: Path

    def check(self, record_property: Callable[[str, object], None]) -> None:
        """Every hang is found in time; of the stopped workers, nine of ten are named."""
        shutil.copy(PROGRAM, self.folder)
        hangs = (self.print_the_same_step, self.skip_an_all_reduce, self.block_the_loader)
        with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
            found = [pool.submit(hang) for hang in hangs]
            stops = list(pool.map(self.stop_a_worker, range(RUNS)))
        record_property("stopped workers", [str(stop) for stop in stops])
        for each in found:
            each.result()
        assert all(stop.named in (stop.worker, "") for stop in stops), stops
        named = sum(stop.named == stop.worker for stop in stops)
        assert named >= int(LEAST_NAMED * RUNS), stops

    def stop_a_worker(self, number: int) -> Stop:
        """One of three is stopped in the middle of the training, which is restarted, and resumes
        from what it has saved last.
        """
        lab, name, index = self.lab, f"stop-{number}", MOMENTS.randrange(WORKERS)
        self._start(name, WORKERS, action="Restart")
        progress = "its first checkpoint is known"
        lab.wait(lambda: self._checkpoint(name), f"{name}: {progress}")
        clock.sleep(MOMENTS.uniform(0, SPREAD_SECONDS))
        for process in self._processes(name, index):
            os.kill(process, signal.SIGSTOP)
        stopped = time.monotonic()
        self._wait_for_stall(name)
        seconds = time.monotonic() - stopped
        lab.wait(lambda: lab.status(name).get("attempt") == 2, f"the restart of {name}")
        status = lab.status(name)
        (record,) = status["failures"]
        assert (record["reason"], status["failureCount"]) == (Reason.TRAINING_STALLED, 1)
        step = status["resumeStep"]
        assert step >= 2

        def resumed() -> bool:
            is_up = lab.status(name).get("phase") == "Running"
            return is_up and f"resumes from step {step}\n" in lab.log(f"{name}-worker-0")

        lab.wait(resumed, f"{name} goes on from step {step}")
        assert_explained(lab, name, Reason.TRAINING_STALLED, Reason.NO_OUTPUT)
        self._end(name)
        named = record.get("pod", "").removeprefix(f"{name}-")
        return Stop(f"worker-{index}", seconds, named, step)

    def skip_an_all_reduce(self) -> None:
        """All wait from the same moment on, so nobody is named."""
        self._start("skip", 2)
        assert "silent first" not in self._wait_for_stall("skip")
        self._end("skip")

    def block_the_loader(self) -> None:
        """The worker that gets no batch is named."""
        self._start("loader", 2)
        told = self._wait_for_stall("loader")
        assert "; worker-1 fell silent first, at" in told, told
        self._end("loader")

    def print_the_same_step(self) -> None:
        """It writes all the time, and goes on once the stall is told."""
        lab, policy = self.lab, {"afterSeconds": AFTER_SECONDS, "of": "Step"}
        roles = {"worker": (1, self._with_folder(shell(SAME_STEP, image=self.image)))}
        lab.submit(paddle_job("same", roles, stallPolicy=policy))
        lab.wait(lambda: lab.events("same", Reason.NO_NEW_STEP), "same")
        assert_explained(lab, "same", Reason.NO_NEW_STEP)
        assert lab.status("same")["attempt"] == 1
        (self.folder / "goes-on").touch()
        lab.wait(lambda: self._stalled("same").get("status") == "False", "same goes on")
        assert_explained(lab, "same", Reason.TRAINS_AGAIN)

    def _start(self, name: str, workers: int, action: str = "Event") -> None:
        folder = self.folder / name
        folder.mkdir()
        variables = {"HANGS": name, "FOLDER": f"/trainings/{name}", "TRAINING": self._mark(name)}
        trainer = {
            "name": "paddle",
            "image": self.image,
            "command": ["python", "-m", "paddle.distributed.launch", "/trainings/hanging.py"],
            "env": [{"name": key, "value": value} for key, value in variables.items()],
        }
        pod = {"containers": [trainer], "terminationGracePeriodSeconds": 5}
        policy = {"afterSeconds": AFTER_SECONDS, "action": action}
        roles = {"worker": (workers, self._with_folder({"spec": pod}))}
        job = paddle_job(name, roles, stallPolicy=policy, resume="Paddle", backoffLimit=2)
        self.lab.submit(job)

    def _with_folder(self, template: Raw) -> Raw:
        pod, volume = template["spec"], "trainings"
        pod["volumes"] = [{"name": volume, "hostPath": {"path": str(self.folder)}}]
        pod["containers"][0]["volumeMounts"] = [{"name": volume, "mountPath": f"/{volume}"}]
        return template

    def _mark(self, name: str) -> str:
        return f"{self.lab.namespace}/{name}"

    def _end(self, name: str) -> None:
        self.lab.kubectl("delete", "pdj", name)

    def _checkpoint(self, name: str) -> int:
        progress = self.lab.status(name).get("progress") or {}
        return int((progress.get("checkpoint") or {}).get("step", 0))

    def _processes(self, name: str, worker: int) -> list[int]:
        """The launcher and the trainer of a worker."""
        found = with_variables(f"TRAINING={self._mark(name)}", f"RANK={worker}")
        assert found, f"no process of worker {worker} of {name}"
        return found

    def _wait_for_stall(self, name: str) -> str:
        """What the Event says."""
        events = self.lab.wait(
            lambda: self.lab.events(name, Reason.NO_OUTPUT), f"the stall of {name}"
        )
        return str(events[0])

    def _stalled(self, name: str) -> Raw:
        """The condition, whatever it says; an empty one if the job has none."""
        conditions = self.lab.status(name).get("conditions") or ()
        return next((dict(each) for each in conditions if each["type"] == "TrainingStalled"), {})
