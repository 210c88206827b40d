"""Wide & Deep on real parameter servers."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.examples.pods import EXAMPLES, Job, python, wait_until

pytestmark = [pytest.mark.training, pytest.mark.timeout(700)]

TINY = {"SAMPLES": "12000", "EPOCHS": "2", "LEARNING_RATE": "0.005", "PART_SIZE": "1000"}
AUC = r"epoch \d+: AUC (\d\.\d+)"


def a_job(folder: Path) -> Job:
    command = [python(), str(EXAMPLES / "wide_and_deep" / "train.py")]
    return Job(folder, command, workers=2, servers=2)


@pytest.fixture(scope="module")
def trained(folder: Path) -> Iterator[Job]:
    """A job whose workers have ended, and whose servers still serve."""
    with a_job(folder / "pods") as job:
        yield job.train(TINY | {"OUTPUT_DIR": str(folder / "model")})


def test_the_auc_rises_well_above_chance_and_not_above_what_the_data_allows(trained: Job) -> None:
    log = trained.workers[0]
    ceiling = float(log.find(r"allows an AUC of (\d\.\d+)")[0])
    first, last = (float(value) for value in log.find(AUC))
    assert 0.65 < last <= ceiling
    assert first < last


def test_the_workers_samples_sum_to_the_data(trained: Job) -> None:
    counts = [int(worker.find(r"epoch 0: .*?(\d+) samples here")[0]) for worker in trained.workers]
    assert sum(counts) == int(TINY["SAMPLES"])
    assert min(counts) > 0
    assert trained.workers[0].find(r"(\d+) on all workers") == [TINY["SAMPLES"]] * 2


@pytest.mark.parametrize("table", ["000", "001"])
@pytest.mark.parametrize("server", [0, 1])
def test_each_server_saves_a_shard_of_each_table(
    trained: Job, folder: Path, table: str, server: int
) -> None:
    shards = list((folder / "model" / table).glob(f"part-{server:03}-*"))
    assert sum(shard.stat().st_size for shard in shards) > 1000


def test_the_model_is_saved_by_the_first_worker_only(trained: Job, folder: Path) -> None:
    assert trained.workers[0].find(r"model saved in (\S+):") == [str(folder / "model")]
    assert trained.workers[1].find(r"model saved in (\S+):") == []
    assert (folder / "model" / "dnn_plugin" / "__model__").stat().st_size > 0


def test_a_server_serves_until_it_is_told_to_stop(trained: Job) -> None:
    assert trained.servers[1].is_running
    trained.servers[1].terminate()
    assert trained.servers[1].wait(100) == 15


def test_workers_do_not_finish_without_a_server(tmp_path: Path) -> None:
    with a_job(tmp_path / "pods") as job:
        job.start(TINY | {"EPOCHS": "1000", "OUTPUT_DIR": str(tmp_path / "model")})
        wait_until(lambda: job.workers[0].find(AUC), "an epoch")
        job.servers[1].kill()
        wait_until(lambda: "failed" in job.workers[0].log, "a failed request")
        epochs = len(job.workers[0].find(AUC))
        assert job.workers[0].find("model saved") == []
        wait_until(lambda: job.workers[0].log.count("failed") > 1, "more of them")
        assert len(job.workers[0].find(AUC)) == epochs
