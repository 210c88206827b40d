"""Wide & Deep for click-through rate, with Fleet's parameter servers, asynchronously.

The same program is every server and every worker of a PaddleJob; which one it is, and where
its peers are, it learns from the operator's environment (Fleet's PaddleCloudRoleMaker reads
it) and from nothing else. Workers train on disjoint parts of a synthetic click log, tell the
AUC on a held-out set after each epoch, and go on from the last checkpoint when the job was
restarted. Servers serve until they are told to stop.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Paddle's C++ side reads it once, when it is loaded.
os.environ.setdefault("GLOG_minloglevel", "2")

import clicks
import network
import paddle
import settings as settings_module
from checkpoint import Checkpoints, Position
from paddle.distributed import fleet
from paddle.distributed.fleet.utils.ps_util import DistributedInfer
from settings import Settings


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="wide_and_deep-") as scratch:
        paddle.disable_signal_handler()
        exit_on_sigterm()
        os.chdir(scratch)  # Fleet writes logs of its own where it stands
        paddle.enable_static()
        with quiet():
            fleet.init(fleet.PaddleCloudRoleMaker())
        tell(f"{role()} of {fleet.server_num()} servers and {fleet.worker_num()} workers")
        settings = settings_module.from_environment(fleet.worker_num())
        if fleet.is_server():
            serve(settings)
        else:
            Trainer(settings, Path(scratch)).run()


def role() -> str:
    kind = "server" if fleet.is_server() else "worker"
    return f"{kind} {fleet.server_index() if fleet.is_server() else fleet.worker_index()}"


def tell(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", flush=True)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Fleet prints pages about its inner tables; VERBOSE=1 lets them through."""
    if os.environ.get("VERBOSE"):
        yield
        return
    with (
        Path(os.devnull).open("w") as nowhere,
        contextlib.redirect_stdout(nowhere),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", UserWarning)
        yield


def exit_on_sigterm() -> None:
    """End at once with 15, as Paddle's launcher does, and also as process 1 of a container.

    The handler is C's own `_exit`: Fleet's server never returns to Python, so no Python handler
    would run there. Nothing has to be finished first: a checkpoint is whole or absent.
    """
    libc = ctypes.CDLL(None)
    libc.signal.argtypes = [ctypes.c_int, ctypes.c_void_p]
    libc.signal(signal.SIGTERM, ctypes.cast(libc._exit, ctypes.c_void_p))


def minimize(loss: Any, learning_rate: float) -> None:
    strategy = fleet.DistributedStrategy()
    strategy.a_sync = True
    strategy.sparse_table_configs = network.table_configs()
    optimizer = fleet.distributed_optimizer(paddle.optimizer.Adam(learning_rate), strategy)
    optimizer.minimize(loss)


def serve(settings: Settings) -> None:
    """Hold a share of the tables until the process is stopped; Fleet never returns."""
    with quiet():
        minimize(network.build().loss, settings.learning_rate)
        fleet.init_server()
    tell("serving")
    with quiet():
        fleet.run_server()


class Trainer:
    """One worker, from joining the servers to leaving them."""

    def __init__(self, settings: Settings, scratch: Path) -> None:
        self._settings = settings
        self._scratch = scratch
        self._rank = fleet.worker_index()
        self._model = clicks.ClickModel(settings.seed)
        self._held_out = self._model.part(clicks.HELD_OUT_PART, settings.held_out)
        directory = settings.checkpoint_dir
        self._checkpoints = Checkpoints(directory) if directory else None
        self._executor = paddle.static.Executor(paddle.CPUPlace())
        with quiet():
            self._network = network.build()
            self._inference = DistributedInfer(startup_program=paddle.static.Program())
            minimize(self._network.loss, settings.learning_rate)
            self._executor.run(paddle.static.default_startup_program())
            fleet.init_worker()

    def run(self) -> None:
        settings = self._settings
        start = self._resume()
        parts = range(settings.parts)[self._rank :: settings.shards]
        steps = -(-settings.parts // settings.shards)
        ceiling = clicks.auc(self._held_out.clicks, self._held_out.truth)
        tell(f"the data allows an AUC of {ceiling:.4f}")
        for epoch in range(start.epoch, settings.epochs):
            first = start.step if epoch == start.epoch else 0
            trained = sum(self._train(epoch, step, parts, steps) for step in range(first, steps))
            self._end_epoch(epoch, trained)
        self._finish()

    def _train(self, epoch: int, step: int, parts: range, steps: int) -> int:
        """Train one part, if this worker still has one, and tell how many samples it had."""
        samples = self._train_part(parts[step]) if step < len(parts) else 0
        done = step + 1
        if done % self._settings.checkpoint_every == 0 or done == steps:
            self._save(Position(epoch + done // steps, done % steps, self._settings.shards))
        return samples

    def _train_part(self, part: int) -> int:
        samples = self._model.part(part, self._settings.part_samples(part))
        path = self._scratch / "part"
        clicks.write_part(samples, path)
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
        return len(samples)

    def _end_epoch(self, epoch: int, trained: int) -> None:
        counts = _all_workers(trained)
        total = f"{sum(counts)} on all workers" if counts else "the others' unknown without Gloo"
        tell(f"epoch {epoch}: AUC {self._auc():.4f}, {trained} samples here, {total}")

    def _auc(self) -> float:
        """On the held-out set, with the rows that the servers hold now."""
        # Training on a dataset drops the scopes that an executor caches, hence a new one.
        executor = paddle.static.Executor(paddle.CPUPlace())
        with quiet():
            program = self._inference.get_dist_infer_program()
            (score,) = executor.run(
                program,
                feed=self._network.feed(self._held_out),
                fetch_list=[self._network.prediction.name],
            )
        return clicks.auc(self._held_out.clicks, score[:, 0])

    def _resume(self) -> Position:
        beginning = Position(0, 0, self._settings.shards)
        found = self._checkpoints.latest() if self._checkpoints else None
        if not found:
            return beginning
        position, directory = found
        with quiet():
            fleet.load_model(str(directory), mode=0)
        position = position.for_shards(self._settings.shards)
        tell(f"resumed at epoch {position.epoch} step {position.step}")
        return position

    def _save(self, position: Position) -> None:
        """Every worker calls it: Fleet's own barriers hold them at the same step meanwhile."""
        if not self._checkpoints:
            return
        if self._rank == 0:
            self._checkpoints.save(position, self._write_tables)
        else:
            self._write_tables(Path())

    def _write_tables(self, directory: Path) -> None:
        """Each server writes its shard of each table below the first worker's `directory`."""
        with quiet():
            fleet.save_persistables(self._executor, str(directory), mode=0)

    def _finish(self) -> None:
        directory = self._output_dir()
        slots = [slot.name for slot in [*self._network.ids, self._network.dense]]
        with quiet():
            fleet.save_inference_model(
                self._executor, str(directory), slots, [self._network.prediction], mode=0
            )
        if self._rank == 0:
            tell(f"model saved in {directory}: {_shards(directory)}")
        with quiet():
            fleet.stop_worker()
        tell("done")

    def _output_dir(self) -> Path:
        """Emptied by the first worker; only its word counts, and the servers write there too."""
        directory = self._settings.output_dir
        if self._rank != 0:
            return Path()
        if directory is None:
            return Path(tempfile.mkdtemp(prefix="wide_and_deep-model-"))
        shutil.rmtree(directory, ignore_errors=True)
        return directory


def _all_workers(value: int) -> list[int]:
    """This number of every worker; empty where Gloo does not connect them (withGloo: 0)."""
    gathered = fleet.util.all_gather(value, "worker")
    return gathered if isinstance(gathered, list) else []


def _shards(directory: Path) -> str:
    """What each server wrote, as far as this process can see it; the names tell the server."""
    written: dict[int, int] = {}
    for file in directory.glob("*/part-*"):
        server = int(file.name.split("-")[1].partition(".")[0])
        written[server] = written.get(server, 0) + file.stat().st_size
    return ", ".join(f"server {server} {size} bytes" for server, size in sorted(written.items()))


if __name__ == "__main__":
    main()
