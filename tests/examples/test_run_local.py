"""`kubectl pdj run --local`: a program of one's own, with its packages, on this machine."""

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from localcluster.machine import clock
from tests.live import patience
from tests.live.lab import paddle_job, shell
from tests.live.pdj import CHECKOUT, command, environment, run_pdj
from tests.live.processes import command_lines, processes_in
from tests.live.wheel import write_wheel

pytestmark = [pytest.mark.cluster]

IMAGE = "registry.example.com/team/linear:1"
PAGE = (CHECKOUT / "docs" / "tools.md").read_text()
LOCAL = re.compile(r"^kubectl pdj (run --local linear.yaml .*)$", re.MULTILINE)
LINEAR = re.compile(r"^```yaml\n(.*?\n  name: linear\n.*?)^```", re.DOTALL | re.MULTILINE)
TRAIN = """
import os
os.environ.setdefault("PADDLE_DISTRI_BACKEND", "gloo")
import greeter
import paddle
from paddle import distributed, nn

distributed.init_parallel_env()
rank = distributed.get_rank()
paddle.seed(rank)
inputs = paddle.randn([256, 3])
targets = inputs @ paddle.to_tensor([[1.0], [2.0], [3.0]])
model = paddle.DataParallel(nn.Linear(3, 1))
optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())
for step in range(60):
    loss = nn.functional.mse_loss(model(inputs), targets)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
weights = [round(float(each), 2) for each in model.parameters()[0].flatten()]
place = f"rank {rank} of {distributed.get_world_size()}"
print("greeter", greeter.version, place, "weights", weights)
"""


def write_job(folder: Path, template: dict[str, Any], workers: int = 1) -> str:
    """The file of the job and its namespace, as it would be submitted to a cluster of GPUs."""
    job = paddle_job("mine", {"worker": (workers, template)})
    job["metadata"]["namespace"] = "team-a"
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}}
    file = folder / "job.yaml"
    file.write_text(yaml.safe_dump_all([space, job]))
    return str(file)


def trainer() -> dict[str, Any]:
    """That of the page, for another place: devices, and a node, that this machine does not have."""
    (linear,) = LINEAR.findall(PAGE.partition("## On your own machine")[2])
    spec = yaml.safe_load(linear)["spec"]["worker"]["template"]["spec"]
    (container,) = spec["containers"]
    assert container["image"] == IMAGE
    container["resources"]["limits"] |= {"example.com/npu": "2", "memory": "64Gi"}
    return {"spec": {**spec, "nodeSelector": {"zone": "b"}}}


@pytest.mark.training
def test_a_program_of_ones_own_trains_and_nothing_is_left(tmp_path: Path) -> None:
    """By the command of the page, with packages besides."""
    folder, temporary = tmp_path / "program", tmp_path / "tmp"
    folder.mkdir()
    temporary.mkdir()
    (folder / "train.py").write_text(TRAIN)
    requirements = tmp_path / "requirements.txt"
    requirements.write_text(f"{write_wheel(tmp_path, 'greeter')}\n")
    job = write_job(tmp_path, trainer(), workers=2)
    (line,) = LOCAL.findall(PAGE)
    words = line.replace("linear.yaml", job).replace("=program", f"={folder}").split()
    done = run_pdj(*words, "--requirements", str(requirements), TMPDIR=str(temporary))
    assert done.code == 0, done
    found = re.findall(r"(worker-\d) \| greeter 1 rank (\d) of 2 weights \[(.*)\]", done.out)
    assert sorted(each[:2] for each in found) == [("worker-0", "0"), ("worker-1", "1")]
    for _, _, weights in found:
        assert [round(float(each)) for each in weights.split(", ")] == [1, 2, 3]
    assert "team-a/mine" in done.notes  # the table
    assert done.notes.splitlines()[-1].startswith("--- mine Completed: WorkersSucceeded")
    assert sorted(each.name for each in folder.iterdir()) == ["train.py"]
    assert_nothing_is_left(temporary)


