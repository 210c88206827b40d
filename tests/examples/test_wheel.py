"""A cluster on this machine from the wheel: no checkout, and a user's modules with our names."""

import os
import subprocess
from pathlib import Path

import pytest
import yaml

from release.wheel import build
from tests.live import patience
from tests.live.lab import paddle_job, shell
from tests.live.wheel import install_wheel, take_our_names

pytestmark = [pytest.mark.cluster]

PROGRAM = """
from paddlejob import Client

def fit(rate):
    import paddle
    from paddle import distributed
    distributed.init_parallel_env()
    print("rank", distributed.get_rank(), "of", distributed.get_world_size(), "at", rate)
    print("PaddlePaddle", paddle.__version__)

with Client(local=True) as client:
    job = client.train(fit, args={"rate": 0.5}, workers=2, image="paddlepaddle/paddle:3.3.1")
    print(*job.logs(follow=True), sep="\\n")
    job.wait(timeout=TIMEOUT)
    print(job.phase)
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That of an environment in which the cluster's own packages are not."""
    folder = tmp_path_factory.mktemp("wheel")
    return install_wheel(build(folder), folder / "environment")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return take_our_names(tmp_path)


def run(*words: object, cwd: Path) -> "subprocess.CompletedProcess[str]":
    """Run it as a user does: in this folder, with the user's home, and without this checkout."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(
        list(map(str, words)), cwd=cwd, env=kept, capture_output=True, text=True, check=False,
        timeout=patience.SECONDS,
    )  # fmt: skip


@pytest.mark.training
def test_the_client_trains_on_a_local_cluster(python, place):
    (place / "train.py").write_text(PROGRAM.replace("TIMEOUT", str(patience.SECONDS)))
    done = run(python, "train.py", cwd=place)
    assert done.returncode == 0, done
    lines = done.stdout.splitlines()
    assert lines[-1] == "Completed"
    assert sum(line.endswith("PaddlePaddle 3.3.1") for line in lines) == 2
    for rank in (0, 1):
        assert any(line.endswith(f"rank {rank} of 2 at 0.5") for line in lines), done.stdout


def test_the_command_runs_a_job_on_a_local_cluster(python, place):
    job = paddle_job("mine", {"worker": (1, shell("echo there; exit 3"))})
    (place / "job.yaml").write_text(yaml.safe_dump(job))
    done = run(python.with_name("kubectl-pdj"), "run", "--local", "job.yaml", cwd=place)
    assert (done.returncode, done.stdout) == (1, "worker-0 | there\n"), done
    assert "exited with code 3" in done.stderr
