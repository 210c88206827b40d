"""A small ResNet trained collectively: each worker on its own images, gradients reduced.

Every pod of a PaddleJob runs `python -m paddle.distributed.launch train_fleet.py` or
`python train_fleet.py`. The program finds its peers only through the environment that the operator
sets. With a CHECKPOINT_DIR on a shared volume, a restarted job goes on from its last checkpoint,
even with another number of workers. At the end the workers compare their results: all must have
equal weights, although they have trained on different images.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import images
import numpy as np
import paddle
import peers
from checkpoint import Checkpoints, Position
from network import ResNet
from paddle import distributed


@dataclass(frozen=True)
class Settings:
    """The settings. Each comes from the environment variable of the same name in capitals.

    `batch_size` is for each worker, and `report_every` and `checkpoint_every` count its steps.
    `samples` is the number of synthetic images; a data set in `data_dir` (see images.py) is used
    whole. Workers share `checkpoint_dir`; without it there are no checkpoints. Without an
    `output_dir` the model goes to a new temporary directory.
    """

    samples: int
    epochs: int
    batch_size: int
    learning_rate: float
    seed: int
    report_every: int
    checkpoint_every: int
    checkpoint_dir: Path | None
    data_dir: Path | None
    output_dir: Path | None


def settings_from_environment() -> Settings:
    """The settings, with defaults for a machine without GPUs.

    Raises ValueError on a variable that should be a number and is not.
    """
    return Settings(
        samples=_number("SAMPLES", 3_072),
        epochs=_number("EPOCHS", 4),
        batch_size=_number("BATCH_SIZE", 32),
        learning_rate=float(os.environ.get("LEARNING_RATE", "0.05")),
        seed=_number("SEED", 7),
        report_every=_number("REPORT_EVERY", 16),
        checkpoint_every=_number("CHECKPOINT_EVERY", 16),
        checkpoint_dir=_directory("CHECKPOINT_DIR"),
        data_dir=_directory("DATA_DIR"),
        output_dir=_directory("OUTPUT_DIR"),
    )


def _number(name: str, default: int) -> int:
    return int(os.environ.get(name, default))


def _directory(name: str) -> Path | None:
    value = os.environ.get(name)
    return Path(value) if value else None


def log(line: str) -> None:
    """Print a line with the time of day; flushed, so that `kubectl logs -f` shows it at once."""
    print(f"{time.strftime('%H:%M:%S')} {line}", flush=True)


def main() -> None:
    """Join the other workers, train, compare the results, and save the model."""
    if not paddle.device.is_compiled_with_cuda():
        # The launcher sets this itself; without the launcher, Paddle would look for a GPU backend.
        os.environ.setdefault("PADDLE_DISTRI_BACKEND", "gloo")
    with peers.held_for_relaunch():
        distributed.init_parallel_env()
        log(f"rank {distributed.get_rank()} of {distributed.get_world_size()}")
        trainer = Trainer(settings_from_environment())
        trainer.run()
        trainer.compare_workers()
    trainer.save_model()
    log("done")


class WorkersDisagree(Exception):
    """The workers' weights differ, or two workers have trained on the same images."""


class Trainer:
    """One worker's part of the training."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._rank = distributed.get_rank()
        self._world = distributed.get_world_size()
        self._images = images.load(settings.data_dir, settings.samples, settings.seed)
        self._seen = images.Checksum()
        directory = settings.checkpoint_dir
        self._checkpoints = Checkpoints(directory) if directory else None
        # Each rank has its own seed, so only DataParallel's broadcast makes the weights equal.
        paddle.seed(settings.seed + self._rank)
        network = ResNet(self._images.pixels.shape[1], self._images.classes)
        self._optimizer = paddle.optimizer.Momentum(
            settings.learning_rate, parameters=network.parameters()
        )
        self._model = paddle.DataParallel(network)

    def run(self) -> None:
        """Train all epochs, from the last checkpoint if there is one."""
        position = self._resume()
        while position.epoch < self._settings.epochs:
            position = self._run_epoch(position)

    def _run_epoch(self, position: Position) -> Position:
        """Train the rest of the epoch; returns the position at which the next epoch starts.

        Every worker takes the same number of steps, so images at the end of the epoch that do not
        fill a batch on every worker are left out.
        """
        order = images.order(len(self._images), position.epoch, self._settings.seed)
        stride = self._settings.batch_size * self._world
        losses = []
        for step, start in enumerate(range(position.seen, len(order) - stride + 1, stride), 1):
            mine = order[start : start + stride][self._rank :: self._world]
            losses.append(self._step(mine))
            position = Position(position.epoch, start + stride)
            if step % self._settings.report_every == 0:
                log(f"epoch {position.epoch} images {position.seen}: loss {losses[-1]:.4f}")
            if step % self._settings.checkpoint_every == 0:
                self._save(position)
        if losses:
            mean = self._mean(float(np.mean(losses)))
            log(f"epoch {position.epoch} ended: mean loss {mean:.4f} on {self._world} workers")
        position = Position(position.epoch + 1, 0)
        self._save(position)
        return position

    def _step(self, rows: np.ndarray) -> float:
        batch = self._images.batch(rows)
        self._seen.add(rows)
        with self._model.no_sync():
            scores = self._model(paddle.to_tensor(batch.pixels))
            loss = paddle.nn.functional.cross_entropy(scores, paddle.to_tensor(batch.labels))
            loss.backward()
        peers.reduce_gradients(self._model)
        self._optimizer.step()
        self._optimizer.clear_grad()
        return float(loss)

    def _mean(self, value: float) -> float:
        return float(np.mean(peers.gather(value)))

    def _resume(self) -> Position:
        """Load the newest checkpoint that rank 0 sees, so that all ranks load the same one."""
        if not self._checkpoints:
            return Position(0, 0)
        name = peers.gather(self._checkpoints.latest())[0]
        if name is None:
            return Position(0, 0)
        position, state = self._checkpoints.load(name)
        self._model.set_state_dict(state["model"])
        self._optimizer.set_state_dict(state["optimizer"])
        log(f"resumed at epoch {position.epoch} images {position.seen}")
        return position

    def _save(self, position: Position) -> None:
        if self._checkpoints and self._rank == 0:
            self._checkpoints.save(position, self._state())

    def _state(self) -> dict[str, Any]:
        return {"model": self._model.state_dict(), "optimizer": self._optimizer.state_dict()}

    def compare_workers(self) -> None:
        """Raise WorkersDisagree if weights differ, or if two workers trained on the same images."""
        weights = self._weights_checksum()
        data = str(self._seen)
        log(f"rank {self._rank}: weights {weights}, {self._seen.rows} images {data}")
        if len(set(peers.gather(weights))) != 1:
            raise WorkersDisagree("the workers' weights differ: gradients were not reduced")
        if self._seen.rows and len(set(peers.gather(data))) != self._world:
            raise WorkersDisagree("two workers have trained on the same images")

    def _weights_checksum(self) -> str:
        checksum = hashlib.sha256()
        for _, weights in sorted(self._model.state_dict().items()):
            checksum.update(weights.numpy().tobytes())
        return checksum.hexdigest()[:16]

    def save_model(self) -> None:
        """Write the weights to `output_dir`. Does nothing on other ranks than 0."""
        if self._rank != 0:
            return
        directory = self._settings.output_dir or Path(tempfile.mkdtemp(prefix="resnet-model-"))
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / "resnet.pdparams"
        paddle.save(self._model.state_dict(), str(path))
        log(f"model saved in {path}")


if __name__ == "__main__":
    main()
