"""ResNet on real collective training."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.examples.pods import EXAMPLES, Job, python

pytestmark = [pytest.mark.training, pytest.mark.timeout(700)]

PROGRAM = str(EXAMPLES / "resnet" / "train_fleet.py")
LAUNCHER = ["-m", "paddle.distributed.launch"]
TINY = {"SAMPLES": "1024", "EPOCHS": "2"}


def a_job(folder: Path, workers: int = 2, arguments: list[str] | None = None) -> Job:
    return Job(folder, [python(), *(arguments or [*LAUNCHER, PROGRAM])], workers)


@pytest.fixture(scope="module")
def trained(folder: Path) -> Iterator[Job]:
    """Two workers under the launcher, after their end."""
    with a_job(folder / "pods") as job:
        yield job.train(TINY | {"OUTPUT_DIR": str(folder / "model")})


def checksums(job: Job) -> list[Any]:
    """Of the weights and of the images, by worker."""
    found = r"rank \d+: weights (\w+), \d+ images (\w+)"
    return [worker.find(found)[0] for worker in job.workers]


def test_the_launchers_form_one_job(trained: Job) -> None:
    ranks = [worker.find(r"rank (\d) of 2")[0] for worker in trained.workers]
    assert ranks == ["0", "1"]


def test_the_loss_falls(trained: Job) -> None:
    losses = [float(loss) for loss in trained.workers[0].find(r"mean loss (\d+\.\d+)")]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.9 * losses[0]


def test_the_workers_end_with_equal_weights_from_different_images(trained: Job) -> None:
    (first_weights, first_images), (second_weights, second_images) = checksums(trained)
    assert first_weights == second_weights
    assert first_images != second_images


def test_the_model_is_saved_by_rank_0(trained: Job, folder: Path) -> None:
    model = folder / "model" / "resnet.pdparams"
    assert [worker.find(r"model saved in (\S+)") for worker in trained.workers] == [
        [str(model)],
        [],
    ]
    assert model.stat().st_size > 10_000


def test_without_the_launcher_it_trains_the_same(trained: Job, tmp_path: Path) -> None:
    with a_job(tmp_path / "pods", arguments=[PROGRAM]) as job:
        job.train(TINY | {"OUTPUT_DIR": str(tmp_path / "model")})
        assert checksums(job) == checksums(trained)


def test_gradients_that_are_not_reduced_fail_the_job(tmp_path: Path) -> None:
    sabotaged = (
        f"import sys; sys.path.insert(0, {str(EXAMPLES / 'resnet')!r});"
        "import peers, train_fleet; peers.reduce_gradients = lambda model: None;"
        "train_fleet.main()"
    )
    with a_job(tmp_path / "pods", arguments=["-c", sabotaged]) as job:
        job.start({"SAMPLES": "256", "EPOCHS": "1", "OUTPUT_DIR": str(tmp_path / "model")})
        assert job.wait() == [1, 1]
        assert "weights differ" in job.workers[0].log
