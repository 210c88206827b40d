"""A worker's training: steps, epochs, checkpoints and the model at the end."""

from __future__ import annotations

import shutil
import tempfile
from functools import cached_property
from pathlib import Path

import clicks
import paddle
from checkpoint import Checkpoints, Position
from console import log, quiet
from network import Network
from paddle.distributed import fleet
from settings import Settings
from source import find_source


class Trainer:
    """One worker. Creating it connects to the servers, and the end of `run` disconnects."""

    def __init__(self, settings: Settings, network: Network, scratch: Path) -> None:
        self._settings = settings
        self._network = network
        self._rank = fleet.worker_index()
        self._source = find_source(settings, self._rank, scratch)
        directory = settings.checkpoint_dir
        self._checkpoints = Checkpoints(directory) if directory else None
        self._executor = paddle.static.Executor(paddle.CPUPlace())
        with quiet():
            self._executor.run(paddle.static.default_startup_program())
            fleet.init_worker()

    def run(self) -> None:
        """Train all epochs, from the last checkpoint if there is one, and save the model."""
        start = self._resume()
        ceiling = self._source.ceiling_auc()
        log(f"the data allows an AUC of {ceiling:.4f}" if ceiling else "training on files")
        for epoch in range(start.epoch, self._settings.epochs):
            first = start.step if epoch == start.epoch else 0
            self._end_epoch(epoch, self._train_epoch(epoch, first))
        if not self._settings.save_passes:
            self._save_model(self._output_dir)
        with quiet():
            fleet.stop_worker()
        log("done")

    def _train_epoch(self, epoch: int, first: int) -> int:
        """Train an epoch from step `first` on; returns how many samples this worker has used."""
        trained = 0
        steps = self._source.steps
        for step in range(first, steps):
            part = self._source.part(step)
            if part:
                trained += self._train(*part)
            done = step + 1
            if done == steps:
                self._save(Position(epoch + 1, 0, self._settings.shards))
            elif done % self._settings.checkpoint_every == 0:
                self._save(Position(epoch, done, self._settings.shards))
        return trained

    def _train(self, path: Path, samples: int) -> int:
        dataset = paddle.distributed.QueueDataset()
        dataset.init(
            batch_size=self._settings.batch_size,
            thread_num=1,
            use_var=self._network.inputs,
            pipe_command="cat",
        )
        dataset.set_filelist([str(path)])
        with quiet():
            self._executor.train_from_dataset(paddle.static.default_main_program(), dataset)
        return samples

    def _end_epoch(self, epoch: int, trained: int) -> None:
        counts = _gather(trained)
        total = f"{sum(counts)} on all workers" if counts else "the others' unknown without Gloo"
        log(f"epoch {epoch}: AUC {self._auc():.4f}, {trained} samples here, {total}")
        if self._settings.save_passes:
            directory = self._output_dir / f"pass-{epoch:05}"
            self._save_model(directory)
            if self._rank == 0:
                (directory / "done").touch()

    def _auc(self) -> float:
        """The AUC on the held-out set, with the servers' current table rows."""
        # Training on a dataset drops the scopes that an executor caches, so take a new executor.
        executor = paddle.static.Executor(paddle.CPUPlace())
        held_out = self._source.held_out
        with quiet():
            (score,) = executor.run(
                self._network.inference.get_dist_infer_program(),
                feed=self._network.feed(held_out),
                fetch_list=[self._network.prediction.name],
            )
        area: float = clicks.auc(held_out.clicks, score[:, 0])
        return area

    def _resume(self) -> Position:
        beginning = Position(0, 0, self._settings.shards)
        found = self._checkpoints.latest() if self._checkpoints else None
        if not found:
            return beginning
        position, directory = found
        with quiet():
            fleet.load_model(str(directory), mode=0)
        position = position.for_shards(self._settings.shards)
        log(f"resumed at epoch {position.epoch} step {position.step}")
        return position

    def _save(self, position: Position) -> None:
        """Write a checkpoint. Every worker must call this, because Fleet waits for all of them."""
        if not self._checkpoints:
            return
        if self._rank == 0:
            self._checkpoints.save(position, self._write_tables)
        else:
            self._write_tables(Path())

    def _write_tables(self, directory: Path) -> None:
        """Make each server write its shard of each table below the first worker's `directory`."""
        with quiet():
            fleet.save_persistables(self._executor, str(directory), mode=0)

    def _save_model(self, directory: Path) -> None:
        """Replace the model in the first worker's `directory`. Every worker must call this."""
        if self._rank == 0:
            shutil.rmtree(directory, ignore_errors=True)
        with quiet():
            fleet.save_inference_model(
                self._executor,
                str(directory),
                [slot.name for slot in self._network.features],
                [self._network.prediction],
                mode=0,
            )
        if self._rank == 0:
            log(f"model saved in {directory}: {_shards(directory)}")

    @cached_property
    def _output_dir(self) -> Path:
        if self._settings.output_dir or self._rank != 0:
            return self._settings.output_dir or Path()
        return Path(tempfile.mkdtemp(prefix="wide_and_deep-model-"))


def _gather(value: int) -> list[int]:
    """The values of all workers; empty if Gloo does not connect them (withGloo: 0)."""
    with quiet():
        gathered = fleet.util.all_gather(value, "worker")
    return gathered if isinstance(gathered, list) else []


def _shards(directory: Path) -> str:
    """How many bytes each server has written, as far as this process sees the files. Their names
    contain the server's number.
    """
    written: dict[int, int] = {}
    for file in directory.glob("*/part-*"):
        server = int(file.name.split("-")[1].partition(".")[0])
        written[server] = written.get(server, 0) + file.stat().st_size
    return ", ".join(f"server {server} {size} bytes" for server, size in sorted(written.items()))