def assert_nothing_is_left(temporary: Path) -> None:
    """No process works in the folder, and nothing lies there."""
    assert clock.wait_until(lambda: not processes_in(temporary), patience.SECONDS), command_lines()
    assert clock.wait_until(lambda: not files_in(temporary), patience.SECONDS), files_in(temporary)


def files_in(folder: Path) -> list[Path]:
    """What lies there, besides the locks, which stay."""
    return [each for each in folder.rglob("*") if each.is_file() and each.name != "lock"]


@pytest.fixture
def temporary(tmp_path: Path) -> Iterator[Path]:
    """A folder for all that is temporary, in which nothing may be left."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    yield folder
    assert_nothing_is_left(folder)


def test_a_job_that_fails_says_why_and_nothing_is_left(tmp_path: Path, temporary: Path) -> None:
    job = write_job(tmp_path, shell("echo no such data set; exit 3"))
    done = run_pdj("run", "--local", job, TMPDIR=str(temporary))
    assert done.code == 1, done
    assert done.out == "worker-0 | no such data set\n"
    assert "exited with code 3: no such data set" in done.notes
    assert "Why: PodFailed" in done.notes


# Ctrl-C, which the terminal sends to all of the foreground; the tool, or who holds the cluster.
@pytest.mark.parametrize(
    ("whom", "number", "code"),
    [
        ("all", signal.SIGINT, 130),
        ("tool", signal.SIGKILL, -signal.SIGKILL),
        ("host", signal.SIGKILL, 1),
    ],
)
def test_nothing_is_left_whatever_ends_it(
    tmp_path: Path, temporary: Path, whom: str, number: int, code: int
) -> None:
    job = write_job(tmp_path, shell("echo running; exec sleep 3600"))
    with subprocess.Popen(
        ["env", "--default-signal=INT", *command("run", "--local", job)],
        env=environment(TMPDIR=str(temporary)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as tool:
        assert tool.stdout is not None
        assert tool.stdout.readline() == b"worker-0 | running\n"
        os.kill({"all": -tool.pid, "tool": tool.pid, "host": host_of(tool.pid)}[whom], number)
        try:
            _, notes = tool.communicate(timeout=patience.SECONDS)
        finally:
            tool.kill()
    assert tool.returncode == code, notes.decode()
    assert b"Traceback" not in notes
    if whom == "host":
        assert notes.decode().splitlines()[-1].startswith("error: "), notes.decode()


def host_of(pid: int) -> int:
    """The process that holds the cluster."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    (host,) = (
        int(each)
        for each in children
        if b"commands.host" in Path(f"/proc/{each}/cmdline").read_bytes()
    )
    return host


JOB = yaml.safe_dump(paddle_job("mine", {"worker": (1, trainer())}))


@pytest.mark.parametrize(
    ("text", "words", "code", "says"),
    [
        ("a: 1", [], 2, "holds 0 PaddleJobs"),
        (f"{JOB}---\n{JOB}", [], 2, "holds 2 PaddleJobs"),
        (JOB, ["--program", "x"], 2, "--program takes IMAGE=FOLDER"),
        (JOB, ["--program", "x=/no/such"], 2, "no such folder: /no/such"),
        (JOB, ["--requirements", "/no/such"], 2, "needs --program or --code"),
        (JOB, ["--program", "x=/tmp", "--requirements", "/no/such"], 2, "cannot read /no/such"),
        (JOB, ["--", "true"], 2, "has its own command"),
        (JOB, ["busybox"], 2, "run takes an IMAGE, or --local FILE"),
        (JOB, [], 1, f"no program stands for the image {IMAGE}"),
        (JOB.replace("replicas", "replicsa"), [], 1, "unknown field"),
    ],
    ids=lambda value: None if isinstance(value, int) else str(value)[-30:],
)
def test_what_cannot_be_run_is_one_line(
    tmp_path: Path, text: str, words: list[str], code: int, says: str
) -> None:
    (tmp_path / "job.yaml").write_text(text)
    done = run_pdj("run", "--local", str(tmp_path / "job.yaml"), *words, TMPDIR=str(tmp_path))
    assert (done.code, done.out) == (code, ""), done
    assert says in done.notes
    assert len(done.notes.splitlines()) == 1
