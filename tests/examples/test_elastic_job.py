"""An elastic job under the operator: Paddle's launchers form anew as its workers come and go.

One job goes through it all, on real collective training; what it was like at each step is kept,
and the tests look at that.
"""

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import pytest

from api.constants import EXIT_CODE_ELASTIC_RESTART
from reconcile.words.launcher_log import is_forming
from tests.examples.files import EXAMPLES, example, python
from tests.live import patience
from tests.live.history import History
from tests.live.lab import Lab
from tests.live.nodepods import kill_processes

pytestmark = [pytest.mark.training]

Raw = dict[str, Any]
JOB = "resnet-elastic"
EPOCHS = 7
PACED = """
import os, sys, time
sys.path.insert(0, os.getcwd())
import train_fleet
run_epoch, step = train_fleet.Trainer._run_epoch, train_fleet.Trainer._step
def paced_epoch(trainer, position):
    trainer.pause = 0.6 * (position.epoch + 1)
    return run_epoch(trainer, position)
def paced_step(trainer, rows):
    os.path.exists("/volume/over") or time.sleep(trainer.pause)
    return step(trainer, rows)
train_fleet.Trainer._run_epoch, train_fleet.Trainer._step = paced_epoch, paced_step
train_fleet.main()
"""
"""The example's program, which rests before each step, the longer the later in the training.

So the training goes on until the story is over, on a fast machine too, and leaves CPU to others.
"""
KILLED = 137
HEAD = re.compile(r"^\S+ std(out|err) [FP] ", re.MULTILINE)
"""What a container runtime puts before each line of a log."""
SETTINGS = {
    "SAMPLES": "1024",
    "EPOCHS": str(EPOCHS),
    "CHECKPOINT_EVERY": "2",
    "REPORT_EVERY": "2",
}


@pytest.fixture(scope="module")
def lab(module_lab: Lab) -> Lab:
    """A namespace with the examples' volume, and the etcd of its elastic jobs."""
    module_lab.start_etcd()
    return module_lab


def elastic(volume: str) -> Raw:
    """The job of examples/resnet_elastic.yaml, paced, on a volume of the machine's own."""
    job = example("resnet_elastic.yaml", **SETTINGS)
    spec = job["spec"]["worker"]["template"]["spec"]
    spec["containers"][0]["args"][1] = "/volume/paced.py"
    spec["volumes"][0] = {"name": "volume", "hostPath": {"path": volume}}
    return job


def unschedulable_but_one() -> Raw:
    """An elastic job of two workers, each of which wants the same node for itself alone."""
    job = elastic("/tmp")
    job["metadata"]["name"] = "held"
    spec = job["spec"]["worker"]["template"]["spec"]
    spec["volumes"].pop(0)
    trainer = spec["containers"][0]
    trainer["volumeMounts"].pop(0)
    trainer["env"] = []
    spec["nodeName"] = ""
    spec["nodeSelector"] = {"kubernetes.io/hostname": "node-2"}
    labels = {"matchLabels": {"batch.paddlepaddle.org/job-name": "held"}}
    term = {"labelSelector": labels, "topologyKey": "kubernetes.io/hostname"}
    alone = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    spec["affinity"] = {"podAntiAffinity": alone}
    return job


@dataclass
class Story:
    """What was seen of the job, step by step."""

    lab: Lab
    files: dict[str, TextIO] = field(default_factory=dict)
    """By UID, the log of each pod that ever was: its node removes it with the pod."""
    pods: list[dict[str, str]] = field(default_factory=list)
    """After each step, the UIDs of the pods by name."""
    worlds: list[int] = field(default_factory=list)
    """After each step, with how many workers the training went on."""
    attempt: int = 0
    """In which it first trained: launchers that start too far apart miss each other."""

    def step(self, action: Callable[[], object], count: int) -> None:
        """Do something to the job, and wait until as many workers train together after it."""
        before = {uid: len(log) for uid, log in self.logs.items()}
        action()
        what = f"step {len(self.worlds)}: training on {count} workers"
        self.lab.wait(lambda: self._trains(before, count), what)
        self.worlds.append(count)
        self.pods.append({p["metadata"]["name"]: uid_of(p) for p in self._live()})

    @property
    def logs(self) -> dict[str, str]:
        """By UID, what each pod that ever was has written so far."""
        for uid in map(uid_of, self.lab.pods(JOB)):
            for path in self.lab.cluster.folder.glob(f"node-*/pods/{uid}/logs/*/0.log"):
                if uid not in self.files:
                    self.files[uid] = path.open(errors="replace")
        for file in self.files.values():
            file.seek(0)
        return {uid: HEAD.sub("", file.read()) for uid, file in self.files.items()}

    def kill(self, name: str) -> None:
        """kill -9 of a worker: of its launcher and all below it."""
        (pod,) = (pod for pod in self._live() if pod["metadata"]["name"] == name)
        kill_processes(self.lab.cluster, pod)

    def _trains(self, before: dict[str, int], count: int) -> bool:
        """Whether every live pod has since begun, and reported, training of that many."""
        logs, live = self.logs, self._live()
        since = [logs.get(uid, "")[before.get(uid, 0) :] for uid in map(uid_of, live)]
        return len(live) == count and all(trains_last(log, count) for log in since)

    def _live(self) -> list[Raw]:
        return [
            pod
            for pod in self.lab.pods(JOB)
            if pod["status"].get("phase") == "Running"
            and "deletionTimestamp" not in pod["metadata"]
        ]


def uid_of(pod: Raw) -> str:
    return str(pod["metadata"]["uid"])


def trains_last(log: str, count: int) -> bool:
    """Whether the last training that a log tells of is one of that many workers, under way."""
    begun = list(re.finditer(r"rank \d of (\d)", log))
    if not begun or begun[-1].group(1) != str(count):
        return False
    return re.search(r"epoch \d+ (images|ended)", log[begun[-1].end() :]) is not None


@pytest.fixture(scope="module")
def story(
    lab: Lab, job_history: History, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Story]:
    """From two workers to three and back, with a loss between; to the end of the training."""
    assert job_history, "begun before the jobs"
    lab.submit(unschedulable_but_one())
    volume = tmp_path_factory.mktemp("volume")
    (volume / "paced.py").write_text(PACED)
    lab.submit(elastic(str(volume)))
    story = Story(lab)
    story.step(lambda: None, 2)
    story.attempt = lab.status(JOB)["attempt"]
    story.step(lambda: scale(lab, 3), 3)
    story.step(lambda: story.kill(f"{JOB}-worker-0"), 3)
    story.step(lambda: scale(lab, 2), 2)
    (volume / "over").touch()
    lab.wait_completed(JOB)
    yield story
    for file in story.files.values():
        file.close()


def scale(lab: Lab, replicas: int) -> None:
    lab.kubectl("scale", "pdj", JOB, f"--replicas={replicas}")


def test_training_goes_on_with_each_number_of_workers(story: Story) -> None:
    assert story.worlds == [2, 3, 3, 2]


def test_no_step_restarts_the_gang(story: Story) -> None:
    """A worker that was killed is replaced alone, worker 0 too."""
    status = story.lab.status(JOB)
    assert status["attempt"] == story.attempt
    failed = {(failure["pod"], failure["exitCode"]) for failure in status["failures"]}
    assert (f"{JOB}-worker-0", KILLED) in failed
    # Now and then a launcher crashes by itself while it meets its peers; it is replaced alone too.
    crashed = {name for name, code in failed if code != KILLED}
    changed = set(dict(story.pods[2].items() ^ story.pods[1].items()))
    assert f"{JOB}-worker-0" in changed
    assert changed <= crashed | {f"{JOB}-worker-0"}


def test_workers_come_and_go_at_the_top(story: Story) -> None:
    first, top = story.pods[0], f"{JOB}-worker-2"
    assert set(story.pods[1]) - set(first) == {top}
    assert set(story.pods[2]) - set(story.pods[3]) == {top}


def test_loss_goes_on_through_it(story: Story) -> None:
    """Each epoch ends once, in order, by whomever it was told; the loss of the last is low."""
    epochs = {
        int(epoch): float(loss)
        for log in story.logs.values()
        for epoch, loss in re.findall(r"epoch (\d+) ended: mean loss (\d+\.\d+)", log)
    }
    assert sorted(epochs) == list(range(EPOCHS))
    assert epochs[EPOCHS - 1] < 0.5 * epochs[0]


def test_every_new_forming_resumes_from_a_checkpoint(story: Story) -> None:
    for log in story.logs.values():
        begun = re.findall(r"rank \d of \d\n(.*)", log)
        positions = [
            (int(epoch), int(images))
            for epoch, images in re.findall(r"resumed at epoch (\d+) images (\d+)", log)
        ]
        assert len(positions) >= len(begun) - 1
        assert positions == sorted(positions)


def test_launchers_say_when_they_form(story: Story) -> None:
    lines = [line for log in story.logs.values() for line in log.splitlines()]
    assert sum(map(is_forming, lines)) > len(story.worlds)


@pytest.mark.usefixtures("story")
def test_phase_scaling_is_seen(job_history: History) -> None:
    phases = job_history.phases(JOB)
    assert "Scaling" in phases, "most pods are there too soon to be missed for long"
    assert phases[-1] == "Completed"


@pytest.mark.usefixtures("story")
def test_launchers_that_missed_their_peers_complete_nothing(lab: Lab, job_history: History) -> None:
    """One of two workers was never scheduled: the other's launcher exits 0 after its timeout."""
    lab.wait(lambda: lab.status("held").get("restartCount"), "a new attempt")
    phases = job_history.phases("held")
    assert "Restarting" in phases
    assert not {"Completed", "Completing", "Failed"} & set(phases)
    (told, *_) = lab.wait(lambda: lab.events("held", "ElasticUntrained"), "an Event")
    assert "but only 1 of at least 2 workers ran" in told
    assert lab.status("held").get("failureCount") is None


def test_launcher_that_loses_etcd_asks_for_a_restart(tmp_path: Path) -> None:
    """That is not charged; a launcher by itself would end like a program with a fault."""
    env = {"PADDLE_MASTER": "etcd://127.0.0.1:9", "PADDLE_NNODES": "2:3", "PADDLE_JOB_ID": "x"}
    done = subprocess.run(
        [python(), str(EXAMPLES / "resnet" / "elastic_launch.py"), "train_fleet.py"],
        env=os.environ | env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=patience.SECONDS,
    )
    assert done.returncode == EXIT_CODE_ELASTIC_RESTART, done.stderr
    assert "the launcher has lost etcd" in done.stderr
